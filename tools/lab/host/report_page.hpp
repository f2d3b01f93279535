// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
//
// The report as one HTML page that refers to nothing outside itself.
#pragma once

#include <span>
#include <string>

#include "lab/host/results.hpp"

namespace pfqd::lab {

// Draws the plots with gnuplot; throws when that fails.
std::string report_page(std::span<const Run> runs);

}  // namespace pfqd::lab
