// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
//
// Values that the user typed. What cannot be is refused with its name and with what
// is accepted (std::invalid_argument).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace pfqd::lab {

[[noreturn]] void refuse(const std::string& text);

double number_value(const std::string& name, const std::string& text, double low, double high);
uint64_t whole_value(const std::string& name, const std::string& text, uint64_t low, uint64_t high);
std::string word_value(const std::string& name, const std::string& text,
                       const std::vector<std::string>& accepted);
// "on" or "off"
bool switch_value(const std::string& name, const std::string& text);

}  // namespace pfqd::lab
