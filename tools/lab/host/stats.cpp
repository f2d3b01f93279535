// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
#include "lab/host/stats.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>

namespace pfqd::lab {

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kP99 = 0.99;
constexpr double kOneSide = 0.025;  // of a 95 % interval

// A message as the statistics see it, in order of size.
struct Sample {
    uint32_t bytes;
    double slowdown;
};
using Samples = std::vector<Sample>;

double log_binomial(size_t n, double k, double p) {
    const auto size = static_cast<double>(n);
    return std::lgamma(size + 1) - std::lgamma(k + 1) - std::lgamma(size - k + 1) + k * std::log(p) +
           (size - k) * std::log1p(-p);
}

// Positions (0 ..) of n sorted values between which the P99 lies with 95 %; the upper
// one is n when no value is large enough to bound it.
std::pair<size_t, size_t> p99_interval(size_t n) {
    const double size = static_cast<double>(n);
    const double reach = 12 * std::sqrt(size * kP99 * (1 - kP99)) + 1;
    const double start = std::max(0.0, std::floor(size * kP99 - reach));
    // The probability that at most k of the n values lie below the true P99.
    double below = 0;
    size_t low = 0;
    for (auto k = static_cast<size_t>(start); k < n; k++) {
        below += std::exp(log_binomial(n, static_cast<double>(k), kP99));
        if (below <= kOneSide) low = k;
        if (below >= 1 - kOneSide) return {low, k};
    }
    return {low, n};
}

// Percentiles of values that are sorted.
Tail tail_of(std::span<const double> sorted) {
    Tail tail;
    tail.count = sorted.size();
    if (sorted.empty()) return tail;
    tail.unfinished =
        static_cast<uint64_t>(sorted.end() - std::lower_bound(sorted.begin(), sorted.end(), kInfinity));
    tail.p50 = sorted[nearest_rank(sorted.size(), 500)];
    tail.p99 = sorted[nearest_rank(sorted.size(), 990)];
    const auto [low, high] = p99_interval(sorted.size());
    tail.p99_low = sorted[low];
    if (high < sorted.size()) tail.p99_high = sorted[high];
    return tail;
}

std::vector<double> sorted_slowdowns(std::span<const Sample> samples) {
    std::vector<double> values;
    values.reserve(samples.size());
    for (const Sample& sample : samples) values.push_back(sample.slowdown);
    std::sort(values.begin(), values.end());
    return values;
}

// Per cent up to 90 %, then ever finer: what plots of tails need.
const std::vector<unsigned>& quantile_steps() {
    static const std::vector<unsigned> steps = [] {  // parts per 100,000
        std::vector<unsigned> list;
        for (unsigned at = 0; at < 90'000; at += 1'000) list.push_back(at);
        for (unsigned at = 90'000; at < 99'000; at += 100) list.push_back(at);
        for (unsigned at = 99'000; at < 100'000; at += 50) list.push_back(at);
        list.push_back(100'000);
        return list;
    }();
    return steps;
}

Quantiles quantiles_of(std::span<const double> sorted) {
    Quantiles quantiles;
    if (sorted.empty()) return quantiles;
    for (unsigned step : quantile_steps()) {
        const uint64_t rank = (uint64_t{step} * sorted.size() + 99'999) / 100'000;
        quantiles.emplace_back(step / 100'000.0, sorted[rank ? rank - 1 : 0]);
    }
    return quantiles;
}

// Ends of the deciles in samples that are sorted by size.
std::array<size_t, kDeciles> decile_ends(const Samples& samples) {
    std::array<size_t, kDeciles> ends{};
    for (size_t i = 0; i < kDeciles; i++) {
        size_t end = (samples.size() * (i + 1) + kDeciles - 1) / kDeciles;
        while (end > 0 && end < samples.size() && samples[end].bytes == samples[end - 1].bytes) end++;
        ends[i] = end;
    }
    return ends;
}

void add_deciles(const Samples& samples, RunStats& stats, std::vector<double>& shorts) {
    size_t begin = 0;
    const auto ends = decile_ends(samples);
    for (size_t i = 0; i < kDeciles; i++) {
        const std::span<const Sample> part(samples.data() + begin, ends[i] - begin);
        begin = ends[i];
        if (part.empty()) continue;
        const std::vector<double> values = sorted_slowdowns(part);
        Decile& decile = stats.deciles[i];
        decile = {part.front().bytes, part.back().bytes, tail_of(values)};
        if (decile.max_bytes > kShortBytes) continue;
        shorts.insert(shorts.end(), values.begin(), values.end());
        stats.worst_short_decile_p99 = std::max(stats.worst_short_decile_p99.value_or(0), *decile.tail.p99);
    }
}

void add_large(const Samples& samples, RunStats& stats) {
    const auto first =
        std::upper_bound(samples.begin(), samples.end(), kLargeBytes,
                         [](uint32_t limit, const Sample& sample) { return limit < sample.bytes; });
    const std::vector<double> values = sorted_slowdowns({first, samples.end()});
    stats.large = tail_of(values);
    if (values.size() < kLargeMinimum)
        stats.large.p50 = stats.large.p99 = stats.large.p99_low = stats.large.p99_high = std::nullopt;
    else
        stats.large_quantiles = quantiles_of(values);
}

std::string describe(const Record& record) {
    return fmt::format("message {} ({} B, host {} to host {}, at {} ns, done {} ns)", record.id, record.bytes,
                       record.src, record.dst, record.at_ns, record.done_ns);
}

}  // namespace

size_t nearest_rank(size_t n, unsigned permille) {
    const size_t rank = (n * permille + 999) / 1000;
    return rank ? rank - 1 : 0;
}

std::vector<double> slowdowns(std::span<const Record> records, const IdealFn& ideal) {
    std::vector<double> values;
    values.reserve(records.size());
    for (const Record& record : records) {
        if (record.done_ns == RPCLOAD_UNFINISHED) {
            values.push_back(kInfinity);
            continue;
        }
        if (record.done_ns < record.at_ns)
            throw std::runtime_error(describe(record) + " is done before it arrives");
        const uint64_t ideal_ps = ideal(record);
        const double value =
            static_cast<double>(record.done_ns - record.at_ns) * 1000 / static_cast<double>(ideal_ps);
        if (!(value >= kMinSlowdown))
            throw std::runtime_error(
                fmt::format("{} has slowdown {:.6f}, accepted are {} and more: its ideal time is "
                            "{} ps, nothing can be faster",
                            describe(record), value, kMinSlowdown, ideal_ps));
        values.push_back(value);
    }
    return values;
}

RunStats compute(std::span<const Record> records, std::span<const double> slowdowns) {
    if (records.size() != slowdowns.size())
        throw std::runtime_error(
            fmt::format("{} messages with {} slowdowns", records.size(), slowdowns.size()));
    Samples samples;
    samples.reserve(records.size());
    for (size_t i = 0; i < records.size(); i++) samples.push_back({records[i].bytes, slowdowns[i]});
    std::sort(samples.begin(), samples.end(),
              [](const Sample& a, const Sample& b) { return a.bytes < b.bytes; });

    RunStats stats;
    stats.messages = samples.size();
    stats.unfinished = static_cast<uint64_t>(std::count(slowdowns.begin(), slowdowns.end(), kInfinity));
    std::vector<double> shorts;
    add_deciles(samples, stats, shorts);
    std::sort(shorts.begin(), shorts.end());
    stats.shorts = tail_of(shorts);
    stats.short_quantiles = quantiles_of(shorts);
    add_large(samples, stats);
    return stats;
}

RunStats compute(std::span<const Record> records, const IdealFn& ideal) {
    const std::vector<double> values = slowdowns(records, ideal);
    return compute(records, values);
}

}  // namespace pfqd::lab
