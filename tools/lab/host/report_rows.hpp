// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
//
// The rows that terminal and web page share.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "lab/host/results_summary.hpp"
#include "lab/host/table.hpp"

namespace pfqd::lab {

// All configurations of one cell and variant.
struct Group {
    std::string cell;
    std::string variant;  // text, empty for the defaults
    std::vector<CellSummary> cells;
};
std::vector<Group> group(const std::vector<CellSummary>& cells);

// Every configuration that occurs, in the order of tables.
std::vector<std::string> configs_of(std::span<const Group> groups);

// The main table. `ranges` adds the spread over the seeds (a second line, for HTML). A configuration that ran
// in another cell but not in this one gets a row that says so.
Table main_table(std::span<const Group> groups, bool ranges);
// P50 and P99 of every decile.
Table decile_table(const Group& group);

// What is missing, a sentence each: configurations and seeds that others have.
std::vector<std::string> gaps(std::span<const Group> groups);

// In what the runs differ that a fair comparison needs equal: kernel, modules, and what
// else their logs' hashes depend on. A sentence each.
std::vector<std::string> differences(std::span<const Run> runs);

// 3 digits: "1.23", "45.6", "789", "12,345"; "inf" (unfinished), "-" (too few).
std::string slowdown_text(const std::optional<double>& value);
// "12,345"
std::string count_text(uint64_t count);
// "1-5", "1,3"
std::string seeds_text(std::span<const uint64_t> seeds);

}  // namespace pfqd::lab
