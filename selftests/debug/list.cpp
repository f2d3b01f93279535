// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
#include "selftests/debug/detector.hpp"

using namespace pfqd::selftest;

// Newer kernels have the check inline; what reports is a function of another name.
int main() {
    const std::string newer = "__list_add_valid_or_report";
    const bool is_newer = read_text("/proc/kallsyms").find(" " + newer + "\n") != std::string::npos;
    return detect("DEBUG_LIST", is_newer ? newer : "__list_add_valid", "list-twice", "list_add");
}
