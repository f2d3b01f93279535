// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
//
// From the log of a run to its numbers.
//
//   slowdown    (last byte readable - arrival in the Poisson process) / ideal; a
//               message that never finished counts as infinitely slow
//   percentile  nearest rank: the value at position ceil(p n) of n sorted values
//   deciles     by size: the messages sorted by size are cut at positions ceil(i n / 10).
//               Equal sizes are never split: those beyond a cut join the lower decile,
//               which leaves the deciles that they would have filled smaller or empty
//   short       all messages of the deciles whose largest message is at most 40,000 B
//   large       all messages above 255,000 B; no percentiles below 100 of them
//   interval    95 % confidence interval of a P99 from order statistics: the positions
//               between which the true percentile lies by the binomial distribution.
//               It takes messages as independent; those that share a queue are not,
//               so the spread over seeds is the better guide
#pragma once

#include <linux/lab_rpcload.h>

#include <array>
#include <cstdint>
#include <functional>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace pfqd::lab {

using Record = rpcload_record;
// Ideal completion time of a message, picoseconds.
using IdealFn = std::function<uint64_t(const Record&)>;

inline constexpr size_t kDeciles = 10;
inline constexpr uint32_t kShortBytes = 40'000;   // design.md 4
inline constexpr uint32_t kLargeBytes = 255'000;  // design.md 4
inline constexpr uint64_t kLargeMinimum = 100;    // messages
// Less would mean that a message was faster than its path: the lab is wrong.
inline constexpr double kMinSlowdown = 0.999;  // design.md 4

// A group of messages. No value: too few messages; infinity: too many unfinished.
struct Tail {
    uint64_t count = 0;
    uint64_t unfinished = 0;
    std::optional<double> p50, p99;
    std::optional<double> p99_low, p99_high;  // 95 % interval of p99
};

struct Decile {
    uint32_t min_bytes = 0, max_bytes = 0;  // 0 when empty
    Tail tail;
};

// Fraction of messages, and the slowdown that they do not exceed; for plots.
using Quantiles = std::vector<std::pair<double, double>>;

struct RunStats {
    uint64_t messages = 0;
    uint64_t unfinished = 0;
    std::array<Decile, kDeciles> deciles;
    Tail shorts, large;
    std::optional<double> worst_short_decile_p99;
    Quantiles short_quantiles, large_quantiles;
};

// One slowdown a message, infinity for an unfinished one. Throws with the message's
// description when one is below kMinSlowdown or ends before it begins.
std::vector<double> slowdowns(std::span<const Record> records, const IdealFn& ideal);

RunStats compute(std::span<const Record> records, std::span<const double> slowdowns);
RunStats compute(std::span<const Record> records, const IdealFn& ideal);

// Of n sorted values, the position (0 ..) of the p-th percentile, p in permille.
size_t nearest_rank(size_t n, unsigned permille);

// Infinity and "no value" both become null; counts tell them apart.
nlohmann::json to_json(const RunStats& stats);
// `where` (a file) goes into the message when a field is missing or impossible.
RunStats stats_from_json(const nlohmann::json& json, const std::string& where);

}  // namespace pfqd::lab
