// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
#include "selftests/debug/detector.hpp"

int main() {
    return pfqd::selftest::detect("UBSAN", "__ubsan_handle_shift_out_of_bounds", "shift",
                                  "UBSAN: shift-out-of-bounds");
}
