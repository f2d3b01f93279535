// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
//
// Whether this is the kernel with the detectors: all work takes about ten times as
// long in it, so tests that are defined by their amount do less there.
#pragma once

#include <unistd.h>

namespace pfqd::selftest {

inline bool debug_kernel() {
    return access("/proc/lockdep", F_OK) == 0;
}

}  // namespace pfqd::selftest
