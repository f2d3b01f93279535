// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
//
// TAP 13 for selftests: each check prints one line, a failed one also what it
// got and what it wanted. A test program is a list of named functions:
//
//   int main() {
//       return run_tests({{"delay", test_delay}, {"order", test_order}});
//   }
//
// A function that throws is one failed check, and the next one runs.
#pragma once

#include <fmt/format.h>

#include <initializer_list>
#include <string>

namespace pfqd::selftest {

class Tap {
  public:
    // All three return whether the check held.
    bool ok(bool good, const std::string& name);

    template <class Got, class Want>
    bool is(const std::string& name, const Got& got, const Want& want) {
        const bool good = got == want;
        ok(good, name);
        if (!good) diag(fmt::format("got {}, want {}", got, want));
        return good;
    }

    // |got - want| <= tolerance
    bool near(const std::string& name, double got, double want, double tolerance);

    // got lies in low .. high, both included
    template <class Value>
    bool between(const std::string& name, const Value& got, const Value& low, const Value& high) {
        const bool good = low <= got && got <= high;
        ok(good, name);
        if (!good) diag(fmt::format("got {}, want {} to {}", got, low, high));
        return good;
    }

    void skip(const std::string& name, const std::string& reason);
    void diag(const std::string& text);

    // Put before every name until the next call.
    void section(const std::string& name) { section_ = name.empty() ? name : name + ": "; }

    // Prints the plan; the exit status of the program.
    int finish();

  private:
    std::string section_;
    unsigned count_ = 0;
    unsigned failed_ = 0;
};

struct Test {
    const char* name;
    void (*function)(Tap&);
};

int run_tests(std::initializer_list<Test> tests);

}  // namespace pfqd::selftest
