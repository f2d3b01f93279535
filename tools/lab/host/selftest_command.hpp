// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
//
// pfqd-lab selftest: every selftest program in a guest of its own kind of
// kernel, TAP in, one verdict out.
#pragma once

#include <string>
#include <vector>

#include "lab/host/installation.hpp"

namespace pfqd::lab {

struct SelftestPlan {
    std::vector<std::string> groups;  // empty: all
    KernelChoice kernel;
    bool verbose = false;  // print every TAP line
};

struct SelftestTotals {
    unsigned passed = 0, failed = 0, skipped = 0;
};

// Counts the test points of one program's output. A program that printed no
// plan, fewer points than planned, or failed without a failing point counts as
// one more failure.
SelftestTotals count_tap(const std::string& tap, bool exited_cleanly);

// Prints a line per program and "N passed, N failed[, N skipped]" at the end;
// exit status 0 when nothing failed.
int run_selftest_command(const SelftestPlan& plan, const Installation& installation);

}  // namespace pfqd::lab
