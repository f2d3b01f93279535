// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
//
// Running many runs: every cell with every configuration and seed, several at
// once, resumable, with progress, and safe to interrupt.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "lab/host/configs.hpp"
#include "lab/host/guest_run.hpp"
#include "lab/host/installation.hpp"

namespace pfqd::lab {

struct SweepPlan {
    std::vector<std::string> cells;
    std::vector<std::string> configs;
    std::vector<uint64_t> seeds;
    std::optional<uint64_t> duration_ns;
    Settings settings;
    unsigned jobs = 1;
    std::filesystem::path out;
    KernelChoice kernel;
    GuestOptions guest;
    std::string command;  // what the user typed, for the report
};

// One run of the plan, ready to boot.
struct RunSpec {
    Cell cell;
    std::string config;
    uint64_t seed;
    Settings settings;
    GuestSpec guest;
    // "w4_50-fifo-connection=random-s1": the names of its files.
    std::string name() const;
};

std::vector<RunSpec> expand(const SweepPlan& plan, const Installation& installation);

// Exit status: 0 all done, 1 some run failed, 130 interrupted.
int run_sweep(const SweepPlan& plan, const Installation& installation);

}  // namespace pfqd::lab
