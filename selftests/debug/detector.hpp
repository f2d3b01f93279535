// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
//
// A detector of the kernel, and the bug that must make it speak. Each program
// of this group commits one bug, because KASAN and lockdep report once a boot.
#pragma once

#include <string>

#include "selftests/lib/kernel.hpp"
#include "selftests/lib/tap.hpp"

namespace pfqd::selftest {

// `symbol`: a function that only kernels with the detector have.
inline int detect(const std::string& detector, const std::string& symbol, const std::string& bug,
                  const std::string& report) {
    Tap tap;
    const std::string name = detector + " reports " + bug;
    if (read_text("/proc/kallsyms").find(" " + symbol + "\n") == std::string::npos) {
        tap.skip(name, "this kernel has no " + detector);
        return tap.finish();
    }
    load_module("buggy");
    KernelLog log;
    write_text("/sys/module/buggy/parameters/bug", bug);
    sleep_ns(100'000'000);
    tap.ok(log.has(report), name);
    for (const std::string& line : log.seen()) tap.diag(line);
    return tap.finish();
}

}  // namespace pfqd::selftest
