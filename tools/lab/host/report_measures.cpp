// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
#include "lab/host/report_measures.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>

#include "lab/host/report_rows.hpp"

namespace pfqd::lab {

namespace {

using Align = Table::Align;
using Columns = std::vector<Table::Column>;
using Row = std::vector<std::string>;

Columns columns_with(const Columns& own) {
    Columns columns = {{"", "cell", Align::left}, {"", "variant", Align::left}, {"", "config", Align::left}};
    columns.insert(columns.end(), own.begin(), own.end());
    return columns;
}

Row row_of(const Run& run, const Row& own) {
    const std::string variant = variant_text(run.variant);
    Row row = {run.cell, variant.empty() ? "default" : variant, run.config};
    row.insert(row.end(), own.begin(), own.end());
    return row;
}

bool same_but_for_the_seed(const Run& a, const Run& b) {
    return std::tie(a.experiment, a.cell, a.variant, a.config) ==
           std::tie(b.experiment, b.cell, b.variant, b.config);
}

// Each cell, variant and configuration with what its seeds counted together.
using Sides = std::map<std::string, PfqdMeasure>;
void for_each_sum(std::span<const Run> runs, const std::function<void(const Run&, const Sides&)>& use) {
    for (size_t begin = 0, end = 0; begin < runs.size(); begin = end) {
        Sides sum;
        for (; end < runs.size() && same_but_for_the_seed(runs[begin], runs[end]); end++)
            for (const auto& [side, pfqd] : runs[end].measures.pfqd) sum[side] += pfqd;
        if (!sum.empty()) use(runs[begin], sum);
    }
}

std::string side_text(const std::string& side) {
    return side == "tor" ? "ToR" : side;
}

std::string us_text(const std::optional<double>& ns) {
    if (!ns) return "-";
    if (std::isinf(*ns)) return "more";
    return slowdown_text(*ns / 1000);
}

// "1.23", "0.045"
std::string gbps_text(double bps) {
    return fmt::format("{:.{}f}", bps / 1e9, bps < 1e9 ? 3 : 2);
}

double mean_of(const std::vector<BulkFlow>& flows, double BulkFlow::*member) {
    double sum = 0;
    for (const BulkFlow& flow : flows) sum += flow.*member;
    return sum / static_cast<double>(flows.size());
}

Row flows_row(const Run& run, const char* direction, const std::vector<BulkFlow>& flows) {
    BulkFlow sum;
    uint64_t with_ecn = 0;
    for (const BulkFlow& flow : flows) {
        sum.retransmits += flow.retransmits;
        sum.ce += flow.ce;
        with_ecn += flow.ecn;
    }
    const auto [least, most] = std::minmax_element(
        flows.begin(), flows.end(),
        [](const BulkFlow& a, const BulkFlow& b) { return a.goodput_bps < b.goodput_bps; });
    return row_of(run, {std::to_string(run.seed), direction, std::to_string(flows.size()),
                        gbps_text(least->goodput_bps), gbps_text(mean_of(flows, &BulkFlow::goodput_bps)),
                        gbps_text(most->goodput_bps), gbps_text(mean_of(flows, &BulkFlow::late_goodput_bps)),
                        count_text(sum.retransmits), count_text(sum.ce), std::to_string(with_ecn)});
}

}  // namespace

Table depth_table(std::span<const Run> runs) {
    Table table(columns_with({{"", "seed"},
                              {"every port", "mean, B"},
                              {"every port", "P50, B"},
                              {"every port", "P99, B"},
                              {"deepest", "P50, B"},
                              {"deepest", "P99, B"},
                              {"", "max, B"},
                              {"every", "us"}}));
    for (const Run& run : runs)
        if (const auto& depth = run.measures.depth)
            table.add(row_of(
                run, {std::to_string(run.seed), count_text(depth->all.mean), count_text(depth->all.p50),
                      count_text(depth->all.p99), count_text(depth->deepest.p50),
                      count_text(depth->deepest.p99), count_text(depth->all.max),
                      fmt::format("{:g}", static_cast<double>(depth->period_ns) / 1000)}));
    return table;
}

Table internet_table(std::span<const Run> runs) {
    Table table(columns_with({{"", "seed"},
                              {"", "direction", Align::left},
                              {"", "flows"},
                              {"Gbit/s a flow", "least"},
                              {"Gbit/s a flow", "mean"},
                              {"Gbit/s a flow", "most"},
                              {"second half", "mean"},
                              {"re-", "transmits"},
                              {"CE", "arrived"},
                              {"with", "ECN"}}));
    for (const Run& run : runs) {
        const auto& internet = run.measures.internet;
        if (!internet) continue;
        if (!internet->in.empty()) table.add(flows_row(run, "in", internet->in));
        if (!internet->out.empty()) table.add(flows_row(run, "out", internet->out));
    }
    return table;
}

Table class_table(std::span<const Run> runs) {
    Columns own = {{"", "side", Align::left}};
    for (const char* name : kClassNames)
        for (const char* what : {"packets", "marks", "drops"}) own.push_back({name, what});
    own.insert(
        own.end(),
        {{"drops, full", "bytes"}, {"drops, full", "memory"}, {"serves", "banded"}, {"serves", "ordinary"}});
    Table table(columns_with(own));
    for_each_sum(runs, [&](const Run& run, const Sides& sides) {
        for (const auto& [side, pfqd] : sides) {
            Row row = {side_text(side)};
            uint64_t packets = 0;
            for (const ClassCounts& one : pfqd.classes) {
                packets += one.packets;
                row.insert(row.end(),
                           {count_text(one.packets), count_text(one.marks), count_text(one.drops)});
            }
            for (const uint64_t one :
                 {pfqd.drops_limit, pfqd.drops_memlimit, pfqd.serves_banded, pfqd.serves_ordinary})
                row.push_back(count_text(one));
            if (packets > 0) table.add(row_of(run, row));
        }
    });
    return table;
}

Table sojourn_table(std::span<const Run> runs) {
    Table table(columns_with({{"", "side", Align::left},
                              {"", "band", Align::left},
                              {"", "packets"},
                              {"P50, us", "at most"},
                              {"P90, us", "at most"},
                              {"P99, us", "at most"}}));
    for_each_sum(runs, [&](const Run& run, const Sides& sides) {
        table.separate();
        for (const auto& [side, pfqd] : sides) {
            const auto add = [&](const std::string& band, const Sojourn& sojourn) {
                if (sojourn.packets == 0) return;
                table.add(row_of(
                    run, {side_text(side), band, count_text(sojourn.packets), us_text(sojourn.at_most_ns(50)),
                          us_text(sojourn.at_most_ns(90)), us_text(sojourn.at_most_ns(99))}));
            };
            add("control", pfqd.control);
            for (size_t i = 0; i < pfqd.bands.size(); i++) add(kBandNames[i], pfqd.bands[i]);
        }
    });
    return table;
}

}  // namespace pfqd::lab
