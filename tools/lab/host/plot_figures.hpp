// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
//
// The pictures of a cell, each with all configurations in it: slowdown by decile of
// size, the tail of short messages, the distribution of large ones, and the depth of
// ports over time.
#pragma once

#include <span>
#include <string>

#include "lab/host/results_summary.hpp"

namespace pfqd::lab {

// Summaries of one cell and variant, one a configuration. `order` is the list of all
// configurations of the report: it gives each the same colour in every picture.
struct FigureInput {
    std::span<const CellSummary> cells;
    std::span<const std::string> order;
};

// gnuplot scripts. Empty when no configuration has the data.
std::string decile_script(const FigureInput& input);
std::string short_tail_script(const FigureInput& input);
std::string large_distribution_script(const FigureInput& input);

// The deepest port over time, of the first run of each configuration that has it; the runs
// are of one cell and variant, `order` as above.
std::string depth_script(std::span<const Run> runs, std::span<const std::string> order);

// 315 -> "315", 49408 -> "49.4k", 1000000 -> "1M"; decimal, as everywhere.
std::string bytes_text(double bytes);

}  // namespace pfqd::lab
