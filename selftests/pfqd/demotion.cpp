// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
//
// The tiers over time: a flow that stays backlogged moves to low after `demote`,
// to the microsecond, has one turn a cycle there, and is high again once empty.
#include <algorithm>

#include "selftests/pfqd/port.hpp"

using namespace pfqd::selftest;

namespace {

constexpr uint64_t kDemoteNs = 5'000'000;  // the default; design.md 3.1

size_t count_of(const std::vector<std::string>& out, char flow) {
    return static_cast<size_t>(
        std::count_if(out.begin(), out.end(), [flow](const std::string& text) { return text[0] == flow; }));
}

void test_default_age(Tap& tap) {
    Port port;
    port.hold();
    port.queue_data('A', 0, 100);
    sleep_ns(kDemoteNs - kFrameNs);
    tap.is("not demoted before 5 ms", port.stats().demotions, 0u);
    sleep_ns(3 * kFrameNs);
    tap.is("demoted after 5 ms", port.stats().demotions, 1u);
    const PfqdStats stats = port.stats();
    tap.is("its backlog moved with it", stats.tier[PFQD_TIER_HIGH].backlog_packets, 0u);
    tap.is("and is counted in low", stats.tier[PFQD_TIER_LOW].backlog_packets, stats.qdisc.qlen);
    tap.is("in bytes too", stats.tier[PFQD_TIER_LOW].backlog_bytes, stats.qdisc.backlog);
    tap.is("the order stays", port.drain().size(), 100u);
    const PfqdStats after = port.stats();
    // The held frame at 0, A0 at 123 us, ..., A39 at 4.92 ms; A40 at 5.04 ms is low.
    tap.is("packets served while high", after.tier[PFQD_TIER_HIGH].packets, 41u);
    tap.is("packets served while low", after.tier[PFQD_TIER_LOW].packets, 60u);
    check_empty(tap, after);
}

void test_low_turn(Tap& tap) {
    Port port({.pfqd = {.demote = 1000}});
    port.hold();
    port.queue_data('A', 0, 40);
    port.queue_data('B', 0, 40);
    sleep_ns(11 * kFrameNs);  // both are low now
    tap.is("two flows demoted", port.stats().demotions, 2u);
    port.queue_data('X', 0, 3);
    port.queue_data('Y', 0, 3);
    const std::vector<std::string> out = port.drain();
    // A5 is on the wire when they come: B is the next low flow.
    const size_t first = static_cast<size_t>(std::find(out.begin(), out.end(), "X0") - out.begin());
    tap.is("high flows have a turn each, then one low flow has one, in turn", joined(out, first, 9),
           "X0 Y0 B5 X1 Y1 A6 X2 Y2 B6");
    tap.is("nothing is lost", out.size(), 86u);
}

void test_low_round_robin(Tap& tap) {
    Port port({.pfqd = {.demote = 500}});
    port.hold();
    for (const char flow : std::string("ABC")) port.queue_data(flow, 0, 30);
    const std::vector<std::string> out = port.drain();
    tap.is("three demoted", port.stats().demotions, 3u);
    bool fair = true;
    for (size_t i = 12; i < 81; i += 3) {  // later the first of them runs out
        const std::vector<std::string> round(out.begin() + static_cast<long>(i),
                                             out.begin() + static_cast<long>(i) + 3);
        fair = fair && count_of(round, 'A') == 1 && count_of(round, 'B') == 1 && count_of(round, 'C') == 1;
    }
    tap.ok(fair, "low flows have one turn each a round");
}

void test_new_flow_overtakes_low(Tap& tap) {
    Port port({.pfqd = {.demote = 1000}});
    port.hold();
    for (const char flow : std::string("ABCDEFGHIJ")) port.queue_data(flow, 0, 20);
    sleep_ns(20 * kFrameNs + kFrameNs / 2);
    tap.is("ten demoted", port.stats().demotions, 10u);
    port.queue(data('S', 0));
    const std::vector<std::string> out = port.drain();
    const auto at = std::find(out.begin(), out.end(), "S0") - out.begin();
    // 20 frames have left the qdisc and one is on the wire; then S0 is next.
    tap.between("a new flow does not wait for ten low flows", at, 19L, 21L);
}

void test_high_again(Tap& tap) {
    Port port({.pfqd = {.demote = 1000}});
    port.hold();
    port.queue_data('A', 0, 20);
    port.drain();
    tap.is("demoted once", port.stats().demotions, 1u);
    port.hold();
    port.queue_data('A', 0, 2);
    const PfqdStats stats = port.stats();
    tap.is("high again after its queue emptied", stats.tier[PFQD_TIER_HIGH].backlog_packets, 2u);
    tap.is("nothing in low", stats.tier[PFQD_TIER_LOW].backlog_packets, 0u);
    port.drain();
    tap.is("and with a new age", port.stats().demotions, 1u);
}

// A flow that empties often is never old, however long it lives.
void test_interrupted(Tap& tap) {
    Port port({.pfqd = {.demote = 1000}});
    for (uint32_t i = 0; i < 40; i++) {
        port.queue_data('A', i * 4, 4);
        sleep_ns(5 * kFrameNs);
    }
    tap.is("20 ms of bursts, each with an end: no demotion", port.stats().demotions, 0u);
    tap.is("all served high", port.stats().tier[PFQD_TIER_HIGH].packets, 160u);
}

void test_many_at_once(Tap& tap) {
    constexpr uint32_t kFlows = 200;
    Port port({.pfqd = {.demote = 1000}});
    port.hold();
    for (uint32_t i = 0; i < 2 * kFlows; i++) {
        FrameOptions frame;
        frame.sport = static_cast<uint16_t>(5000 + i % kFlows);
        frame.payload = kFull;
        port.queue(make_frame(frame));
    }
    sleep_ns(2'000'000);
    const uint64_t demotions = port.stats().demotions;
    tap.between("demotions come in portions, 16 a packet at most", demotions, uint64_t{16}, uint64_t{16 * 9});
    tap.is("all frames leave", port.drain_frames().size(), 2 * kFlows + 1);
    check_empty(tap, port.stats());
}

void test_change(Tap& tap) {
    Port port({.pfqd = {.demote = 60'000'000}});
    port.hold();
    port.queue_data('A', 0, 30);
    sleep_ns(10 * kFrameNs);
    tap.is("old, but not by that option", port.stats().demotions, 0u);
    change_qdisc(port.end(), "pfqd", pfqd_options({.demote = 1000}));
    sleep_ns(kFrameNs);
    tap.is("a change acts on flows that are queued", port.stats().demotions, 1u);
    port.drain();
    check_empty(tap, port.stats());
}

}  // namespace

int main() {
    return run_tests({{"default age", test_default_age},
                      {"low turn", test_low_turn},
                      {"low round robin", test_low_round_robin},
                      {"new flow overtakes low", test_new_flow_overtakes_low},
                      {"high again", test_high_again},
                      {"interrupted", test_interrupted},
                      {"many at once", test_many_at_once},
                      {"change", test_change}});
}
