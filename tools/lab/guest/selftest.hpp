// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
//
// Running selftest programs in the guest, each with its output in a file.
#pragma once

#include <nlohmann/json.hpp>

#include "lab/common/spec.hpp"

namespace pfqd::lab {

nlohmann::json run_selftests(const GuestSpec& spec);

}  // namespace pfqd::lab
