// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
//
// Several seeds become one row: medians of percentiles with the smallest and largest
// beside them, sums of counters.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "lab/host/results.hpp"

namespace pfqd::lab {

// Over the seeds. Infinity counts as a value (unfinished messages); there is none
// unless every seed has one.
struct Spread {
    std::optional<double> median, min, max;
};

struct DecileSummary {
    double max_bytes = 0;  // median; 0 when empty in every seed
    Spread p50, p99;
};

struct CellSummary {
    std::string experiment, cell, config;
    nlohmann::json variant, parameters;
    std::vector<uint64_t> seeds;
    Spread short_p50, short_p99, worst_short_decile_p99, large_p50, large_p99;
    std::array<DecileSummary, kDeciles> deciles;
    // Median over the seeds at each fraction.
    Quantiles short_quantiles, large_quantiles;
    uint64_t short_messages = 0, large_messages = 0;  // in the smallest seed
    Counters counters;                                // sums
    // Sums; packets_per_s is data_packets / (wall_s - setup_s) of all seeds together.
    double wall_s = 0, setup_s = 0, user_s = 0, sys_s = 0, packets_per_s = 0;
    double setup_s_max = 0;
    uint64_t rss_kib_max = 0;
};

// One a cell, variant and configuration, in the order of the runs (as load_runs gives).
std::vector<CellSummary> summarise(std::span<const Run> runs);

// Nested objects as one level: {"network.mtu": 3000}. Long arrays become their length.
nlohmann::json flat(const nlohmann::json& document);
// Of flat objects: the members that all have with the same value.
nlohmann::json common_members(std::span<const nlohmann::json> objects);

// The one value that all have, or an array of the different ones.
nlohmann::json one_or_all(std::span<const nlohmann::json> values);

// The whole of summary.json.
nlohmann::json summary_json(std::span<const Run> runs);

}  // namespace pfqd::lab
