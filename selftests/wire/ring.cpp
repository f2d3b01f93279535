// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
//
// The transmit ring: how long a new packet of a higher band waits behind bulk
// that is already the NIC's, and what the stack may not do to the ring.
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

constexpr uint64_t kRate = 25'000'000'000;  // bit/s
constexpr uint64_t kRing = 15'625;          // bytes: 5 us of line rate; design.md 4
constexpr size_t kFullFrame = 3014;         // bytes
constexpr double kFullTime = 972.16;        // ns on the wire
constexpr double kSmallTime = 26.88;        // ns, 60 bytes
constexpr double kDelay = 1000;             // ns
constexpr size_t kSmallFrame = 60;
constexpr uint32_t kHigh = 6, kLow = 1;  // skb->priority, first and last band

struct Bulk {
    nl::Netns a = quiet_netns(), b = quiet_netns();
    std::pair<End, End> ends;
    const End& left = ends.first;
    PacketSocket bulk, urgent, receiver;

    explicit Bulk(uint64_t ring)
        : ends(make_wire(a, {.rate = kRate, .delay = 1000, .ring = ring, .mtu = 3000}, b, {.mtu = 3000})),
          bulk(left),
          urgent(left),
          receiver(ends.second) {
        set_qdisc(left, "prio", prio_options());
        bulk.set_priority(kLow);
        urgent.set_priority(kHigh);
    }
};

struct Waits {
    std::vector<double> ns;  // from the send call to the start of serialisation
    uint64_t start = 0;      // of the bulk
    uint64_t last_bulk = 0;  // arrival
    size_t bulk_frames = 0;
};

// Bulk without end, and now and then an urgent frame.
Waits measure(Bulk& link, size_t count) {
    Waits waits;
    std::vector<uint64_t> asked;
    waits.start = link.bulk.send_timed(raw_frame(kFullFrame, 0));
    for (int i = 0; i < 800; i++) link.bulk.send(raw_frame(kFullFrame, 0));
    for (uint32_t i = 1; i <= count; i++) {
        sleep_ns(20'000 + i * 137);
        asked.push_back(monotonic_ns());
        link.urgent.send(raw_frame(kSmallFrame, i));
    }
    // Arrivals are in real time, send calls in monotonic: one offset, exact.
    timespec real;
    pfqd::check(clock_gettime(CLOCK_REALTIME, &real), "clock_gettime");
    const uint64_t offset = static_cast<uint64_t>(real.tv_sec) * 1'000'000'000 +
                            static_cast<uint64_t>(real.tv_nsec) - monotonic_ns();
    for (const Received& received : link.receiver.receive_all()) {
        const uint32_t tag = raw_tag(received.frame);
        if (tag == 0) {
            waits.last_bulk = received.at;
            waits.bulk_frames++;
            continue;
        }
        const double arrival = static_cast<double>(received.at - offset - asked.at(tag - 1));
        waits.ns.push_back(arrival - kDelay - kSmallTime);
    }
    return waits;
}

void test_host_ring(Tap& tap) {
    Bulk link(kRing);
    const Waits waits = measure(link, 30);
    tap.is("30 urgent frames arrive", waits.ns.size(), 30u);
    const auto [least, most] = std::minmax_element(waits.ns.begin(), waits.ns.end());
    tap.diag(fmt::format("wait {:.0f} to {:.0f} ns", *least, *most));
    // The ring stops when it holds more than 5 us: six full frames, one of them begun.
    tap.between("each waits 5 us less than a frame", *least, 5 * kFullTime - 5, 6 * kFullTime + 5);
    tap.between("and never more than 5 us and a frame", *most, 5 * kFullTime - 5, 6 * kFullTime + 5);
    tap.ok(*most - *least > kFullTime / 2, "the begun frame's remainder varies");
    const double busy = static_cast<double>(waits.last_bulk - waits.start);
    const double sent = static_cast<double>(waits.bulk_frames) * kFullTime + 30 * kSmallTime + kDelay;
    tap.near("and the link never idled", busy, sent, 2);
}

void test_port_ring(Tap& tap) {
    Bulk link(0);
    const Waits waits = measure(link, 30);
    tap.is("30 urgent frames arrive", waits.ns.size(), 30u);
    const auto [least, most] = std::minmax_element(waits.ns.begin(), waits.ns.end());
    tap.diag(fmt::format("wait {:.0f} to {:.0f} ns", *least, *most));
    tap.between("each waits for the begun frame only", *most, 0.0, kFullTime + 5);
    tap.ok(*least < kFullTime / 2, "or the rest of it");
    const double busy = static_cast<double>(waits.last_bulk - waits.start);
    const double sent = static_cast<double>(waits.bulk_frames) * kFullTime + 30 * kSmallTime + kDelay;
    tap.near("and the link never idled", busy, sent, 2);
}

// A larger ring takes effect at once, so does a smaller one.
void test_change(Tap& tap) {
    Bulk link(0);
    link.left.change({.rate = 1'000'000});
    for (int i = 0; i < 40; i++) link.bulk.send(raw_frame(kFullFrame));
    tap.is("one frame in the port", qdisc_stats(link.left).qlen, 39u);
    link.left.change({.ring = 5 * 3038});
    sleep_ns(30'000'000);  // one frame lasts 24.3 ms
    tap.is("after the first frame six are in the ring", qdisc_stats(link.left).qlen, 33u);
    link.left.change({.ring = 0});
    // At 30 ms six frames are in the ring, the last of them ends at 170 ms.
    sleep_ns(5 * 24'304'000);
    tap.is("a smaller ring drains first", qdisc_stats(link.left).qlen, 33u);
    sleep_ns(24'304'000);
    tap.is("and then holds one", qdisc_stats(link.left).qlen, 32u);
}

// A sender that bypasses qdiscs ignores the stopped queue: bounded and counted.
void test_bypass(Tap& tap) {
    Bulk link(0);
    link.left.change({.rate = 1'000'000});
    link.bulk.bypass_qdisc(true);
    for (int i = 0; i < 400; i++) {
        try {
            link.bulk.send(raw_frame(kFullFrame));
        } catch (const std::system_error&) {
        }
    }
    const uint64_t refused = link.left.counter(LAB_WIRE_STAT_REFUSED);
    tap.between("of 400 frames the ring refuses what exceeds 1 MiB", refused, uint64_t{54}, uint64_t{55});
}

}  // namespace

int main() {
    load_module("wire");
    return run_tests({{"host", test_host_ring},
                      {"port", test_port_ring},
                      {"change", test_change},
                      {"bypass", test_bypass}});
}
