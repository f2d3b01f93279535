// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
//
// A wire keeps time to the nanosecond: timers 27 ns apart, serialisation with
// its fraction carried over a thousand frames, delay, no gap between frames
// whether they wait in the ring or, with room for one frame, in the qdisc.
#include <algorithm>

#include "selftests/lib/frame.hpp"
#include "selftests/lib/kernel.hpp"
#include "selftests/lib/link.hpp"
#include "selftests/lib/packet_socket.hpp"
#include "selftests/lib/qdisc.hpp"
#include "selftests/lib/tap.hpp"

using namespace pfqd::selftest;
namespace nl = pfqd::nl;

namespace {

constexpr uint64_t kDelay = 1000;           // ns; design.md 4
constexpr uint64_t kRate = 25'000'000'000;  // bit/s
constexpr size_t kFullFrame = 3014;         // bytes: 3,000 of IP and the Ethernet header
constexpr uint32_t kMtu = 3000;
constexpr uint64_t kBigRing = 64 << 20;  // bytes, more than any burst here

// The first whole nanosecond after that many frames, from the definition alone.
uint64_t serialised(uint64_t frames, size_t size, uint64_t rate) {
    const unsigned __int128 bits = frames * std::max<uint64_t>(size + 24, 84) * 8;
    return static_cast<uint64_t>((bits * 1'000'000'000 + rate - 1) / rate);
}

struct Pair {
    nl::Netns a = quiet_netns(), b = quiet_netns();
    std::pair<End, End> ends;
    const End& left = ends.first;
    const End& right = ends.second;
    PacketSocket sender, receiver;

    explicit Pair(const EndOptions& options)
        : ends(make_wire(a, options, b, {.mtu = options.mtu})), sender(left), receiver(right) {
        set_qdisc(left, "pfifo", fifo_options(100'000));
    }
};

// Sends n equal frames at once; returns when each arrived, relative to the start of the first.
std::vector<uint64_t> burst(Tap& tap, Pair& pair, size_t count, size_t size) {
    const uint64_t start = pair.sender.send_timed(raw_frame(size, 0));
    for (size_t i = 1; i < count; i++) pair.sender.send(raw_frame(size, static_cast<uint32_t>(i)));
    std::vector<uint64_t> arrivals;
    bool ordered = true;
    for (const Received& received : pair.receiver.receive_all()) {
        ordered = ordered && raw_tag(received.frame) == arrivals.size();
        arrivals.push_back(received.at - start);
    }
    tap.is(fmt::format("{} frames of {} B arrive", count, size), arrivals.size(), count);
    tap.ok(ordered, "in order, each once");
    return arrivals;
}

// Every arrival is the exact end of serialisation, rounded up, and the delay.
void check_burst(Tap& tap, const EndOptions& options, size_t count, size_t size) {
    Pair pair(options);
    const std::vector<uint64_t> arrivals = burst(tap, pair, count, size);
    size_t wrong = 0;
    for (size_t i = 0; i < arrivals.size(); i++) {
        const uint64_t want = serialised(i + 1, size, *options.rate) + *options.delay;
        if (arrivals[i] == want) continue;
        if (wrong++ < 3) tap.diag(fmt::format("frame {} arrives at {} ns, not {}", i, arrivals[i], want));
    }
    tap.is(fmt::format("to the nanosecond at {} bit/s, delay {} ns, ring {} B", *options.rate, *options.delay,
                       options.ring.value_or(0)),
           wrong, 0u);
}

void test_timers(Tap& tap) {
    // 84 + 24 bytes at 32 Gbit/s last exactly 27 ns.
    Pair pair({.rate = 32'000'000'000, .delay = kDelay, .ring = kBigRing});
    const std::vector<uint64_t> arrivals = burst(tap, pair, 3, 84);
    tap.is("one wire's events 27 ns apart", arrivals.at(1) - arrivals.at(0), 27u);
    tap.is("and again", arrivals.at(2) - arrivals.at(1), 27u);

    Pair other({.rate = 32'000'000'000, .delay = kDelay + 27, .ring = kBigRing});
    const uint64_t first = pair.sender.send_timed(raw_frame(84));
    const uint64_t second = other.sender.send_timed(raw_frame(84));
    const uint64_t first_arrival = pair.receiver.receive().value().at;
    const uint64_t second_arrival = other.receiver.receive().value().at;
    tap.is("two wires' timers, 27 ns of delay apart", (second_arrival - second) - (first_arrival - first),
           27u);
}

void test_serialisation(Tap& tap) {
    // 3,038 bytes at 25 Gbit/s last 972.16 ns.
    check_burst(tap, {.rate = kRate, .delay = kDelay, .ring = kBigRing, .mtu = kMtu}, 1000, kFullFrame);
    check_burst(tap, {.rate = kRate, .delay = kDelay, .ring = kBigRing, .mtu = kMtu}, 1000, 60);
    check_burst(tap, {.rate = kRate, .delay = kDelay, .ring = kBigRing, .mtu = kMtu}, 100, 61);
    check_burst(tap, {.rate = 10'000'000'000, .delay = 0, .ring = kBigRing, .mtu = kMtu}, 300, 1514);
    check_burst(tap, {.rate = 7'000'000'003, .delay = 2'000'000, .ring = kBigRing, .mtu = kMtu}, 300, 1000);
    check_burst(tap, {.rate = 1'000'000, .delay = 5, .ring = kBigRing, .mtu = kMtu}, 3, 1514);
    check_burst(tap, {.rate = 10'000'000'000'000, .delay = kDelay, .ring = kBigRing, .mtu = kMtu}, 100, 3014);
}

// The frame that the qdisc sends next starts where the last one ended.
void test_one_frame_ring(Tap& tap) {
    check_burst(tap, {.rate = kRate, .delay = kDelay, .ring = 0, .mtu = kMtu}, 1000, kFullFrame);
    check_burst(tap, {.rate = kRate, .delay = kDelay, .ring = 0, .mtu = kMtu}, 1000, 60);

    Pair pair({.rate = 1'000'000, .delay = 0, .ring = 0});
    for (int i = 0; i < 5; i++) pair.sender.send(raw_frame(1000));
    tap.is("of 5 frames sent, 4 wait in the qdisc", qdisc_stats(pair.left).qlen, 4u);
}

void test_store_and_forward(Tap& tap) {
    Pair pair({.rate = kRate, .delay = kDelay, .ring = kBigRing, .mtu = kMtu});
    const uint64_t sent = pair.sender.send_timed(raw_frame(kFullFrame));
    tap.is("alone on the link: serialisation 972.16 ns and the delay",
           pair.receiver.receive().value().at - sent, 1973u);
    sleep_ns(1'000'000);
    const uint64_t again = pair.sender.send_timed(raw_frame(kFullFrame));
    tap.is("the same after idling", pair.receiver.receive().value().at - again, 1973u);
}

void test_rate_change(Tap& tap) {
    Pair pair({.rate = 1'000'000'000, .delay = 0, .ring = kBigRing});
    const uint64_t start = pair.sender.send_timed(raw_frame(1226));  // 10,000 ns
    pair.sender.send(raw_frame(1226));
    pair.left.change({.rate = 10'000'000'000});
    tap.is("the frame on the wire keeps its rate", pair.receiver.receive().value().at - start, 10'000u);
    tap.is("the next has the new one", pair.receiver.receive().value().at - start, 11'000u);
}

void test_delay_change(Tap& tap) {
    Pair pair({.rate = 10'000'000'000, .delay = 1'000'000, .ring = kBigRing});
    pair.sender.send(raw_frame(1226, 1));
    sleep_ns(2000);
    pair.left.change({.delay = 0});
    pair.sender.send(raw_frame(1226, 2));
    const Received first = pair.receiver.receive().value(), second = pair.receiver.receive().value();
    tap.ok(raw_tag(first.frame) == 1 && raw_tag(second.frame) == 2, "a shorter delay overtakes nothing");
    tap.is("the later frame arrives with the earlier", second.at, first.at);
}

}  // namespace

int main() {
    load_module("wire");
    return run_tests({{"timers", test_timers},
                      {"serialisation", test_serialisation},
                      {"one-frame ring", test_one_frame_ring},
                      {"store and forward", test_store_and_forward},
                      {"rate change", test_rate_change},
                      {"delay change", test_delay_change}});
}
