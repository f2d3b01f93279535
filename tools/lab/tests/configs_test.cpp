// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
#include "lab/host/configs.hpp"

#include <gtest/gtest.h>

#include "lab/host/installation.hpp"
#include "lab/host/selftest_command.hpp"
#include "lab/host/sweep.hpp"

namespace pfqd::lab {
namespace {

std::string error_of(const std::function<void()>& action) {
    try {
        action();
    } catch (const std::invalid_argument& error) {
        return error.what();
    }
    return "";
}

TEST(Cells, PercentAndRate) {
    EXPECT_DOUBLE_EQ(parse_cell("w4:50").load_gbps, 12.5);
    EXPECT_DOUBLE_EQ(parse_cell("w2:3.2g").load_gbps, 3.2);
    EXPECT_EQ(parse_cell("w3:80").workload, "w3");
}

TEST(Cells, NonsenseNamesTheCell) {
    for (const char* bad :
         {"w4", "w6:50", "x4:50", "w4:", "w4:0", "w4:101", "w4:26g", "w4:50%", "w4:nan", "w4:1e1x", ""})
        EXPECT_NE(error_of([&] { parse_cell(bad); }).find(bad), std::string::npos) << bad;
}

TEST(Cells, ShortMessagesRunShorter) {
    EXPECT_EQ(default_duration_ns(parse_cell("w2:50")), 20'000'000u);
    EXPECT_EQ(default_duration_ns(parse_cell("w5:80")), 60'000'000u);
}

TEST(Seeds, ListsAndRanges) {
    EXPECT_EQ(parse_seeds("1-3,7"), (std::vector<uint64_t>{1, 2, 3, 7}));
    for (const char* bad : {"", "a", "3-1", "1-", "-1", "1.5", "1-100000"})
        EXPECT_NE(error_of([&] { parse_seeds(bad); }), "") << bad;
}

TEST(Settings, UnknownNameListsTheAccepted) {
    EXPECT_NE(error_of([] { parse_setting("conection=idle"); }).find("connection"), std::string::npos);
    EXPECT_NE(error_of([] { parse_setting("connection"); }), "");
}

TEST(Settings, ImpossibleValuesNameTheRange) {
    GuestSpec spec;
    apply_configuration("fifo", spec.network);
    const Settings settings[] = {{{"mtu", "10"}},       {{"mtu", "1e9"}},   {{"connection", "all"}},
                                 {{"conns", "0"}},      {{"gso", "maybe"}}, {{"ring_ns", "-1"}},
                                 {{"loss_ppm", "0.5"}}, {{"mtu", ""}},      {{"pfqd.quantum", "3000"}}};
    for (const Settings& one : settings)
        EXPECT_NE(error_of([&] { apply_settings(one, spec); }).find(one.begin()->first), std::string::npos)
            << one.begin()->first;
}

TEST(Configurations, UnknownNameListsTheAccepted) {
    NetworkSpec network;
    EXPECT_NE(error_of([&] { apply_configuration("homa2", network); }).find("fq_codel"), std::string::npos);
}

TEST(Configurations, PortsHaveTheSameMeasure) {
    for (const char* name : {"fifo", "dctcp", "pfqd", "ct", "ctecn", "ct40", "ct40ecn"}) {
        NetworkSpec network;
        apply_configuration(name, network);
        EXPECT_EQ(network.port_qdisc.options.at("limit"), 1'000'000) << name;
    }
}

GuestSpec with(const std::string& configuration, const Settings& settings = {}) {
    GuestSpec spec;
    apply_configuration(configuration, spec.network);
    apply_settings(settings, spec);
    return spec;
}

TEST(Configurations, BudgetsOfTheLadder) {
    const auto budgets = [](const std::string& name) {
        const nlohmann::json port = with(name).network.port_qdisc.options;
        return std::vector<int>{port.at("budget_us"), port.at("short_us"), port.at("long_us")};
    };
    for (const char* name : {"ct", "ct40"}) EXPECT_EQ(budgets(name), (std::vector{5000, 5000, 5000})) << name;
    for (const char* name : {"ctecn", "ct40ecn"})
        EXPECT_EQ(budgets(name), (std::vector{20, 20, 5000})) << name;
}

TEST(Configurations, HostsStampAndBothSidesRead) {
    for (const char* name : {"ct", "ctecn", "ct40", "ct40ecn"}) {
        const NetworkSpec network = with(name).network;
        EXPECT_EQ(network.host_qdisc.options, nlohmann::json({{"stamp", 1}, {"completion", 1}})) << name;
        EXPECT_EQ(network.port_qdisc.options.at("completion"), 1) << name;
        EXPECT_FALSE(network.port_qdisc.options.contains("stamp")) << name;
        EXPECT_EQ(network.ecn, 2u) << name << ": ECN comes by route";
    }
    EXPECT_TRUE(with("ct40ecn").network.route_ecn);
    EXPECT_FALSE(with("ct40").network.route_ecn);
}

TEST(Configurations, FirstFlightFollowsTheMtu) {
    EXPECT_EQ(with("ct40").network.initcwnd, 14u);
    EXPECT_EQ(with("ct40ecn", {{"mtu", "1500"}}).network.initcwnd, 29u);
    EXPECT_EQ(with("ct40", {{"mtu", "9000"}}).network.initcwnd, 10u) << "never below the kernel's";
    EXPECT_EQ(with("ct").network.initcwnd, 0u);
    EXPECT_EQ(with("ct40", {{"initcwnd", "20"}}).network.initcwnd, 20u);
    EXPECT_EQ(with("ct40", {{"initcwnd", "0"}}).network.initcwnd, 0u);
}

TEST(Settings, SwitchesAreWordsAndHaveSides) {
    const NetworkSpec ports_only = with("ct", {{"host.completion", "off"}}).network;
    EXPECT_EQ(ports_only.host_qdisc.options.at("completion"), 0);
    EXPECT_EQ(ports_only.port_qdisc.options.at("completion"), 1);
    const NetworkSpec local = with("ct", {{"pfqd.stamp", "local"}, {"pfqd.completion", "inherit"}}).network;
    EXPECT_EQ(local.host_qdisc.options.at("stamp"), 3);
    EXPECT_FALSE(local.port_qdisc.options.contains("stamp"));
    EXPECT_EQ(local.port_qdisc.options.at("completion"), 2);
    EXPECT_EQ(with("ct", {{"pfqd.completion", "off"}, {"port.completion", "on"}})
                  .network.port_qdisc.options.at("completion"),
              1)
        << "one side overrides both";
    EXPECT_NE(error_of([] {
                  with("ct", {{"pfqd.completion", "local"}});
              }).find("off, on, inherit"),
              std::string::npos);
    EXPECT_NE(error_of([] { with("pfqd", {{"host_qdisc", "fq_codel"}, {"pfqd.stamp", "on"}}); }), "");
}

TEST(Settings, BudgetsOfPortsAlone) {
    const NetworkSpec network =
        with("ct40ecn", {{"pfqd.short_us", "100"}, {"port.short_us", "20"}, {"port.long_us", "20"}}).network;
    EXPECT_EQ(network.host_qdisc.options.at("short_us"), 100);
    EXPECT_EQ(network.port_qdisc.options.at("short_us"), 20);
    EXPECT_EQ(network.port_qdisc.options.at("long_us"), 20);
    EXPECT_FALSE(network.host_qdisc.options.contains("long_us"));
    EXPECT_NE(error_of([] {
                  with("fifo", {{"port.budget_us", "20"}});
              }).find("port.budget_us"),
              std::string::npos);
}

TEST(Settings, DepthIsInMicrosecondsAndFitsInMemory) {
    EXPECT_EQ(with("fifo").load.depth_ns, 0u);
    EXPECT_EQ(with("fifo", {{"depth_us", "5"}}).load.depth_ns, 5000u);
    for (const char* bad : {"0.5", "-1", "1000001", "100000"})  // the last: longer than the traffic
        EXPECT_NE(error_of([&] {
                      with("fifo", {{"depth_us", bad}});
                  }).find("depth_us"),
                  std::string::npos)
            << bad;
    GuestSpec spec;
    spec.load.duration_ns = 100'000'000'000;
    apply_configuration("fifo", spec.network);
    EXPECT_NE(error_of([&] {
                  apply_settings({{"depth_us", "1"}}, spec);
              }).find("16777216"),
              std::string::npos);
}

TEST(Settings, InternetAndQueuesAreOffUnlessAskedFor) {
    EXPECT_EQ(with("ct40ecn").network.internet, 0u);
    EXPECT_EQ(with("ct40ecn", {{"internet", "4"}}).network.internet, 4u);
    EXPECT_EQ(with("ct40ecn", {{"queues", "4"}}).network.queues, 4u);
    EXPECT_NE(error_of([] { with("ct", {{"internet", "17"}}); }).find("from 0 to 16"), std::string::npos);
    EXPECT_NE(error_of([] { with("ct", {{"queues", "0"}}); }).find("from 1 to 16"), std::string::npos);
}

TEST(Settings, WhatTcpMaySendOfAWrite) {
    EXPECT_FALSE(with("ct").load.whole);
    EXPECT_TRUE(with("ct", {{"write", "nothing"}}).load.whole);
    EXPECT_FALSE(with("ct", {{"write", "segments"}}).load.whole);
}

TEST(Settings, AHostQdiscThatIsThereKeepsItsOptions) {
    EXPECT_EQ(with("ct", {{"host_qdisc", "pfqd"}}).network.host_qdisc.options.at("stamp"), 1);
    const NetworkSpec network = with("ct", {{"host_qdisc", "fq_codel"}}).network;
    EXPECT_EQ(network.host_qdisc.kind, "fq_codel");
    EXPECT_TRUE(network.host_qdisc.options.empty());
}

TEST(Plan, ASettingThatChangesNothingIsNoVariant) {
    SweepPlan plan;
    plan.cells = {"w4:50"};
    plan.configs = {"pfqd"};
    plan.seeds = {1};
    plan.settings = {{"connection", "idle"}, {"mtu", "1500"}};
    const std::vector<RunSpec> runs = expand(plan, Installation::find());
    ASSERT_EQ(runs.size(), 1u);
    EXPECT_EQ(runs[0].name(), "w4_50-pfqd-mtu=1500-s1");
    EXPECT_EQ(runs[0].guest.network.mtu, 1500u);
}

TEST(Tap, CountsPoints) {
    const SelftestTotals totals =
        count_tap("TAP version 13\n1..3\nok 1 - a\nnot ok 2 - b\nok 3 - c # SKIP no d\n", false);
    EXPECT_EQ(totals.passed, 1u);
    EXPECT_EQ(totals.failed, 1u);
    EXPECT_EQ(totals.skipped, 1u);
}

TEST(Tap, WhatIsNotThereFailed) {
    EXPECT_EQ(count_tap("", true).failed, 1u) << "no plan";
    EXPECT_EQ(count_tap("1..2\nok 1\n", true).failed, 1u) << "a missing point";
    EXPECT_EQ(count_tap("1..1\nok 1\n", false).failed, 1u) << "bad exit status";
    EXPECT_EQ(count_tap("1..0 # SKIP nothing here\n", true).skipped, 1u);
    EXPECT_EQ(count_tap("1..0\n", true).failed, 1u) << "nothing was tested, and no reason given";
}

}  // namespace
}  // namespace pfqd::lab
