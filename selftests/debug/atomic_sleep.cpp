// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
#include "selftests/debug/detector.hpp"

int main() {
    return pfqd::selftest::detect("DEBUG_ATOMIC_SLEEP", "__might_sleep", "sleep-in-atomic",
                                  "sleeping function called from invalid context");
}
