// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
//
// pfqd-lab bench-qdisc: what one enqueue and one dequeue of pfqd cost, beside fq,
// fq_codel and cake, in one guest that runs in real time.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "lab/host/installation.hpp"

namespace pfqd::lab {

struct QdiscBenchPlan {
    std::string flows = "1,1000,100000";
    std::string kinds = "owned,forwarded,unhashed";
    uint32_t rounds = 9;
    uint32_t batch = 64;
    bool json = false;
    bool profile = false;  // also say where pfqd's time goes, if perf is there
    KernelChoice kernel;
};

int run_qdisc_bench_command(const QdiscBenchPlan& plan, const Installation& installation);

}  // namespace pfqd::lab
