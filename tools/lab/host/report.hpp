// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
//
// What a person reads: a table on the terminal, and one HTML file that holds tables,
// plots, parameters, hashes, definitions and limits, and needs nothing but itself.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

namespace pfqd::lab {

struct ReportOptions {
    bool json = false;                          // print summary.json instead of the table
    std::optional<std::filesystem::path> html;  // default: DIR/report.html
};

// Also brings summary.json and results.jsonl up to date. Returns the exit status.
int report(const std::filesystem::path& dir, const ReportOptions& options);

}  // namespace pfqd::lab
