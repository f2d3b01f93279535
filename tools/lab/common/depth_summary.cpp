// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
#include "lab/common/depth_summary.hpp"

#include <algorithm>
#include <numeric>
#include <vector>

namespace pfqd::lab {

namespace {

using Values = std::span<const uint32_t>;

uint32_t largest(Values values) {
    return *std::max_element(values.begin(), values.end());
}

uint64_t mean(Values values) {
    return std::accumulate(values.begin(), values.end(), uint64_t{0}) / values.size();
}

uint32_t percentile(std::vector<uint32_t>& values, size_t percent) {
    const size_t rank = std::max<size_t>(1, (values.size() * percent + 99) / 100) - 1;
    const auto place = values.begin() + static_cast<std::ptrdiff_t>(rank);
    std::nth_element(values.begin(), place, values.end());
    return *place;
}

nlohmann::json distribution(std::vector<uint32_t> values) {
    return {{"p50", percentile(values, 50)},
            {"p99", percentile(values, 99)},
            {"max", largest(values)},
            {"mean", mean(values)}};
}

std::vector<uint32_t> deepest_of(Values values, size_t ports) {
    std::vector<uint32_t> found;
    for (size_t at = 0; at < values.size(); at += ports) found.push_back(largest(values.subspan(at, ports)));
    return found;
}

std::vector<uint32_t> port_max(Values values, size_t ports) {
    std::vector<uint32_t> found(ports);
    for (size_t at = 0; at < values.size(); at++) found[at % ports] = std::max(found[at % ports], values[at]);
    return found;
}

nlohmann::json series(Values values, size_t ports, uint64_t period_ns) {
    const size_t samples = values.size() / ports;
    const size_t stretch = (samples + kDepthPoints - 1) / kDepthPoints;
    std::vector<uint64_t> deepest, means;
    for (size_t first = 0; first < samples; first += stretch) {
        const Values part = values.subspan(first * ports, std::min(stretch, samples - first) * ports);
        deepest.push_back(largest(part));
        means.push_back(mean(part));
    }
    return {{"period_ns", stretch * period_ns}, {"deepest", deepest}, {"mean", means}};
}

}  // namespace

nlohmann::json depth_summary(Values values, size_t ports, uint64_t period_ns) {
    return {{"period_ns", period_ns},
            {"samples", values.size() / ports},
            {"ports", ports},
            {"all", distribution({values.begin(), values.end()})},
            {"deepest", distribution(deepest_of(values, ports))},
            {"port_max", port_max(values, ports)},
            {"series", series(values, ports, period_ns)}};
}

}  // namespace pfqd::lab
