// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
//
// Receive moderation: which frames wait, which never do, until when, and in
// which order they go up.
#include <linux/if_ether.h>

#include <cmath>

#include "selftests/lib/frame.hpp"
#include "selftests/lib/kernel.hpp"
#include "selftests/lib/link.hpp"
#include "selftests/lib/packet_socket.hpp"
#include "selftests/lib/tap.hpp"

using namespace pfqd::selftest;
namespace nl = pfqd::nl;

namespace {

constexpr uint64_t kRate = 25'000'000'000;  // bit/s
constexpr uint64_t kDelay = 1000;           // ns
constexpr uint32_t kHold = 8000;            // ns; design.md 4
constexpr uint32_t kMtu = 3000;
constexpr uint64_t kQuiet = 1'000'000;  // ns, longer ago than any moderation
constexpr size_t kFullPayload = kMtu - 40;

double wire_ns(const Bytes& frame) {
    return static_cast<double>(std::max<size_t>(frame.size() + 24, 84)) * 8e9 / static_cast<double>(kRate);
}

struct Link {
    nl::Netns a = quiet_netns(), b = quiet_netns();
    std::pair<End, End> ends;
    const End& right = ends.second;
    PacketSocket sender, receiver;

    explicit Link(uint8_t mode, uint32_t hold = kHold)
        : ends(make_wire(a, {.rate = kRate, .delay = kDelay, .ring = 1 << 20, .mtu = kMtu}, b,
                         {.moderation = hold, .mode = mode, .mtu = kMtu})),
          sender(ends.first),
          receiver(right) {}
};

struct Sent {
    std::vector<uint64_t> arrivals;  // by calculation
    std::vector<uint64_t> delivered;
    bool ordered = true;
};

// A frame that never waits, after a quiet time, then these back to back. Times
// are relative to that first frame's delivery.
Sent send_after_primer(Link& link, const std::vector<Bytes>& frames) {
    sleep_ns(kQuiet);
    const Bytes primer = raw_frame(kMtu + ETH_HLEN);
    const uint64_t start = link.sender.send_timed(primer);
    for (const Bytes& frame : frames) link.sender.send(frame);
    const std::vector<Received> received = link.receiver.receive_all(kQuiet);
    if (received.size() != frames.size() + 1)
        throw std::runtime_error(fmt::format("{} frames arrive, not {}", received.size(), frames.size() + 1));
    Sent sent;
    const uint64_t first = received[0].at;
    double end = wire_ns(primer);
    for (size_t i = 0; i < frames.size(); i++) {
        end += wire_ns(frames[i]);
        // 1e-4: far above a double's error here, far below any fraction of 1/25 ns
        sent.arrivals.push_back(start + static_cast<uint64_t>(std::ceil(end - 1e-4)) + kDelay - first);
        sent.delivered.push_back(received[i + 1].at - first);
        // A tag that the receiving stack put into metadata is not in the bytes.
        const Bytes& got = received[i + 1].frame;
        sent.ordered = sent.ordered && std::equal(got.rbegin(), got.rbegin() + 30, frames[i].rbegin());
    }
    return sent;
}

FrameOptions tcp(uint8_t flags, size_t payload) {
    FrameOptions options;
    options.tcp_flags = flags;
    options.payload = payload;
    return options;
}

void check_kind(Tap& tap, Link& link, const std::string& name, const Bytes& frame, bool waits) {
    const Sent sent = send_after_primer(link, {frame});
    tap.is(name + (waits ? " waits" : " never waits"), sent.delivered[0], waits ? kHold : sent.arrivals[0]);
}

Bytes with_vlan(FrameOptions options) {
    options.vlan = 5;
    return make_frame(options);
}

Bytes of_ipv6(FrameOptions options) {
    options.ipv6 = true;
    return make_frame(options);
}

void test_psh(Tap& tap) {
    Link link(LAB_WIRE_MODERATION_PSH);
    check_kind(tap, link, "full-sized TCP", make_frame(tcp(kAck, kFullPayload)), true);
    check_kind(tap, link, "full-sized TCP with PSH", make_frame(tcp(kAck | kPsh, kFullPayload)), false);
    check_kind(tap, link, "full-sized TCP with FIN", make_frame(tcp(kAck | kFin, kFullPayload)), false);
    check_kind(tap, link, "full-sized TCP with URG", make_frame(tcp(kAck | kUrg, kFullPayload)), false);
    check_kind(tap, link, "TCP a byte short of full", make_frame(tcp(kAck, kFullPayload - 1)), false);
    check_kind(tap, link, "a pure ACK", make_frame(tcp(kAck, 0)), true);
    check_kind(tap, link, "a pure ACK with ECE", make_frame(tcp(kAck | 0x40, 0)), true);
    check_kind(tap, link, "SYN", make_frame(tcp(kSyn, 0)), false);
    check_kind(tap, link, "SYN ACK", make_frame(tcp(kSyn | kAck, 0)), false);
    check_kind(tap, link, "FIN", make_frame(tcp(kFin | kAck, 0)), false);
    check_kind(tap, link, "RST", make_frame(tcp(kRst, 0)), false);

    check_kind(tap, link, "IPv6: full-sized TCP", of_ipv6(tcp(kAck, kFullPayload - 20)), true);
    check_kind(tap, link, "IPv6: full-sized TCP with PSH", of_ipv6(tcp(kAck | kPsh, kFullPayload - 20)),
               false);
    check_kind(tap, link, "IPv6: TCP not full", of_ipv6(tcp(kAck, 1000)), false);
    check_kind(tap, link, "IPv6: a pure ACK", of_ipv6(tcp(kAck, 0)), true);
    check_kind(tap, link, "VLAN: full-sized TCP", with_vlan(tcp(kAck, kFullPayload)), true);
    check_kind(tap, link, "VLAN: a pure ACK", with_vlan(tcp(kAck, 0)), true);
    check_kind(tap, link, "VLAN: TCP with PSH", with_vlan(tcp(kAck | kPsh, kFullPayload)), false);
}

void test_others(Tap& tap) {
    Link link(LAB_WIRE_MODERATION_PSH);
    FrameOptions udp;
    udp.protocol = IPPROTO_UDP;
    udp.payload = kMtu - 28;
    check_kind(tap, link, "full-sized UDP", make_frame(udp), false);
    udp.payload = 0;
    check_kind(tap, link, "empty UDP", make_frame(udp), false);
    FrameOptions icmp;
    icmp.protocol = IPPROTO_ICMP;
    icmp.payload = 8;
    check_kind(tap, link, "ICMP", make_frame(icmp), false);
    check_kind(tap, link, "what is not IP", raw_frame(kMtu + ETH_HLEN), false);
    FrameOptions fragment = tcp(kAck, kFullPayload);
    fragment.fragment = 0x2000;
    check_kind(tap, link, "a TCP fragment", make_frame(fragment), false);
    fragment.fragment = 100;
    check_kind(tap, link, "a later fragment", make_frame(fragment), false);

    // Lengths that contradict each other: the IP length of a full frame, and less behind it.
    Bytes cut = make_frame(tcp(kAck, kFullPayload));
    cut.resize(200);
    check_kind(tap, link, "a frame shorter than its IP length", cut, false);
    Bytes header = make_frame(tcp(kAck, 0));
    header[ETH_HLEN + 20 + 12] = 0xf0;  // a TCP header of 60 bytes in 20
    check_kind(tap, link, "a TCP header longer than its packet", header, false);
    Bytes ihl = make_frame(tcp(kAck, 0));
    ihl[ETH_HLEN] = 0x44;  // an IP header of 16 bytes
    check_kind(tap, link, "an IP header too short", ihl, false);
}

// Held frames go up together with the first one that may not wait, in order.
void test_flush(Tap& tap) {
    Link link(LAB_WIRE_MODERATION_PSH);
    const uint64_t held = link.right.counter(LAB_WIRE_STAT_HELD);
    const uint64_t batches = link.right.counter(LAB_WIRE_STAT_RX_BATCHES);
    std::vector<Bytes> frames;
    for (uint32_t i = 0; i < 3; i++) {
        FrameOptions options = tcp(kAck, kFullPayload);
        options.seq = i;
        frames.push_back(make_frame(options));
    }
    frames.push_back(make_frame(tcp(kAck, 0)));
    frames.push_back(make_frame(tcp(kAck | kPsh, 100)));
    const Sent sent = send_after_primer(link, frames);
    tap.ok(sent.ordered, "in order");
    for (size_t i = 0; i < frames.size(); i++)
        tap.is(fmt::format("frame {} goes up when the one with PSH arrives", i), sent.delivered[i],
               sent.arrivals[4]);
    tap.is("4 frames counted as held", link.right.counter(LAB_WIRE_STAT_HELD) - held, 4u);
    tap.is("4 as flushed", link.right.counter(LAB_WIRE_STAT_FLUSHED), 4u);
    tap.is("2 batches", link.right.counter(LAB_WIRE_STAT_RX_BATCHES) - batches, 2u);
}

// A stream of full frames goes up every 8 us.
void test_stream(Tap& tap) {
    Link link(LAB_WIRE_MODERATION_PSH);
    const std::vector<Bytes> frames(20, make_frame(tcp(kAck, kFullPayload)));
    const Sent sent = send_after_primer(link, frames);
    size_t wrong = 0;
    for (size_t i = 0; i < frames.size(); i++) {
        const uint64_t want = (sent.arrivals[i] + kHold - 1) / kHold * kHold;
        if (sent.delivered[i] != want && wrong++ == 0)
            tap.diag(fmt::format("frame {} goes up at {}, not {}", i, sent.delivered[i], want));
    }
    tap.is("each at the next multiple of 8 us from the first delivery", wrong, 0u);

    sleep_ns(kQuiet);
    const uint64_t start = link.sender.send_timed(frames[0]);
    tap.is("and one that comes after a quiet time at once", link.receiver.receive().value().at - start,
           1973u);
}

void test_all(Tap& tap) {
    Link link(LAB_WIRE_MODERATION_ALL);
    sleep_ns(kQuiet);
    check_kind(tap, link, "full-sized TCP", make_frame(tcp(kAck, kFullPayload)), true);
    check_kind(tap, link, "TCP with PSH", make_frame(tcp(kAck | kPsh, kFullPayload)), true);
    check_kind(tap, link, "SYN", make_frame(tcp(kSyn, 0)), true);
    check_kind(tap, link, "what is not IP", raw_frame(60), true);
}

void test_off(Tap& tap) {
    Link link(LAB_WIRE_MODERATION_OFF);
    check_kind(tap, link, "full-sized TCP", make_frame(tcp(kAck, kFullPayload)), false);
    check_kind(tap, link, "a pure ACK", make_frame(tcp(kAck, 0)), false);
    tap.is("nothing counted as held", link.right.counter(LAB_WIRE_STAT_HELD), 0u);

    Link zero(LAB_WIRE_MODERATION_PSH, 0);
    check_kind(tap, zero, "with 0 ns of moderation a pure ACK", make_frame(tcp(kAck, 0)), false);
}

// One end's moderation is not the other's.
void test_one_way(Tap& tap) {
    Link link(LAB_WIRE_MODERATION_PSH);
    PacketSocket back(link.right), origin(link.ends.first);
    sleep_ns(kQuiet);
    origin.receive_all(0);
    for (int i = 0; i < 2; i++) back.send(make_frame(tcp(kAck, 0)));
    const uint64_t first = origin.receive().value().at, second = origin.receive().value().at;
    tap.ok(second - first < 100, "frames to the other end do not wait");
}

}  // namespace

int main() {
    load_module("wire");
    return run_tests({{"psh", test_psh},
                      {"others", test_others},
                      {"flush", test_flush},
                      {"stream", test_stream},
                      {"all", test_all},
                      {"off", test_off},
                      {"one way", test_one_way}});
}
