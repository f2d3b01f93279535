// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
#include "selftests/lib/tap.hpp"

#include <sys/prctl.h>

#include <cmath>
#include <cstdio>
#include <exception>

namespace pfqd::selftest {

namespace {

// A line at a time: what was printed before a crash is there to read.
void print_line(const std::string& line) {
    std::fputs((line + "\n").c_str(), stdout);
    std::fflush(stdout);
}

}  // namespace

bool Tap::ok(bool good, const std::string& name) {
    count_++;
    if (!good) failed_++;
    print_line(fmt::format("{} {} - {}{}", good ? "ok" : "not ok", count_, section_, name));
    return good;
}

bool Tap::near(const std::string& name, double got, double want, double tolerance) {
    const bool good = std::fabs(got - want) <= tolerance;
    ok(good, name);
    if (!good) diag(fmt::format("got {}, want {} within {}", got, want, tolerance));
    return good;
}

void Tap::skip(const std::string& name, const std::string& reason) {
    count_++;
    print_line(fmt::format("ok {} - {}{} # SKIP {}", count_, section_, name, reason));
}

void Tap::diag(const std::string& text) {
    print_line("# " + text);
}

int Tap::finish() {
    print_line(fmt::format("1..{}", count_));
    return failed_ ? 1 : 0;
}

int run_tests(std::initializer_list<Test> tests) {
    Tap tap;
    // A sleep ends at its nanosecond, not up to 50 us later.
    prctl(PR_SET_TIMERSLACK, 1UL);
    for (const Test& test : tests) {
        tap.section(test.name);
        try {
            test.function(tap);
        } catch (const std::exception& error) {
            tap.ok(false, "runs to its end");
            tap.diag(error.what());
        }
    }
    return tap.finish();
}

}  // namespace pfqd::selftest
