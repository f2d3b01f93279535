// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
#include "selftests/debug/detector.hpp"

int main() {
    return pfqd::selftest::detect("DEBUG_LIST", "__list_add_valid", "list-twice", "list_add");
}
