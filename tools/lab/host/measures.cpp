// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
#include "lab/host/measures.hpp"

#include <algorithm>
#include <limits>
#include <numeric>

#include "lab/common/depth_summary.hpp"

namespace pfqd::lab {

namespace {

constexpr uint64_t kMaxCount = UINT64_C(1) << 53;
constexpr size_t kMaxPorts = 1024;
constexpr size_t kMaxFlows = 1024;
constexpr size_t kMaxHistogram = 64;
constexpr double kMaxBps = 1e13;
constexpr double kFirstEdgeNs = 1024;  // of the sojourn histogram; each next one is twice it

std::vector<uint64_t> list_from(const Field& field, size_t limit) {
    std::vector<uint64_t> values;
    const size_t size = field.size(limit);
    for (size_t i = 0; i < size; i++) values.push_back(field.element(i, size).whole(0, kMaxCount));
    return values;
}

DepthValues values_from(const Field& field) {
    return {field.at("p50").whole(0, kMaxCount), field.at("p99").whole(0, kMaxCount),
            field.at("max").whole(0, kMaxCount), field.at("mean").whole(0, kMaxCount)};
}

DepthMeasure depth_from(const Field& field) {
    DepthMeasure depth;
    depth.period_ns = field.at("period_ns").whole(1, kMaxCount);
    depth.samples = field.at("samples").whole(1, kMaxCount);
    depth.all = values_from(field.at("all"));
    depth.deepest = values_from(field.at("deepest"));
    depth.port_max = list_from(field.at("port_max"), kMaxPorts);
    const Field series = field.at("series");
    depth.series_period_ns = series.at("period_ns").whole(1, kMaxCount);
    depth.series_deepest = list_from(series.at("deepest"), kDepthPoints);
    depth.series_mean = list_from(series.at("mean"), kDepthPoints);
    if (depth.series_mean.size() != depth.series_deepest.size())
        series.at("mean").fail("as many values as 'deepest' has");
    return depth;
}

std::vector<BulkFlow> flows_from(const Field& field) {
    std::vector<BulkFlow> flows;
    const size_t size = field.size(kMaxFlows);
    for (size_t i = 0; i < size; i++) {
        const Field flow = field.element(i, size);
        const Field ecn = flow.at("ecn");
        if (!ecn.json().is_boolean()) ecn.fail("true or false");
        flows.push_back({flow.at("goodput_bps").number(0, kMaxBps),
                         flow.at("late_goodput_bps").number(0, kMaxBps),
                         flow.at("retransmits").whole(0, kMaxCount), flow.at("ce").whole(0, kMaxCount),
                         flow.at("min_rtt_us").whole(0, kMaxCount), ecn.json().get<bool>()});
    }
    return flows;
}

InternetMeasure internet_from(const Field& field) {
    return {field.at("interval_ns").whole(1, kMaxCount), flows_from(field.at("in")),
            flows_from(field.at("out"))};
}

Sojourn sojourn_from(const Field& field) {
    return {field.at("packets").whole(0, kMaxCount), list_from(field.at("sojourn"), kMaxHistogram)};
}

std::array<std::pair<const char*, uint64_t*>, 4> totals(PfqdMeasure& pfqd) {
    return {{{"serves_banded", &pfqd.serves_banded},
             {"serves_ordinary", &pfqd.serves_ordinary},
             {"drops_limit", &pfqd.drops_limit},
             {"drops_memlimit", &pfqd.drops_memlimit}}};
}

PfqdMeasure pfqd_from(const Field& field) {
    PfqdMeasure pfqd;
    // An older module has neither bands nor classes.
    for (size_t i = 0; field.has("classes") && i < kClassNames.size(); i++) {
        const Field one = field.at("classes").at(kClassNames[i]);
        pfqd.classes[i] = {one.at("packets").whole(0, kMaxCount), one.at("marks").whole(0, kMaxCount),
                           one.at("drops").whole(0, kMaxCount)};
    }
    for (size_t i = 0; field.has("bands") && i < kBandNames.size(); i++)
        pfqd.bands[i] = sojourn_from(field.at("bands").at(kBandNames[i]));
    if (field.has("tiers")) pfqd.control = sojourn_from(field.at("tiers").at("control"));
    for (const auto& [name, value] : totals(pfqd))
        if (field.has(name)) *value = field.at(name).whole(0, kMaxCount);
    return pfqd;
}

}  // namespace

Sojourn& Sojourn::operator+=(const Sojourn& other) {
    packets += other.packets;
    histogram.resize(std::max(histogram.size(), other.histogram.size()));
    for (size_t i = 0; i < other.histogram.size(); i++) histogram[i] += other.histogram[i];
    return *this;
}

std::optional<double> Sojourn::at_most_ns(unsigned percent) const {
    const uint64_t total = std::accumulate(histogram.begin(), histogram.end(), uint64_t{0});
    if (total == 0) return std::nullopt;
    // Rank without a product that could overflow.
    const uint64_t rank = std::max<uint64_t>(1, total / 100 * percent + (total % 100 * percent + 99) / 100);
    uint64_t seen = 0;
    double edge = kFirstEdgeNs;
    for (size_t i = 0; i + 1 < histogram.size(); i++, edge *= 2)
        if ((seen += histogram[i]) >= rank) return edge;
    return std::numeric_limits<double>::infinity();
}

PfqdMeasure& PfqdMeasure::operator+=(const PfqdMeasure& other) {
    for (size_t i = 0; i < classes.size(); i++) {
        classes[i].packets += other.classes[i].packets;
        classes[i].marks += other.classes[i].marks;
        classes[i].drops += other.classes[i].drops;
    }
    for (size_t i = 0; i < bands.size(); i++) bands[i] += other.bands[i];
    control += other.control;
    serves_banded += other.serves_banded;
    serves_ordinary += other.serves_ordinary;
    drops_limit += other.drops_limit;
    drops_memlimit += other.drops_memlimit;
    return *this;
}

Measures measures_from(const Field& counters) {
    Measures measures;
    if (counters.has("depth")) measures.depth = depth_from(counters.at("depth"));
    if (counters.has("internet")) measures.internet = internet_from(counters.at("internet"));
    if (counters.has("pfqd"))
        for (const char* side : {"host", "tor"})
            if (counters.at("pfqd").has(side)) measures.pfqd[side] = pfqd_from(counters.at("pfqd").at(side));
    return measures;
}

}  // namespace pfqd::lab
