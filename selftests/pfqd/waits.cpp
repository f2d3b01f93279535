// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
//
// How long who waits behind 30 and behind 1,000 backlogged flows: what the service
// cycle promises, to the frame, in virtual time.
#include <time.h>

#include <algorithm>
#include <functional>

#include "selftests/pfqd/port.hpp"

using namespace pfqd::selftest;

namespace {

constexpr double kSmallNs = 84 * 8 * 10 + 1000;  // the smallest frame at 100 Mbit/s, and the delay
constexpr double kFullNs = kFrameNs + 1000;

uint64_t realtime_ns() {
    timespec now{};
    clock_gettime(CLOCK_REALTIME, &now);
    return static_cast<uint64_t>(now.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(now.tv_nsec);
}

Bytes segment_of(uint16_t flow, uint32_t n) {
    FrameOptions options;
    options.source = 0x0a010000u + flow;
    options.sport = static_cast<uint16_t>(2000 + flow);
    options.payload = kFull;
    options.tag = n;
    return make_frame(options);
}

Bytes syn() {
    FrameOptions options;
    options.sport = 77;
    options.tcp_flags = kSyn;
    return make_frame(options);
}

// A port with that many bulk flows, in the middle of things.
struct Busy {
    Busy(uint16_t flows, uint32_t packets, uint32_t demote_us, uint64_t age_ns)
        : port({.pfqd = {.demote = demote_us}}) {
        port.hold();
        for (uint32_t n = 0; n < packets; n++)
            for (uint16_t flow = 0; flow < flows; flow++) port.queue(segment_of(flow, n));
        sleep_ns(age_ns);
    }

    // From its sending to its arrival, ns.
    double wait_of(const Bytes& probe) {
        const uint64_t sent = realtime_ns();
        port.queue(probe);
        for (const Received& received : port.drain_frames())
            if (received.frame == probe) return static_cast<double>(received.at - sent);
        throw std::runtime_error("the probe did not arrive");
    }

    Port port;
};

// A frame is on the wire; control is next, whoever waits.
void test_control(Tap& tap) {
    const std::pair<const char*, std::function<Bytes()>> probes[] = {
        {"SYN", syn}, {"pure ACK", [] { return pure_ack('Z', 5); }}};
    for (const uint16_t flows : {30, 1000}) {
        for (const auto& [name, make] : probes) {
            for (const uint32_t demote : {60'000'000u, 5000u}) {
                Busy busy(flows, 4, demote, 50 * kFrameNs + kFrameNs / 2);
                const double wait = busy.wait_of(make());
                tap.between(fmt::format("{} behind {} flows waits for the frame on the wire, {:.0f} us", name,
                                        flows, wait / 1000),
                            wait, kSmallNs, kFrameNs + kSmallNs + 1000);
            }
        }
    }
}

// One cycle: each of the others has one turn.
void test_new_flow_among_high(Tap& tap) {
    for (const uint16_t flows : {30, 1000}) {
        Busy busy(flows, 4, 60'000'000, 50 * kFrameNs + kFrameNs / 2);
        const double wait = busy.wait_of(data('S', 0));
        tap.between(fmt::format("a new flow behind {} high flows waits one turn of each, {:.1f} ms", flows,
                                wait / 1e6),
                    wait, (flows - 1) * double{kFrameNs}, (flows + 1) * double{kFrameNs} + kFullNs);
    }
}

// They have been backlogged for more than 5 ms: one turn of all of them together.
void test_new_flow_among_low(Tap& tap) {
    for (const uint16_t flows : {30, 1000}) {
        Busy busy(flows, 4, 5000, 50 * kFrameNs + kFrameNs / 2);
        // demotions are bounded a dequeue (16): 1,000 flows take 63 dequeues more
        sleep_ns(flows > 30 ? 70 * kFrameNs : 0);
        tap.is("all are low", busy.port.stats().tier[PFQD_TIER_HIGH].backlog_packets, 0u);
        const double wait = busy.wait_of(data('S', 0));
        tap.between(fmt::format("a new flow behind {} low flows waits for one turn at most, {:.0f} us", flows,
                                wait / 1000),
                    wait, kFullNs, 2 * double{kFrameNs} + kFullNs);
    }
}

// The low tier keeps its one turn a cycle, however many high flows there are.
void test_low_not_starved(Tap& tap) {
    Port port({.pfqd = {.demote = 5000}});
    port.hold();
    for (uint32_t n = 0; n < 60; n++) port.queue(segment_of(0, n));
    sleep_ns(44 * kFrameNs + kFrameNs / 2);  // the middle of a frame: no tie
    tap.is("one flow is low", port.stats().tier[PFQD_TIER_LOW].backlog_packets, 16u);
    // ten flows that come and go, always with something queued, never for long
    const auto is_low = [](const Received& received) { return received.frame == segment_of(0, 59); };
    bool done = false;
    for (uint32_t round = 0; round < 17 && !done; round++) {
        for (uint16_t flow = 0; flow < 10; flow++)
            port.queue(segment_of(static_cast<uint16_t>(100 + round * 10 + flow), round));
        sleep_ns(11 * kFrameNs);
    }
    const std::vector<Received> out = port.drain_frames();
    done = std::any_of(out.begin(), out.end(), is_low);
    tap.ok(done, "its last packet leaves");
    const auto at = std::find_if(out.begin(), out.end(), is_low) - out.begin();
    tap.between("after one turn a cycle", at, 60L + 10 * 14, 60L + 10 * 17 + 1);
}

// An ACK flood at several times the link's rate: data keeps its turn in every cycle.
void test_ack_flood(Tap& tap) {
    constexpr uint32_t kAcks = 20'000, kSegments = 100;
    Port port({.pfqd = {.control = 8}});
    port.hold();
    for (uint32_t i = 0; i < kAcks; i++) port.queue(pure_ack('Z', i));
    const uint64_t start = realtime_ns();
    for (uint32_t n = 0; n < kSegments; n++) port.queue(data('A', n));
    uint64_t last = 0;
    uint32_t acks = 0, acks_before_last = 0;
    for (const Received& received : port.drain_frames()) {
        const std::string text = label(received.frame);
        if (text == "z") acks++;
        if (text == fmt::format("A{}", kSegments - 1)) last = received.at, acks_before_last = acks;
    }
    tap.is("all ACKs arrive too", acks, kAcks);
    tap.is("eight before each segment", acks_before_last, 8 * kSegments);
    const double cycle = 8 * 84 * 8 * 10 + double{kFrameNs};
    tap.between(
        fmt::format("100 segments behind 20,000 ACKs: {:.1f} ms", static_cast<double>(last - start) / 1e6),
        static_cast<double>(last - start), kSegments * cycle, kSegments * cycle + double{kFrameNs} + kFullNs);
}

// And the flood costs another flow's ACK only the allowances before it: control is
// one FIFO, so this is the price that design pays; it is stated, not hidden.
void test_ack_behind_flood(Tap& tap) {
    Port port({.pfqd = {.control = 8}});
    port.hold();
    for (uint32_t i = 0; i < 80; i++) port.queue(pure_ack('Z', i));
    for (uint32_t n = 0; n < 20; n++) port.queue(data('A', n));
    port.queue(pure_ack('B', 9));
    const std::vector<std::string> out = port.drain();
    const auto at = std::find(out.begin(), out.end(), "b") - out.begin();
    tap.is("an ACK behind 80 others waits ten allowances and the turns between them", at, 80L + 10);
}

}  // namespace

int main() {
    return run_tests({{"control", test_control},
                      {"new flow among high", test_new_flow_among_high},
                      {"new flow among low", test_new_flow_among_low},
                      {"low not starved", test_low_not_starved},
                      {"ACK flood", test_ack_flood},
                      {"ACK behind flood", test_ack_behind_flood}});
}
