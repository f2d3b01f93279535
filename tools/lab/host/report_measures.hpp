// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
//
// Tables of what some runs measure besides their messages. Each is empty when no run has
// it. Rows are in the order of the runs (as load_runs gives).
#pragma once

#include <span>

#include "lab/host/results.hpp"
#include "lab/host/table.hpp"

namespace pfqd::lab {

// A row a run: depth of the switch's ports.
Table depth_table(std::span<const Run> runs);
// A row a run and direction: goodput and losses of bulk flows.
Table internet_table(std::span<const Run> runs);
// Sums over the seeds; a row a side: packets, and marks and drops for a budget, by RTT
// class; drops for a full queue; serves. Only where stamps were read.
Table class_table(std::span<const Run> runs);
// Sums over the seeds; a row a side and band: how long packets were queued.
Table sojourn_table(std::span<const Run> runs);

}  // namespace pfqd::lab
