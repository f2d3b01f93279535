// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
//
// One run of the guest: fabric, connections, traffic, log and counters.
#pragma once

#include <nlohmann/json.hpp>

#include "lab/common/spec.hpp"

namespace pfqd::lab {

// Returns the result record; the message log goes to the run's directory.
nlohmann::json run_experiment(const GuestSpec& spec);

}  // namespace pfqd::lab
