// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
//
// Reading JSON that may be anything: every access names the file, the field and what
// would have been accepted.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

namespace pfqd::lab {

// A value inside a JSON document, with the way to it. Refers to the document: lives
// no longer than that.
class Field {
  public:
    Field(const nlohmann::json& value, std::string where, std::string name = "")
        : value_(&value), where_(std::move(where)), name_(std::move(name)) {}

    // A member, which must be there; has() asks first. The value must be an object.
    Field at(const std::string& key) const;
    bool has(const std::string& key) const;
    // An element of an array with exactly `size` elements.
    Field element(size_t index, size_t size) const;
    // The array's length, at most `limit`.
    size_t size(size_t limit) const;

    uint64_t whole(uint64_t low, uint64_t high) const;
    double number(double low, double high) const;
    // null is "no value".
    std::optional<double> number_or_null(double low, double high) const;
    std::string text(size_t limit = 4096) const;
    const nlohmann::json& object() const;
    const nlohmann::json& json() const { return *value_; }

    [[noreturn]] void fail(const std::string& expected) const;

  private:
    const nlohmann::json* value_;
    std::string where_, name_;
};

}  // namespace pfqd::lab
