// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
//
// RunStats as JSON and back. JSON has no infinity, so a percentile that falls on an
// unfinished message is null, like one that does not exist; the counts beside it tell
// which of the two it is.
#include <cmath>
#include <limits>

#include "lab/host/results_field.hpp"
#include "lab/host/stats.hpp"

using nlohmann::json;

namespace pfqd::lab {

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kMaxSlowdown = 1e15;        // a finite one: 2^64 ns over the shortest ideal
constexpr uint64_t kMaxMessages = 1u << 31;  // ids are 32 bit
constexpr size_t kMaxQuantiles = 1000;

json finite(const std::optional<double>& value) {
    return value && std::isfinite(*value) ? json(*value) : json(nullptr);
}

json tail_json(const Tail& tail) {
    return {
        {"count", tail.count},     {"unfinished", tail.unfinished},   {"p50", finite(tail.p50)},
        {"p99", finite(tail.p99)}, {"p99_low", finite(tail.p99_low)}, {"p99_high", finite(tail.p99_high)}};
}

json quantiles_json(const Quantiles& quantiles) {
    json list = json::array();
    for (const auto& [fraction, value] : quantiles) list.push_back({fraction, finite(value)});
    return list;
}

// null: infinite if messages are missing and there are enough to count, else no value.
std::optional<double> percentile_from(const Field& field, bool may_be_infinite) {
    const auto value = field.number_or_null(kMinSlowdown, kMaxSlowdown);
    if (!value && may_be_infinite) return kInfinity;
    return value;
}

Tail tail_from(const Field& field, uint64_t minimum) {
    Tail tail;
    tail.count = field.at("count").whole(0, kMaxMessages);
    tail.unfinished = field.at("unfinished").whole(0, tail.count);
    const bool infinite = tail.unfinished > 0 && tail.count >= minimum;
    tail.p50 = percentile_from(field.at("p50"), infinite);
    tail.p99 = percentile_from(field.at("p99"), infinite);
    tail.p99_low = percentile_from(field.at("p99_low"), infinite);
    tail.p99_high = percentile_from(field.at("p99_high"), infinite);
    if (tail.count >= minimum && tail.count > 0 && (!tail.p50 || !tail.p99))
        field.fail("percentiles, because there are messages");
    return tail;
}

Quantiles quantiles_from(const Field& field) {
    Quantiles quantiles;
    const size_t size = field.size(kMaxQuantiles);
    for (size_t i = 0; i < size; i++) {
        const Field pair = field.element(i, size);
        const double fraction = pair.element(0, 2).number(0, 1);
        const auto value = pair.element(1, 2).number_or_null(kMinSlowdown, kMaxSlowdown);
        quantiles.emplace_back(fraction, value.value_or(kInfinity));
    }
    return quantiles;
}

}  // namespace

json to_json(const RunStats& stats) {
    json deciles = json::array();
    for (const Decile& decile : stats.deciles) {
        json entry = tail_json(decile.tail);
        entry["min_bytes"] = decile.min_bytes;
        entry["max_bytes"] = decile.max_bytes;
        deciles.push_back(entry);
    }
    return {{"messages", stats.messages},
            {"unfinished", stats.unfinished},
            {"deciles", deciles},
            {"short", tail_json(stats.shorts)},
            {"large", tail_json(stats.large)},
            {"worst_short_decile_p99", finite(stats.worst_short_decile_p99)},
            {"short_quantiles", quantiles_json(stats.short_quantiles)},
            {"large_quantiles", quantiles_json(stats.large_quantiles)}};
}

RunStats stats_from_json(const json& document, const std::string& where) {
    const Field field(document, where, "stats");
    RunStats stats;
    stats.messages = field.at("messages").whole(0, kMaxMessages);
    stats.unfinished = field.at("unfinished").whole(0, stats.messages);
    uint64_t counted = 0;
    for (size_t i = 0; i < kDeciles; i++) {
        const Field entry = field.at("deciles").element(i, kDeciles);
        Decile& decile = stats.deciles[i];
        decile.max_bytes = static_cast<uint32_t>(entry.at("max_bytes").whole(0, RPCLOAD_MAX_BYTES));
        decile.min_bytes = static_cast<uint32_t>(entry.at("min_bytes").whole(0, decile.max_bytes));
        decile.tail = tail_from(entry, 1);
        counted += decile.tail.count;
    }
    if (counted != stats.messages) field.at("messages").fail("the sum of the deciles' counts");
    stats.shorts = tail_from(field.at("short"), 1);
    stats.large = tail_from(field.at("large"), kLargeMinimum);
    stats.worst_short_decile_p99 =
        percentile_from(field.at("worst_short_decile_p99"), stats.shorts.unfinished > 0);
    stats.short_quantiles = quantiles_from(field.at("short_quantiles"));
    stats.large_quantiles = quantiles_from(field.at("large_quantiles"));
    return stats;
}

}  // namespace pfqd::lab
