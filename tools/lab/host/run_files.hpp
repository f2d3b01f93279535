// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
//
// From the files that a guest left behind to DIR/runs/NAME.jsonl and NAME.json.
#pragma once

#include <filesystem>
#include <string>

#include "lab/host/guest_run.hpp"
#include "lab/host/sweep.hpp"

namespace pfqd::lab {

// What the result depends on; equal for runs that must have equal logs.
nlohmann::json run_identity(const RunSpec& run, const Kernel& kernel, const std::string& generator_sha256);

// Checks the run, computes its statistics, writes both files atomically. Throws
// when the run is void (a short write, a slowdown below 1, a damaged log).
void write_run(const RunSpec& run, const GuestRun& guest, const nlohmann::json& identity,
               const std::string& command, const std::filesystem::path& out);

// True when DIR holds a finished run of that identity.
bool run_is_done(const RunSpec& run, const nlohmann::json& identity, const std::filesystem::path& out);

}  // namespace pfqd::lab
