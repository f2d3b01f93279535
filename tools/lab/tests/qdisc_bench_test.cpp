// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
//
// From the guest's rounds to medians and ratios, on numbers made up here.
#include <gtest/gtest.h>

#include "lab/host/qdisc_bench_report.hpp"

namespace pfqd::lab {
namespace {

nlohmann::json rounds(std::vector<double> enqueue, std::vector<double> dequeue) {
    return {{"enqueue_ns", enqueue}, {"dequeue_ns", dequeue}, {"batches", 100}, {"foreign_batches", 3}};
}

nlohmann::json memory(double bytes_per_flow) {
    return {
        {"struct_bytes", 1000}, {"setup_bytes", 4096}, {"flows", 1000}, {"bytes_per_flow", bytes_per_flow}};
}

// Three rounds, the second of which was twice as slow for everybody.
nlohmann::json measured() {
    nlohmann::json group = {{"flows", 1000}, {"packets", 4000}, {"burst", 2}, {"kind", "owned"}};
    group["qdiscs"] = {
        {"pfqd", rounds({30, 60, 30}, {15, 30, 15})}, {"fq", rounds({20, 40, 20}, {10, 20, 10})},
        {"fq+", rounds({10, 20, 10}, {5, 10, 5})},    {"fq_codel", rounds({1, 2, 3}, {1, 2, 3})},
        {"cake", rounds({9, 9, 9}, {9, 9, 9})},       {"pfifo", rounds({1, 1, 1}, {1, 1, 1})}};
    nlohmann::json all;
    for (const char* name : {"pfqd", "fq", "fq+", "fq_codel", "cake", "pfifo"}) all[name] = memory(200);
    return {{"status", "ok"},   {"groups", nlohmann::json::array({group})},
            {"memory", all},    {"truesize", 2304},
            {"frame", 1514},    {"clock_ns", 25.0},
            {"overhead_ns", 28}};
}

TEST(QdiscBench, MediansOverRounds) {
    const nlohmann::json summary = summarize_qdisc_bench(measured());
    const nlohmann::json& pfqd = summary["groups"][0]["qdiscs"]["pfqd"];
    EXPECT_DOUBLE_EQ(pfqd["enqueue"]["median"], 30);
    EXPECT_DOUBLE_EQ(pfqd["dequeue"]["median"], 15);
    EXPECT_DOUBLE_EQ(pfqd["sum"]["median"], 45);
    EXPECT_DOUBLE_EQ(pfqd["sum"]["max"], 90);
    EXPECT_DOUBLE_EQ(summary["groups"][0]["qdiscs"]["fq_codel"]["sum"]["q1"], 3);
    EXPECT_DOUBLE_EQ(summary["groups"][0]["qdiscs"]["fq_codel"]["sum"]["q3"], 5);
}

TEST(QdiscBench, ASlowRoundDividesOutOfTheRatio) {
    const nlohmann::json summary = summarize_qdisc_bench(measured());
    const nlohmann::json& pfqd = summary["groups"][0]["qdiscs"]["pfqd"];
    for (const char* which : {"min", "median", "max"}) {
        EXPECT_DOUBLE_EQ(pfqd["ratio_fq"][which], 1.5);
        EXPECT_DOUBLE_EQ(pfqd["ratio_fq_wide"][which], 3);
    }
}

TEST(QdiscBench, TextShowsEveryContender) {
    nlohmann::json summary = summarize_qdisc_bench(measured());
    summary["kernel"] = {{"source", "linux-source-6.1"}};
    const std::string text = qdisc_bench_text(summary);
    EXPECT_NE(text.find("1000 x 4 by 2"), std::string::npos) << text;
    EXPECT_NE(text.find("1.50 (1.50-1.50)  3.00 (3.00-3.00)"), std::string::npos) << text;
    EXPECT_NE(text.find("18 of 600 batches left out"), std::string::npos) << text;
}

TEST(QdiscBench, NoRoundIsAnError) {
    nlohmann::json none = measured();
    none["groups"][0]["qdiscs"]["pfqd"] = rounds({}, {});
    EXPECT_THROW(summarize_qdisc_bench(none), std::runtime_error);
}

}  // namespace
}  // namespace pfqd::lab
