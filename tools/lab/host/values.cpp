// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
#include "lab/host/values.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>
#include <limits>
#include <stdexcept>

namespace pfqd::lab {

void refuse(const std::string& text) {
    throw std::invalid_argument(text);
}

double number_value(const std::string& name, const std::string& text, double low, double high) {
    size_t used = 0;
    double value = std::numeric_limits<double>::quiet_NaN();
    try {
        value = std::stod(text, &used);
    } catch (const std::exception&) {
    }
    if (used != text.size() || !(value >= low && value <= high))
        refuse(fmt::format("{}: '{}' is not a number from {} to {}", name, text, low, high));
    return value;
}

uint64_t whole_value(const std::string& name, const std::string& text, uint64_t low, uint64_t high) {
    const double value = number_value(name, text, static_cast<double>(low), static_cast<double>(high));
    if (value != std::floor(value)) refuse(fmt::format("{}: '{}' is not a whole number", name, text));
    return static_cast<uint64_t>(value);
}

std::string word_value(const std::string& name, const std::string& text,
                       const std::vector<std::string>& accepted) {
    for (const std::string& one : accepted)
        if (one == text) return text;
    refuse(fmt::format("{}: '{}' is none of {}", name, text, fmt::join(accepted, ", ")));
}

bool switch_value(const std::string& name, const std::string& text) {
    return word_value(name, text, {"on", "off"}) == "on";
}

}  // namespace pfqd::lab
