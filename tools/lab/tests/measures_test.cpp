// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
#include "lab/host/measures.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "lab/common/depth_summary.hpp"
#include "lab/host/report_measures.hpp"
#include "lab/host/report_page.hpp"
#include "lab/tests/fixtures.hpp"

using nlohmann::json;

namespace pfqd::lab {
namespace {

using namespace test;
using Runs = std::vector<Run>;  // inside a TEST, Run is something of GoogleTest

bool has(const std::string& text, const std::string& part) {
    return text.find(part) != std::string::npos;
}

json flow(double bps, uint64_t retransmits, bool ecn) {
    return {{"goodput_bps", bps},         {"late_goodput_bps", bps / 2},
            {"retransmits", retransmits}, {"ce", 7},
            {"min_rtt_us", 4002},         {"ecn", ecn}};
}

json pfqd_json() {
    json side = {{"serves_banded", 800}, {"serves_ordinary", 100}, {"drops_limit", 11}};
    const json queued = {{"packets", 100}, {"bytes", 1}, {"sojourn", {60, 30, 9, 1}}};
    for (const char* band : kBandNames) side["bands"][band] = queued;
    for (const char* name : kClassNames)
        side["classes"][name] = {{"packets", 50}, {"bytes", 1}, {"marks", 5}, {"drops", 2}};
    side["tiers"]["control"] = queued;
    return side;
}

// A run that measured everything there is.
json full_run(uint64_t seed = 1) {
    json run = run_json("w4:80", "ct40ecn", seed, synthetic_log(shipped_workload("w4"), 500, seed, 1));
    json& counters = run["counters"];
    counters["depth"] = depth_summary(std::vector<uint32_t>{0, 10, 3014, 20, 6028, 30}, 2, 5000);
    counters["internet"] = {{"interval_ns", 60'000'000},
                            {"in", {flow(2.5e9, 30, false), flow(1.5e9, 10, false)}},
                            {"out", {flow(3.4e8, 0, true)}}};
    counters["pfqd"] = {{"host", pfqd_json()}, {"tor", pfqd_json()}};
    return run;
}

TEST(DepthSummary, SaysHowDeepPortsWere) {
    const std::vector<uint32_t> rows = {1, 5, 9, 2, 3, 4};  // three samples of two ports
    const json summary = depth_summary(rows, 2, 1000);
    EXPECT_EQ(summary["samples"], 3);
    EXPECT_EQ(summary["ports"], 2);
    EXPECT_EQ(summary["all"], json({{"p50", 3}, {"p99", 9}, {"max", 9}, {"mean", 4}}));
    EXPECT_EQ(summary["deepest"], json({{"p50", 5}, {"p99", 9}, {"max", 9}, {"mean", 6}}));
    EXPECT_EQ(summary["port_max"], json({9, 5}));
    EXPECT_EQ(summary["series"], json({{"period_ns", 1000}, {"deepest", {5, 9, 4}}, {"mean", {3, 5, 3}}}));
}

TEST(DepthSummary, StretchesALongSeriesAndLosesNoPeak) {
    std::vector<uint32_t> rows(2 * (kDepthPoints + 1));
    rows[2 * kDepthPoints] = 77;
    const json series = depth_summary(rows, 2, 500)["series"];
    EXPECT_EQ(series["period_ns"], 1000);
    ASSERT_EQ(series["deepest"].size(), kDepthPoints / 2 + 1);
    EXPECT_EQ(series["deepest"].back(), 77);
    EXPECT_EQ(series["mean"].back(), 38);
}

TEST(DepthSummary, TakesOneSample) {
    const json summary = depth_summary(std::vector<uint32_t>{8}, 1, 1000);
    EXPECT_EQ(summary["all"]["p50"], 8);
    EXPECT_EQ(summary["series"]["deepest"], json({8}));
}

TEST(Sojourns, PercentilesAreUpperEdges) {
    const Sojourn sojourn{100, {60, 30, 9, 1}};
    EXPECT_EQ(sojourn.at_most_ns(50), 1024);
    EXPECT_EQ(sojourn.at_most_ns(90), 2048);
    EXPECT_EQ(sojourn.at_most_ns(99), 4096);
    EXPECT_TRUE(std::isinf(*sojourn.at_most_ns(100))) << "the last element has no upper edge";
    EXPECT_FALSE(Sojourn{}.at_most_ns(50).has_value());
    EXPECT_EQ((Sojourn{1, {0, 1, 0}}).at_most_ns(1), 2048);
}

TEST(Sojourns, AddUpAcrossLengths) {
    Sojourn sum{1, {1}};
    sum += Sojourn{2, {0, 2}};
    EXPECT_EQ(sum.packets, 3u);
    EXPECT_EQ(sum.histogram, (std::vector<uint64_t>{1, 2}));
}

TEST(Measures, AreReadBack) {
    const auto run = run_from_json(full_run(), "run");
    ASSERT_TRUE(run.measures.depth && run.measures.internet);
    EXPECT_EQ(run.measures.depth->all.max, 6028u);
    EXPECT_EQ(run.measures.depth->port_max, (std::vector<uint64_t>{6028, 30}));
    EXPECT_EQ(run.measures.internet->in.size(), 2u);
    EXPECT_EQ(run.measures.internet->out.at(0).ecn, true);
    EXPECT_EQ(run.measures.pfqd.at("tor").classes[1].marks, 5u);
    EXPECT_EQ(run.measures.pfqd.at("tor").drops_memlimit, 0u) << "an older module counts less";
}

TEST(Measures, AreNothingWhereNothingWasMeasured) {
    const auto run =
        run_from_json(run_json("w4:50", "fifo", 1, synthetic_log(shipped_workload("w4"), 300, 1, 1)), "run");
    EXPECT_FALSE(run.measures.depth || run.measures.internet);
    EXPECT_TRUE(run.measures.pfqd.empty());
    const Runs runs = {run};
    EXPECT_TRUE(depth_table(runs).empty() && internet_table(runs).empty() && class_table(runs).empty() &&
                sojourn_table(runs).empty());
    EXPECT_FALSE(has(report_page(runs), "id=\"queues\""));
}

TEST(Measures, NonsenseNamesTheField) {
    const std::vector<std::pair<std::string, json>> bad = {{"/depth/samples", 0},
                                                           {"/depth/all/p99", -1},
                                                           {"/depth/series/mean", {1}},
                                                           {"/depth/port_max", "deep"},
                                                           {"/internet/interval_ns", 0},
                                                           {"/internet/in/0/goodput_bps", -1.0},
                                                           {"/internet/out/0/ecn", 1},
                                                           {"/pfqd/tor/classes/long/marks", 0.5},
                                                           {"/pfqd/host/bands/none/sojourn", {-1}},
                                                           {"/pfqd/host/serves_banded", "many"}};
    for (const auto& [place, value] : bad) {
        json run = full_run();
        run["counters"][json::json_pointer(place)] = value;
        const std::string error = error_of([&] { run_from_json(run, "the file"); });
        EXPECT_TRUE(has(error, "the file: field 'counters.")) << place << ": " << error;
    }
}

TEST(Measures, HaveTablesAndAPicture) {
    const Runs runs = {run_from_json(full_run(1), "run"), run_from_json(full_run(2), "run")};
    EXPECT_TRUE(has(depth_table(runs).text(), "6,028"));
    const std::string internet = internet_table(runs).text();
    EXPECT_TRUE(has(internet, "2.00")) << "mean of 2.5 and 1.5";
    EXPECT_TRUE(has(internet, "0.340"));
    EXPECT_TRUE(has(class_table(runs).text(), "1,600")) << "a sum over two seeds";
    EXPECT_TRUE(has(sojourn_table(runs).text(), "1.02"));
    const std::string page = report_page(runs);
    EXPECT_TRUE(has(page, "id=\"queues\"") && has(page, "href=\"#queues\""));
    EXPECT_TRUE(has(page, "the deepest port of the switch over time"));
}

}  // namespace
}  // namespace pfqd::lab
