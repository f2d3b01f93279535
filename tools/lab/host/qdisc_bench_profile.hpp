// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
//
// Where the time of pfqd's enqueue and dequeue goes, by function.
//
// perf samples the User-Mode Linux process; modules lie in memory that belongs to no
// file, so the guest leaves its kallsyms and addresses are looked up there.
#pragma once

#include <nlohmann/json.hpp>

#include "lab/common/spec.hpp"
#include "lab/host/guest_run.hpp"
#include "lab/host/installation.hpp"
#include "lab/host/progress.hpp"

namespace pfqd::lab {

// A profile for each shape of backlog, packets owned and forwarded; empty, with a note
// on stderr, when perf is not there or may not record.
nlohmann::json profile_qdisc_bench(const GuestSpec& bench, const GuestOptions& options,
                                   const Installation& installation, const Kernel& kernel,
                                   ProgressLine& progress);

}  // namespace pfqd::lab
