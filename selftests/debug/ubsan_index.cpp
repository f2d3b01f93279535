// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
#include "selftests/debug/detector.hpp"

int main() {
    return pfqd::selftest::detect("UBSAN", "__ubsan_handle_out_of_bounds", "array-index",
                                  "UBSAN: array-index-out-of-bounds");
}
