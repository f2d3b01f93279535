// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
//
// What the edge costs a packet in this kernel, said as diagnostics: edge-bench checks
// while it measures that each program does what it is measured for. Figures of the
// lab's kernel are those of the BPF interpreter in user mode; run edge-bench on the
// machine itself for what the JIT makes of it.
#include <sstream>

#include "selftests/edge/command.hpp"
#include "selftests/lib/debug_kernel.hpp"
#include "selftests/lib/tap.hpp"

using namespace pfqd::selftest;

namespace {

void test_bench(Tap& tap) {
    const std::string repeat = debug_kernel() ? "1000" : "20000";
    const Outcome outcome = run(built_program("edge-bench") + " --rounds 5 --repeat " + repeat);
    tap.is("edge-bench", outcome.status, 0);
    std::istringstream lines(outcome.text);
    for (std::string line; std::getline(lines, line);) tap.diag(line);
}

}  // namespace

int main() {
    return run_tests({{"speed", test_bench}});
}
