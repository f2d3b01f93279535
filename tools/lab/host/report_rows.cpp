// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
#include "lab/host/report_rows.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "lab/host/plot_figures.hpp"

using nlohmann::json;

namespace pfqd::lab {

namespace {

using Align = Table::Align;

std::string spread_text(const Spread& spread, bool ranges) {
    const std::string median = slowdown_text(spread.median);
    if (!ranges || !spread.median || spread.min == spread.max) return median;
    return fmt::format("{}\n{} - {}", median, slowdown_text(spread.min), slowdown_text(spread.max));
}

bool any_variant(std::span<const Group> groups) {
    return std::any_of(groups.begin(), groups.end(), [](const Group& one) { return !one.variant.empty(); });
}

std::vector<Table::Column> main_columns(bool variants) {
    std::vector<Table::Column> columns = {{"", "cell", Align::left}};
    if (variants) columns.push_back({"", "variant", Align::left});
    columns.insert(columns.end(), {{"", "config", Align::left},
                                   {"", "seeds"},
                                   {"worst short", "decile P99"},
                                   {"short", "P50"},
                                   {"short", "P99"},
                                   {"large", "P50"},
                                   {"large", "P99"},
                                   {"drops", "host"},
                                   {"drops", "ToR"},
                                   {"", "marks"},
                                   {"re-", "transmits"},
                                   {"time-", "outs"},
                                   {"unfin-", "ished"},
                                   {"", "messages"},
                                   {"data", "packets/s"}});
    return columns;
}

std::vector<std::string> numbers_of(const CellSummary& cell, bool ranges) {
    const Counters& count = cell.counters;
    return {seeds_text(cell.seeds),
            spread_text(cell.worst_short_decile_p99, ranges),
            spread_text(cell.short_p50, ranges),
            spread_text(cell.short_p99, ranges),
            spread_text(cell.large_p50, ranges),
            spread_text(cell.large_p99, ranges),
            count_text(count.drops.host),
            count_text(count.drops.tor),
            count_text(count.marks.total),
            count_text(count.retransmits),
            count_text(count.timeouts),
            count_text(count.unfinished),
            count_text(count.messages),
            count_text(static_cast<uint64_t>(std::llround(cell.packets_per_s)))};
}

const CellSummary* find_config(const Group& group, const std::string& config) {
    for (const CellSummary& cell : group.cells)
        if (cell.config == config) return &cell;
    return nullptr;
}

// Configurations that a reader expects in this group. A setting such as "pfqd.quantum"
// means something to configurations with that queueing discipline only, so whoever ran
// with it is all there is.
std::vector<std::string> expected_configs(const Group& group, const std::vector<std::string>& all) {
    std::vector<std::string> expected;
    const json& variant = group.cells.front().variant;
    const bool particular =
        std::any_of(variant.items().begin(), variant.items().end(),
                    [](const auto& setting) { return setting.key().find('.') != std::string::npos; });
    for (const std::string& config : all)
        if (!particular || find_config(group, config)) expected.push_back(config);
    return expected;
}

std::string title_of(const Group& group) {
    return group.variant.empty() ? group.cell : group.cell + " (" + group.variant + ")";
}

}  // namespace

std::vector<Group> group(const std::vector<CellSummary>& cells) {
    std::vector<Group> groups;
    for (const CellSummary& cell : cells) {
        const std::string variant = variant_text(cell.variant);
        if (groups.empty() || groups.back().cell != cell.cell || groups.back().variant != variant ||
            groups.back().cells.back().experiment != cell.experiment)
            groups.push_back({cell.cell, variant, {}});
        groups.back().cells.push_back(cell);
    }
    return groups;
}

std::vector<std::string> configs_of(std::span<const Group> groups) {
    std::vector<std::string> configs;
    for (const Group& one : groups)
        for (const CellSummary& cell : one.cells)
            if (std::find(configs.begin(), configs.end(), cell.config) == configs.end())
                configs.push_back(cell.config);
    std::sort(configs.begin(), configs.end(), config_before);
    return configs;
}

Table main_table(std::span<const Group> groups, bool ranges) {
    const bool variants = any_variant(groups);
    const std::vector<std::string> configs = configs_of(groups);
    const auto columns = main_columns(variants);
    Table table(columns);
    for (const Group& one : groups) {
        table.separate();
        for (const std::string& config : expected_configs(one, configs)) {
            std::vector<std::string> row = {one.cell};
            if (variants) row.push_back(one.variant.empty() ? "default" : one.variant);
            row.push_back(config);
            if (const CellSummary* cell = find_config(one, config)) {
                const auto numbers = numbers_of(*cell, ranges);
                row.insert(row.end(), numbers.begin(), numbers.end());
            } else {
                row.push_back("not run");
                row.resize(columns.size());
            }
            table.add(row);
        }
    }
    return table;
}

Table decile_table(const Group& group) {
    std::vector<Table::Column> columns = {{"", "decile"}, {"largest", "message, B"}};
    for (const CellSummary& cell : group.cells) {
        columns.push_back({cell.config, "P50"});
        columns.push_back({cell.config, "P99"});
    }
    Table table(columns);
    for (size_t i = 0; i < kDeciles; i++) {
        double bytes = 0;
        for (const CellSummary& cell : group.cells) bytes = std::max(bytes, cell.deciles[i].max_bytes);
        std::vector<std::string> row = {std::to_string(i + 1),
                                        bytes > 0 ? count_text(static_cast<uint64_t>(bytes)) : "(empty)"};
        for (const CellSummary& cell : group.cells) {
            row.push_back(spread_text(cell.deciles[i].p50, true));
            row.push_back(spread_text(cell.deciles[i].p99, true));
        }
        table.add(row);
    }
    return table;
}

std::vector<std::string> gaps(std::span<const Group> groups) {
    std::vector<std::string> found;
    const std::vector<std::string> configs = configs_of(groups);
    for (const Group& one : groups) {
        std::set<uint64_t> seeds;
        for (const CellSummary& cell : one.cells) seeds.insert(cell.seeds.begin(), cell.seeds.end());
        for (const std::string& config : expected_configs(one, configs)) {
            const CellSummary* cell = find_config(one, config);
            if (!cell) {
                found.push_back(fmt::format("{}: {} has not run", title_of(one), config));
                continue;
            }
            std::vector<uint64_t> missing;
            std::set_difference(seeds.begin(), seeds.end(), cell->seeds.begin(), cell->seeds.end(),
                                std::back_inserter(missing));
            if (!missing.empty())
                found.push_back(fmt::format("{}: {} lacks seed {}, which other configurations have",
                                            title_of(one), config, seeds_text(missing)));
        }
    }
    return found;
}

std::vector<std::string> differences(std::span<const Run> runs) {
    std::map<std::string, std::vector<json>> values;
    for (const Run& run : runs) {
        values["kernel"].push_back(run.kernel);
        for (const auto& [name, hash] : run.modules.items()) values["module " + name].push_back(hash);
        for (const auto& [name, value] : run.hash.items())
            if (name != "log_sha256") values[name].push_back(value);
    }
    std::vector<std::string> found;
    for (const auto& [name, all] : values)
        if (std::any_of(all.begin(), all.end(), [&](const json& one) { return one != all.front(); }))
            found.push_back(fmt::format("not all runs have the same {}", name));
    return found;
}

std::string slowdown_text(const std::optional<double>& value) {
    if (!value) return "-";
    if (std::isinf(*value)) return "inf";
    if (*value < 9.995) return fmt::format("{:.2f}", *value);
    if (*value < 99.95) return fmt::format("{:.1f}", *value);
    return count_text(static_cast<uint64_t>(std::llround(*value)));
}

std::string count_text(uint64_t count) {
    const std::string digits = std::to_string(count);
    std::string text;
    for (size_t i = 0; i < digits.size(); i++) {
        if (i > 0 && (digits.size() - i) % 3 == 0) text += ',';
        text += digits[i];
    }
    return text;
}

std::string seeds_text(std::span<const uint64_t> seeds) {
    std::string text;
    for (size_t i = 0; i < seeds.size();) {
        size_t end = i + 1;
        while (end < seeds.size() && seeds[end] == seeds[end - 1] + 1) end++;
        if (!text.empty()) text += ",";
        text += std::to_string(seeds[i]);
        if (end - i > 1) text += (end - i == 2 ? "," : "-") + std::to_string(seeds[end - 1]);
        i = end;
    }
    return text;
}

}  // namespace pfqd::lab
