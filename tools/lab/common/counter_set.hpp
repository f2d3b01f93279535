// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
//
// Counters that are only known when they are read: a name is a path
// ("bands.0.packets"), a value one or more numbers (a histogram). Sets are summed over
// qdiscs and subtracted over time; what none of them has is in no result.
#pragma once

#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <vector>

namespace pfqd::lab {

class CounterSet {
  public:
    // Adds element by element; a longer array lengthens the counter.
    void add(const std::string& name, std::span<const uint64_t> values);
    void add(const std::string& name, uint64_t value) { add(name, {&value, 1}); }

    bool empty() const { return values_.empty(); }
    CounterSet& operator+=(const CounterSet& other);
    // What has been counted since; a counter that `before` has not was 0 then.
    CounterSet operator-(const CounterSet& before) const;

    // Nested by the names' dots; a counter of one number is a number, else an array.
    nlohmann::json json() const;

  private:
    std::map<std::string, std::vector<uint64_t>> values_;
};

}  // namespace pfqd::lab
