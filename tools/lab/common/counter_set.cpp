// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
#include "lab/common/counter_set.hpp"

#include <algorithm>

namespace pfqd::lab {

void CounterSet::add(const std::string& name, std::span<const uint64_t> values) {
    std::vector<uint64_t>& sum = values_[name];
    sum.resize(std::max(sum.size(), values.size()));
    for (size_t i = 0; i < values.size(); i++) sum[i] += values[i];
}

CounterSet& CounterSet::operator+=(const CounterSet& other) {
    for (const auto& [name, values] : other.values_) add(name, values);
    return *this;
}

CounterSet CounterSet::operator-(const CounterSet& before) const {
    CounterSet difference = *this;
    for (const auto& [name, values] : before.values_) {
        std::vector<uint64_t>& now = difference.values_[name];
        now.resize(std::max(now.size(), values.size()));
        for (size_t i = 0; i < values.size(); i++) now[i] -= values[i];
    }
    return difference;
}

nlohmann::json CounterSet::json() const {
    nlohmann::json out = nlohmann::json::object();
    for (const auto& [name, values] : values_) {
        nlohmann::json* place = &out;
        for (size_t at = 0; at != std::string::npos;) {
            const size_t dot = name.find('.', at);
            place = &(*place)[name.substr(at, dot == std::string::npos ? dot : dot - at)];
            at = dot == std::string::npos ? dot : dot + 1;
        }
        *place = values.size() == 1 ? nlohmann::json(values[0]) : nlohmann::json(values);
    }
    return out;
}

}  // namespace pfqd::lab
