// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
//
// The flow table: it grows with use and shrinks again, flows beyond the limit
// share by source, and no flow is ever reordered on the way.
#include <algorithm>
#include <map>

#include "selftests/pfqd/port.hpp"

using namespace pfqd::selftest;

namespace {

// A small UDP frame of the tuple, the n-th.
Bytes of_tuple(uint32_t source, uint16_t sport, uint32_t n = 0) {
    FrameOptions options;
    options.protocol = IPPROTO_UDP;
    options.source = source;
    options.sport = sport;
    options.payload = 100;
    options.tag = n;
    return make_frame(options);
}

void test_limit(Tap& tap) {
    Port port({.pfqd = {.flows = 4}});
    port.hold();  // itself a flow, gone from the queue at once
    for (uint16_t i = 0; i < 4; i++) port.queue(of_tuple(1, i));
    tap.is("four flows of their own", port.stats().flows_allocated, 4u);
    tap.is("none shares", port.stats().overflow_packets, 0u);
    for (uint16_t i = 0; i < 10; i++) port.queue(of_tuple(1, static_cast<uint16_t>(100 + i)));
    PfqdStats stats = port.stats();
    tap.is("no fifth", stats.flows_allocated, 4u);
    tap.is("ten packets in shared FIFOs", stats.overflow_packets, 10u);
    tap.is("one source, one FIFO", stats.flows_active, 5u);
    for (uint32_t i = 0; i < 200; i++) port.queue(of_tuple(2 + i, 1));
    stats = port.stats();
    tap.is("more sources, more packets in shared FIFOs", stats.overflow_packets, 210u);
    tap.between("in 64 of them at most, and in most of them", stats.flows_active, 4u + 40, 4u + 64);
    tap.is("all leave", port.drain_frames().size(), 1u + 214);
    check_empty(tap, port.stats());
    port.hold();
    port.queue(of_tuple(9, 9));
    tap.is("afterwards a new flow has its own FIFO", port.stats().overflow_packets, 210u);
}

// A flood of random tuples costs the flood.
void test_flood(Tap& tap) {
    Port port({.pfqd = {.flows = 8, .demote = 60'000'000}});
    port.hold();
    for (uint16_t flow = 0; flow < 8; flow++)
        for (uint32_t n = 0; n < 20; n++) port.queue(of_tuple(1, flow, n));
    for (uint32_t i = 0; i < 1000; i++) port.queue(of_tuple(0x0b000001, static_cast<uint16_t>(1000 + i)));
    std::map<uint16_t, uint32_t> last;
    size_t flood = 0, position = 0, worst = 0;
    for (const Received& received : port.drain_frames()) {
        if (received.frame.size() < 60 || received.frame[12] != 8) continue;
        position++;
        const auto sport = static_cast<uint16_t>(received.frame[34] << 8 | received.frame[35]);
        if (sport >= 1000)
            flood++;
        else
            worst = position, last[sport]++;
    }
    tap.is("eight flows got all", last.size(), 8u);
    tap.is("the flood too, later", flood, 1000u);
    // 142 B frames: 10.6 a turn; 20 packets of 8 flows are served in two cycles
    // and a bit, in each of which the flood has one turn.
    tap.between("eight flows finish before all but a few turns of the flood", worst, size_t{160},
                size_t{160 + 3 * 12});
}

// A tuple stays with the shared FIFO while that has packets, so its order holds.
void test_order_across_overflow(Tap& tap) {
    Port port({.pfqd = {.flows = 1}});
    port.hold();
    port.queue(data('A', 0));
    port.queue_data('B', 0, 6);
    sleep_ns(2 * kFrameNs + kFrameNs / 2);  // A0 and B0 have left: there is a flow to be had
    port.queue_data('B', 6, 3);
    tap.is("shared while it is backlogged", port.stats().overflow_packets, 9u);
    tap.is("never reordered", joined(port.drain()), "A0 B0 B1 B2 B3 B4 B5 B6 B7 B8");
    port.hold();
    port.queue_data('B', 9, 2);
    tap.is("then it has its own", port.stats().overflow_packets, 9u);
    port.drain();
}

// Kept for a second, and then freed by those that come after them.
void test_idle_flows(Tap& tap) {
    constexpr uint32_t kFlows = 3000;
    Port port;
    for (uint32_t i = 0; i < kFlows; i++) {
        port.queue(of_tuple(1 + i, 5));
        if (i % 64 == 63) sleep_ns(1'000'000);
    }
    sleep_ns(100'000'000);
    PfqdStats stats = port.stats();
    tap.is("idle flows are kept", stats.flows_allocated, kFlows);
    tap.is("each packet left", stats.tier[PFQD_TIER_HIGH].packets, kFlows);
    sleep_ns(1'500'000'000);
    tap.is("nobody looks at them while nothing happens", port.stats().flows_allocated, kFlows);
    for (uint32_t i = 0; i < kFlows / 2; i++) {
        port.queue(of_tuple(1, 5));
        sleep_ns(50'000);
    }
    tap.is("two are freed with each that empties", port.stats().flows_allocated, 1u);
    check_empty(tap, port.stats());
}

void test_growth(Tap& tap) {
    constexpr uint32_t kFlows = 20'000;
    // Turns of many packets: few cycles. The table's pages are made on the way.
    // 40,001 small packets have 36 MB of truesize on kernels where each has 896 bytes.
    Port port({.pfqd = {.memlimit = 64 << 20}, .rate = 10'000'000});
    port.hold();
    for (uint32_t i = 0; i < kFlows; i++)
        port.queue(of_tuple(1 + i / 100, static_cast<uint16_t>(1 + i % 100)));
    const PfqdStats stats = port.stats();
    tap.between("a flow for each of 20,000 tuples", stats.flows_active, kFlows - 20, kFlows);
    tap.is("none shared", stats.overflow_packets, 0u);
    tap.is("no allocation failed", stats.alloc_failures, 0u);
    for (uint32_t i = 0; i < kFlows; i++)
        port.queue(of_tuple(1 + i / 100, static_cast<uint16_t>(1 + i % 100), 1));
    tap.between("found again, all of them", port.stats().flows_active, kFlows - 40, kFlows);
    port.end().change({.rate = 10'000'000'000});
    tap.is("all leave", port.drain_frames().size(), 2 * kFlows + 1);
    tap.between("no more flows in memory than were busy", port.stats().flows_allocated, 1u, kFlows + 1);
    check_empty(tap, port.stats());
}

void test_change_flows(Tap& tap) {
    Port port({.pfqd = {.flows = 10}});
    port.hold();
    for (uint16_t i = 0; i < 10; i++) port.queue(of_tuple(1, i));
    change_qdisc(port.end(), "pfqd", pfqd_options({.flows = 5000}));
    for (uint16_t i = 10; i < 2000; i++) port.queue(of_tuple(1, i));
    tap.is("more flows at once", port.stats().flows_active, 2000u);
    change_qdisc(port.end(), "pfqd", pfqd_options({.flows = 100}));
    port.queue(of_tuple(2, 1));
    PfqdStats stats = port.stats();
    tap.is("fewer: those that are busy stay", stats.flows_active, 2001u);
    tap.is("a new one shares", stats.overflow_packets, 1u);
    tap.is("all leave", port.drain_frames().size(), 2002u);
    stats = port.stats();
    tap.between("and the table shrinks to the limit", stats.flows_allocated, 1u, 100u);
    change_qdisc(port.end(), "pfqd", pfqd_options({.flows = 1 << 20}));
    port.hold();
    for (uint16_t i = 0; i < 500; i++) port.queue(of_tuple(3, i));
    tap.is("and grows again", port.stats().flows_active, 500u);
    port.drain_frames();
    check_empty(tap, port.stats());
}

}  // namespace

int main() {
    return run_tests({{"limit", test_limit},
                      {"flood", test_flood},
                      {"order across overflow", test_order_across_overflow},
                      {"idle flows", test_idle_flows},
                      {"growth", test_growth},
                      {"change flows", test_change_flows}});
}
