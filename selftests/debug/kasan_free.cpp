// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
#include "selftests/debug/detector.hpp"

// Newer kernels say slab-use-after-free.
int main() {
    return pfqd::selftest::detect("KASAN", "kasan_report", "use-after-free", "use-after-free in ");
}
