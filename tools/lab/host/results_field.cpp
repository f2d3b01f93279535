// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
#include "lab/host/results_field.hpp"

#include <fmt/format.h>

#include <cmath>
#include <stdexcept>

namespace pfqd::lab {

namespace {

constexpr size_t kShown = 60;  // characters of a hostile value in a message

}  // namespace

void Field::fail(const std::string& expected) const {
    // Replaces invalid UTF-8 and escapes control characters.
    std::string shown = value_->dump(-1, ' ', true, nlohmann::json::error_handler_t::replace);
    if (shown.size() > kShown) shown = shown.substr(0, kShown) + "...";
    throw std::runtime_error(fmt::format("{}: field '{}' is {}, expected {}", where_,
                                         name_.empty() ? "." : name_, shown, expected));
}

Field Field::at(const std::string& key) const {
    if (!has(key)) fail(fmt::format("an object with a field '{}'", key));
    return Field((*value_)[key], where_, name_.empty() ? key : name_ + "." + key);
}

bool Field::has(const std::string& key) const {
    return object().contains(key);
}

Field Field::element(size_t index, size_t size) const {
    if (!value_->is_array() || value_->size() != size) fail(fmt::format("an array of {} elements", size));
    return Field((*value_)[index], where_, fmt::format("{}[{}]", name_, index));
}

size_t Field::size(size_t limit) const {
    if (!value_->is_array() || value_->size() > limit)
        fail(fmt::format("an array of at most {} elements", limit));
    return value_->size();
}

uint64_t Field::whole(uint64_t low, uint64_t high) const {
    // A positive number may be stored as signed; a negative one never as unsigned.
    const bool good =
        value_->is_number_unsigned() || (value_->is_number_integer() && value_->get<int64_t>() >= 0);
    if (!good || value_->get<uint64_t>() < low || value_->get<uint64_t>() > high)
        fail(fmt::format("a whole number from {} to {}", low, high));
    return value_->get<uint64_t>();
}

double Field::number(double low, double high) const {
    if (!value_->is_number() || !(value_->get<double>() >= low && value_->get<double>() <= high))
        fail(fmt::format("a number from {} to {}", low, high));
    return value_->get<double>();
}

std::optional<double> Field::number_or_null(double low, double high) const {
    if (value_->is_null()) return std::nullopt;
    return number(low, high);
}

std::string Field::text(size_t limit) const {
    if (!value_->is_string() || value_->get_ref<const std::string&>().size() > limit)
        fail(fmt::format("a text of at most {} bytes", limit));
    return value_->get<std::string>();
}

const nlohmann::json& Field::object() const {
    if (!value_->is_object()) fail("an object");
    return *value_;
}

}  // namespace pfqd::lab
