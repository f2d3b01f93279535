// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
//
// From what the guest measured to medians, spreads and ratios.
//
//   ns       median over the rounds; the spread is the distance between the quartiles
//   ratio    a contender's enqueue + dequeue over fq's in the same round; the median of
//            that over the rounds, so that what slows a round down divides out
#pragma once

#include <nlohmann/json.hpp>
#include <string>

namespace pfqd::lab {

nlohmann::json summarize_qdisc_bench(const nlohmann::json& measured);
std::string qdisc_bench_text(const nlohmann::json& summary);

}  // namespace pfqd::lab
