// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
//
// The congestion signal with real TCP in the loop: where the queues settle, what
// two RTT classes get, and how fair bulk flows are to each other.
#include <linux/pfqd_stamp.h>

#include <algorithm>

#include "selftests/lib/tcp_load.hpp"
#include "selftests/pfqd/switch.hpp"

using namespace pfqd::selftest;

namespace {

constexpr uint64_t kRate = 400'000'000;    // bit/s, of the way out
constexpr uint64_t kFeed = 4'000'000'000;  // bit/s, of the way in
constexpr uint64_t kMillisecond = 1'000'000;

// A switch with addresses at both ends.
struct Network {
    Network(SwitchOptions options, const std::string& ecn) : bench(without_frames(options)) {
        bench.feed().add_address("10.0.0.1");
        bench.sink().add_address("10.0.0.2");
        for (const End* end : {&bench.feed(), &bench.sink()}) {
            In inside(end->netns());
            set_sysctl("net/ipv4/tcp_ecn", ecn);
        }
    }
    BulkFlow flow(const BulkOptions& options) {
        return BulkFlow(bench.feed(), bench.sink(), "10.0.0.2", options);
    }
    static SwitchOptions without_frames(SwitchOptions options) {
        options.frames = false;
        return options;
    }
    Switch bench;
};

struct Backlog {
    double mean = 0;
    uint32_t largest = 0;
};

// Of data in the queue, over that time, a sample every 0.5 ms.
Backlog watch(const Switch& bench, uint64_t ms) {
    Backlog backlog;
    const uint64_t samples = ms * 2;
    for (uint64_t i = 0; i < samples; i++) {
        sleep_ns(kMillisecond / 2);
        const PfqdStats stats = bench.stats();
        const uint32_t bytes =
            stats.tier[PFQD_TIER_HIGH].backlog_bytes + stats.tier[PFQD_TIER_LOW].backlog_bytes;
        backlog.mean += static_cast<double>(bytes) / static_cast<double>(samples);
        backlog.largest = std::max(backlog.largest, bytes);
    }
    return backlog;
}

PfqdOptions budget(uint32_t us) {
    return {.budget = us, .budget_short = us, .budget_long = us, .rate = kRate / 8};
}

// 5 ms at 400 Mbit/s: 250,000 B.
void test_marked_settles(Tap& tap) {
    for (const std::string cc : {"cubic", "dctcp"}) {
        tap.section(cc);
        Network net({.pfqd = budget(5000), .rate = kRate, .feed = kFeed}, "1");
        const BulkFlow flow = net.flow({.congestion = cc});
        sleep_ns(500 * kMillisecond);
        const PfqdStats before = net.bench.stats();
        const Backlog backlog = watch(net.bench, 1000);
        const PfqdStats after = net.bench.stats();
        tap.diag(fmt::format("limit 250000 B: mean {:.0f}, largest {}, {} marks", backlog.mean,
                             backlog.largest, after.marks - before.marks));
        tap.between("the queue settles below its limit", backlog.mean, 125'000.0, 255'000.0);
        tap.between("and hardly exceeds it", backlog.largest, 240'000u, 300'000u);
        tap.ok(after.marks > before.marks, "by marks");
        tap.is("nothing is ever dropped", after.qdisc.drops, 0u);
        tap.near("the link is full", static_cast<double>(after.qdisc.bytes - before.qdisc.bytes),
                 4e8 / 8 * 1514 / 1538, 1e6);
    }
}

void test_dropped_settles(Tap& tap) {
    Network net({.pfqd = budget(5000), .rate = kRate, .feed = kFeed}, "0");
    const BulkFlow flow = net.flow({.congestion = "cubic"});
    sleep_ns(500 * kMillisecond);
    const PfqdStats before = net.bench.stats();
    const Backlog backlog = watch(net.bench, 1000);
    const PfqdStats after = net.bench.stats();
    tap.diag(fmt::format("limit 250000 B: mean {:.0f}, largest {}, {} drops", backlog.mean, backlog.largest,
                         after.drops_budget - before.drops_budget));
    tap.between("without ECN too the queue settles below its limit", backlog.mean, 100'000.0, 255'000.0);
    tap.between("and hardly exceeds it", backlog.largest, 240'000u, 300'000u);
    tap.ok(after.drops_budget > before.drops_budget, "by drops of the oldest");
    tap.is("nothing is marked", after.marks, 0u);
    tap.near("the link is full", static_cast<double>(after.qdisc.bytes - before.qdisc.bytes),
             4e8 / 8 * 1514 / 1538, 1e6);
}

constexpr uint8_t kShort = (PFQD_BAND_NONE << PFQD_STAMP_DSCP_SHIFT | PFQD_STAMP_POOL) << 2;
constexpr uint8_t kLong =
    ((1 << PFQD_STAMP_CLASS_SHIFT | PFQD_BAND_NONE) << PFQD_STAMP_DSCP_SHIFT | PFQD_STAMP_POOL) << 2;

// Mean bytes queued of a long-path flow (4 ms RTT) alone, with that stamp.
std::pair<double, double> long_path(uint8_t tos) {
    PfqdOptions options = budget(5000);
    options.budget_short = 20;
    options.completion = PFQD_SWITCH_ON;
    Network net({.pfqd = options, .rate = kRate, .feed = kFeed, .feed_delay = 2 * kMillisecond}, "1");
    const BulkFlow flow = net.flow({.congestion = "cubic", .tos = tos});
    sleep_ns(1000 * kMillisecond);
    const uint64_t before = flow.delivered();
    const Backlog backlog = watch(net.bench, 1000);
    return {backlog.mean, static_cast<double>(flow.delivered() - before) * 8 / 1e6};
}

// 20 us hold a flow to the floor of 64 KB, of which a path of 4 ms cannot live; the
// long class gives it 5 ms, which is more than its bandwidth-delay product.
void test_two_classes(Tap& tap) {
    const auto [short_queue, short_rate] = long_path(kShort);
    const auto [long_queue, long_rate] = long_path(kLong);
    tap.diag(
        fmt::format("4 ms path: short class {:.0f} Mbit/s, {:.0f} B queued; long class {:.0f} Mbit/s, "
                    "{:.0f} B queued",
                    short_rate, short_queue, long_rate, long_queue));
    tap.between("held to the floor as short class", short_queue, 0.0, double{PFQD_FLOW_FLOOR});
    tap.between("as long class the link is full", long_rate, 372.0, 380.0);
    tap.ok(long_queue > 2 * short_queue, "with a longer queue");
    tap.ok(long_rate > short_rate, "and more throughput");
}

// Both classes in one port: each flow is held to its own class's limit.
void test_classes_together(Tap& tap) {
    PfqdOptions options = budget(5000);
    options.budget_short = 20;
    options.completion = PFQD_SWITCH_ON;
    Network net({.pfqd = options, .rate = kRate, .feed = kFeed}, "1");
    const BulkFlow of_short = net.flow({.port = 6001, .congestion = "dctcp", .tos = kShort});
    const BulkFlow of_long = net.flow({.port = 6002, .congestion = "dctcp", .tos = kLong});
    sleep_ns(500 * kMillisecond);
    const uint64_t short_before = of_short.delivered(), long_before = of_long.delivered();
    const Backlog backlog = watch(net.bench, 500);
    const auto share = static_cast<double>(of_short.delivered() - short_before) /
                       static_cast<double>(of_long.delivered() - long_before);
    tap.diag(fmt::format("mean queue {:.0f} B, short / long goodput {:.3f}", backlog.mean, share));
    // 64 KB + 5 ms * 400 Mbit/s / 2 flows
    tap.between("the queue is the sum of both limits", backlog.mean, 0.75 * (65'536 + 125'000),
                1.05 * (65'536 + 125'000));
    tap.near("and the link is shared evenly all the same", share, 1.0, 0.05);
    tap.is("without a drop", net.bench.stats().qdisc.drops, 0u);
}

double jain(const std::vector<double>& shares) {
    double sum = 0, squares = 0;
    for (const double share : shares) sum += share, squares += share * share;
    return sum * sum / (static_cast<double>(shares.size()) * squares);
}

void test_twenty_flows(Tap& tap) {
    for (const std::string ecn : {"0", "1"}) {
        tap.section("ecn " + ecn);
        Network net({.pfqd = budget(5000), .rate = kRate, .feed = kFeed}, ecn);
        std::vector<BulkFlow> flows;
        for (uint16_t i = 0; i < 20; i++)
            flows.push_back(net.flow({.port = static_cast<uint16_t>(6000 + i), .congestion = "cubic"}));
        sleep_ns(300 * kMillisecond);
        std::vector<double> shares;
        for (const BulkFlow& flow : flows) shares.push_back(-static_cast<double>(flow.delivered()));
        sleep_ns(1000 * kMillisecond);
        for (size_t i = 0; i < flows.size(); i++) shares[i] += static_cast<double>(flows[i].delivered());
        tap.diag(fmt::format("Jain's index of 20 bulk flows: {:.5f}", jain(shares)));
        tap.between("20 bulk flows share alike", jain(shares), 0.99, 1.0 + 1e-9);
    }
}

}  // namespace

int main() {
    return run_tests({{"marked settles", test_marked_settles},
                      {"dropped settles", test_dropped_settles},
                      {"two classes", test_two_classes},
                      {"classes together", test_classes_together},
                      {"twenty flows", test_twenty_flows}});
}
