// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
#include "lab/host/results_summary.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>

using nlohmann::json;

namespace pfqd::lab {

namespace {

constexpr size_t kLongArray = 16;  // elements; a workload's points are not for reading

double median_of(std::vector<double> values) {
    std::sort(values.begin(), values.end());
    const size_t middle = values.size() / 2;
    const double high = values[middle];
    const double low = values.size() % 2 ? high : values[middle - 1];
    return low == high ? high : low + (high - low) / 2;  // both may be infinite
}

Spread spread_of(std::span<const Run> runs, const std::function<std::optional<double>(const Run&)>& value) {
    std::vector<double> values;
    for (const Run& run : runs) {
        const auto one = value(run);
        if (!one) return {};
        values.push_back(*one);
    }
    const auto [low, high] = std::minmax_element(values.begin(), values.end());
    return {median_of(values), *low, *high};
}

Quantiles median_quantiles(std::span<const Run> runs, Quantiles RunStats::*member) {
    Quantiles result = runs.front().stats.*member;
    for (size_t i = 0; i < result.size(); i++) {
        std::vector<double> values;
        for (const Run& run : runs) {
            const Quantiles& quantiles = run.stats.*member;
            if (quantiles.size() != result.size() || quantiles[i].first != result[i].first) return {};
            values.push_back(quantiles[i].second);
        }
        result[i].second = median_of(values);
    }
    return result;
}

void add(SplitCounter& sum, const SplitCounter& one) {
    sum.total += one.total;
    sum.host += one.host;
    sum.tor += one.tor;
}

void add(Counters& sum, const Counters& one) {
    add(sum.drops, one.drops);
    add(sum.marks, one.marks);
    sum.retransmits += one.retransmits;
    sum.timeouts += one.timeouts;
    sum.messages += one.messages;
    sum.unfinished += one.unfinished;
    sum.data_packets += one.data_packets;
    sum.short_writes += one.short_writes;
}

void add_costs(CellSummary& cell, std::span<const Run> runs) {
    for (const Run& run : runs) {
        add(cell.counters, run.counters);
        cell.wall_s += run.wall_s;
        cell.setup_s += run.setup_s;
        cell.user_s += run.user_s;
        cell.sys_s += run.sys_s;
        cell.setup_s_max = std::max(cell.setup_s_max, run.setup_s);
        cell.rss_kib_max = std::max(cell.rss_kib_max, run.rss_kib);
    }
    const double busy_s = cell.wall_s - cell.setup_s;
    if (busy_s > 0) cell.packets_per_s = static_cast<double>(cell.counters.data_packets) / busy_s;
}

void add_percentiles(CellSummary& cell, std::span<const Run> runs) {
    cell.short_p50 = spread_of(runs, [](const Run& run) { return run.stats.shorts.p50; });
    cell.short_p99 = spread_of(runs, [](const Run& run) { return run.stats.shorts.p99; });
    cell.worst_short_decile_p99 =
        spread_of(runs, [](const Run& run) { return run.stats.worst_short_decile_p99; });
    cell.large_p50 = spread_of(runs, [](const Run& run) { return run.stats.large.p50; });
    cell.large_p99 = spread_of(runs, [](const Run& run) { return run.stats.large.p99; });
    for (size_t i = 0; i < kDeciles; i++) {
        const auto bytes = spread_of(
            runs, [i](const Run& run) { return std::optional<double>(run.stats.deciles[i].max_bytes); });
        cell.deciles[i].max_bytes = bytes.median.value_or(0);
        cell.deciles[i].p50 = spread_of(runs, [i](const Run& run) { return run.stats.deciles[i].tail.p50; });
        cell.deciles[i].p99 = spread_of(runs, [i](const Run& run) { return run.stats.deciles[i].tail.p99; });
    }
    cell.short_quantiles = median_quantiles(runs, &RunStats::short_quantiles);
    cell.large_quantiles = median_quantiles(runs, &RunStats::large_quantiles);
    cell.short_messages = cell.large_messages = UINT64_MAX;
    for (const Run& run : runs) {
        cell.short_messages = std::min(cell.short_messages, run.stats.shorts.count);
        cell.large_messages = std::min(cell.large_messages, run.stats.large.count);
    }
}

CellSummary summarise_group(std::span<const Run> runs) {
    CellSummary cell;
    const Run& first = runs.front();
    cell.experiment = first.experiment;
    cell.cell = first.cell;
    cell.config = first.config;
    cell.variant = first.variant;
    std::vector<json> parameters;
    for (const Run& run : runs) {
        cell.seeds.push_back(run.seed);
        parameters.push_back(flat(run.parameters));
    }
    cell.parameters = common_members(parameters);
    add_percentiles(cell, runs);
    add_costs(cell, runs);
    return cell;
}

bool same_group(const Run& a, const Run& b) {
    return std::tie(a.experiment, a.cell, a.variant, a.config) ==
           std::tie(b.experiment, b.cell, b.variant, b.config);
}

void flatten_into(const json& value, const std::string& name, json& out) {
    if (value.is_object() && !value.empty()) {
        for (const auto& [key, member] : value.items())
            flatten_into(member, name.empty() ? key : name + "." + key, out);
    } else if (value.is_array() && value.size() > kLongArray) {
        out[name] = fmt::format("({} elements)", value.size());
    } else if (!name.empty()) {
        out[name] = value;
    }
}

void put(json& row, const std::string& name, const Spread& spread) {
    const auto finite = [](const std::optional<double>& value) {
        return value && std::isfinite(*value) ? json(*value) : json(nullptr);
    };
    row[name] = finite(spread.median);
    row[name + "_min"] = finite(spread.min);
    row[name + "_max"] = finite(spread.max);
}

json cell_json(const CellSummary& cell, const json& common) {
    json row = {{"experiment", cell.experiment},
                {"cell", cell.cell},
                {"config", cell.config},
                {"seeds", cell.seeds},
                {"drops", cell.counters.drops.total},
                {"drops_host", cell.counters.drops.host},
                {"drops_tor", cell.counters.drops.tor},
                {"marks", cell.counters.marks.total},
                {"marks_host", cell.counters.marks.host},
                {"marks_tor", cell.counters.marks.tor},
                {"retransmits", cell.counters.retransmits},
                {"timeouts", cell.counters.timeouts},
                {"messages", cell.counters.messages},
                {"unfinished", cell.counters.unfinished},
                {"short_writes", cell.counters.short_writes},
                {"data_packets", cell.counters.data_packets},
                {"wall_s", cell.wall_s},
                {"setup_s", cell.setup_s},
                {"setup_s_max", cell.setup_s_max},
                {"user_s", cell.user_s},
                {"sys_s", cell.sys_s},
                {"rss_kib_max", cell.rss_kib_max},
                {"packets_per_s", cell.packets_per_s}};
    if (!cell.variant.empty()) row["variant"] = cell.variant;
    put(row, "short_p50", cell.short_p50);
    put(row, "short_p99", cell.short_p99);
    put(row, "worst_short_decile_p99", cell.worst_short_decile_p99);
    put(row, "large_p50", cell.large_p50);
    put(row, "large_p99", cell.large_p99);
    json own = json::object();
    for (const auto& [name, value] : cell.parameters.items())
        if (!common.contains(name)) own[name] = value;
    if (!own.empty()) row["parameters"] = own;
    return row;
}

json modules_json(std::span<const Run> runs) {
    std::map<std::string, std::vector<json>> values;
    for (const Run& run : runs)
        for (const auto& [name, hash] : run.modules.items()) values[name].push_back(hash);
    json modules = json::object();
    for (const auto& [name, hashes] : values) modules[name] = one_or_all(hashes);
    return modules;
}

}  // namespace

json flat(const json& document) {
    json out = json::object();
    flatten_into(document, "", out);
    return out;
}

json common_members(std::span<const json> objects) {
    json common = json::object();
    if (objects.empty()) return common;
    for (const auto& [name, value] : objects.front().items()) {
        const bool everywhere = std::all_of(objects.begin(), objects.end(), [&](const json& one) {
            return one.contains(name) && one[name] == value;
        });
        if (everywhere) common[name] = value;
    }
    return common;
}

json one_or_all(std::span<const json> values) {
    json different = json::array();
    for (const json& value : values)
        if (std::find(different.begin(), different.end(), value) == different.end())
            different.push_back(value);
    return different.size() == 1 ? different.front() : different;
}

std::vector<CellSummary> summarise(std::span<const Run> runs) {
    std::vector<CellSummary> cells;
    for (size_t begin = 0, end = 0; begin < runs.size(); begin = end) {
        while (end < runs.size() && same_group(runs[begin], runs[end])) end++;
        cells.push_back(summarise_group(runs.subspan(begin, end - begin)));
    }
    return cells;
}

json summary_json(std::span<const Run> runs) {
    const std::vector<CellSummary> cells = summarise(runs);
    std::vector<json> parameters, kernels;
    for (const CellSummary& cell : cells) parameters.push_back(cell.parameters);
    for (const Run& run : runs) kernels.push_back(run.kernel);
    const json common = common_members(parameters);
    json rows = json::array();
    for (const CellSummary& cell : cells) rows.push_back(cell_json(cell, common));
    return {{"kernel", one_or_all(kernels)},
            {"modules", modules_json(runs)},
            {"parameters", common},
            {"cells", rows}};
}

}  // namespace pfqd::lab
