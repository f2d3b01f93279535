// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
#include "selftests/debug/detector.hpp"

int main() {
    return pfqd::selftest::detect("KASAN", "kasan_report", "use-after-free", "BUG: KASAN: use-after-free");
}
