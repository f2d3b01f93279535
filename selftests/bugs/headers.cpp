// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
//
// Encapsulations and odd headers, beyond those in selftests/pfqd/classify.cpp: what is
// told apart by the inner flow, what by the outer, what only by its addresses, and
// that random bytes behind any ethertype and protocol number are just packets.
#include <algorithm>

#include "lab/common/prng.hpp"
#include "selftests/lib/debug_kernel.hpp"
#include "selftests/pfqd/port.hpp"

using namespace pfqd::selftest;

namespace {

Bytes udp(uint16_t sport, bool ipv6 = false, size_t payload = 100) {
    FrameOptions options;
    options.protocol = IPPROTO_UDP;
    options.ipv6 = ipv6;
    options.sport = sport;
    options.payload = payload;
    return make_frame(options);
}

Bytes without_ethernet(const Bytes& frame) {
    return {frame.begin() + ETH_HLEN, frame.end()};
}

Bytes joined_bytes(Bytes first, const Bytes& second) {
    first.insert(first.end(), second.begin(), second.end());
    return first;
}

// An IP packet of that protocol with those bytes in it.
Bytes ip_with(uint8_t protocol, const Bytes& content, bool ipv6 = false) {
    FrameOptions options;
    options.protocol = protocol;
    options.ipv6 = ipv6;
    options.payload = content.size();
    Bytes frame = make_frame(options);
    std::copy(content.begin(), content.end(), frame.end() - static_cast<std::ptrdiff_t>(content.size()));
    return frame;
}

Bytes ethernet_with(uint16_t type, const Bytes& content) {
    Bytes frame = raw_frame(ETH_HLEN);
    frame.resize(ETH_HLEN);
    frame[12] = static_cast<uint8_t>(type >> 8);
    frame[13] = static_cast<uint8_t>(type);
    return joined_bytes(frame, content);
}

Bytes gre(uint16_t sport) {
    return ip_with(IPPROTO_GRE, joined_bytes({0, 0, 0x08, 0x00}, without_ethernet(udp(sport))));
}
Bytes gre_key(uint16_t sport) {
    return ip_with(IPPROTO_GRE,
                   joined_bytes({0x20, 0, 0x08, 0x00, 0, 0, 0, 7}, without_ethernet(udp(sport))));
}
Bytes gre_ethernet(uint16_t sport) {
    return ip_with(IPPROTO_GRE, joined_bytes({0, 0, 0x65, 0x58}, udp(sport)));
}
Bytes six_in_four(uint16_t sport) {
    return ip_with(IPPROTO_IPV6, without_ethernet(udp(sport, true)));
}
Bytes four_in_six(uint16_t sport) {
    return ip_with(IPPROTO_IPIP, without_ethernet(udp(sport)), true);
}
Bytes esp(uint16_t sequence) {
    return ip_with(IPPROTO_ESP,
                   joined_bytes({0, 0, 1, 1, 0, 0, 0, static_cast<uint8_t>(sequence)}, Bytes(80, 9)));
}
Bytes ah(uint16_t sequence) {
    return ip_with(IPPROTO_AH,
                   joined_bytes({IPPROTO_UDP, 4, 0, 0, 0, 0, 1, 1, 0, 0, 0, static_cast<uint8_t>(sequence)},
                                Bytes(80, 9)));
}
// The outer source port is the inner flow's hash, as tunnels do it.
Bytes vxlan(uint16_t sport) {
    FrameOptions outer;
    outer.protocol = IPPROTO_UDP;
    outer.sport = static_cast<uint16_t>(40'000 + sport);
    outer.dport = 4789;
    const Bytes inside = joined_bytes({8, 0, 0, 0, 0, 0, 5, 0}, udp(sport));
    outer.payload = inside.size();
    Bytes frame = make_frame(outer);
    std::copy(inside.begin(), inside.end(), frame.end() - static_cast<std::ptrdiff_t>(inside.size()));
    return frame;
}
// From one source port: all inner flows are one.
Bytes wireguard(uint16_t sequence) {
    FrameOptions outer;
    outer.protocol = IPPROTO_UDP;
    outer.sport = outer.dport = 51'820;
    outer.payload = 96;
    outer.tag = 0x04000000u + sequence;
    return make_frame(outer);
}
Bytes pppoe(uint16_t sport) {
    const Bytes packet = without_ethernet(udp(sport));
    const auto length = static_cast<uint16_t>(packet.size() + 2);
    return ethernet_with(0x8864, joined_bytes({0x11, 0, 0, 1, static_cast<uint8_t>(length >> 8),
                                               static_cast<uint8_t>(length), 0x00, 0x21},
                                              packet));
}
Bytes mpls(uint16_t sport) {
    return ethernet_with(0x8847, joined_bytes({0, 1, 1, 64}, without_ethernet(udp(sport))));
}
Bytes routing_header(uint16_t sport) {
    Bytes frame = udp(sport, true);
    const uint8_t header[] = {frame[20], 0, 2, 0, 0, 0, 0, 0};
    frame[20] = IPPROTO_ROUTING;
    frame[19] = static_cast<uint8_t>(frame[19] + 8);
    frame.insert(frame.begin() + 54, header, header + sizeof(header));
    return frame;
}

struct Encapsulation {
    const char* name;
    Bytes (*make)(uint16_t number);
    bool inner;  // flows inside are told apart
};

constexpr Encapsulation kEncapsulations[] = {
    {"GRE", gre, true},
    {"GRE with a key", gre_key, true},
    {"Ethernet in GRE", gre_ethernet, true},
    {"IPv6 in IPv4", six_in_four, true},
    {"IPv4 in IPv6", four_in_six, true},
    {"VXLAN", vxlan, true},
    {"PPPoE", pppoe, true},
    {"IPv6 routing header", routing_header, true},
    {"ESP", esp, false},
    {"AH", ah, false},
    {"WireGuard", wireguard, false},
    {"MPLS", mpls, false},
};

uint32_t flows_of(Port& port, const std::vector<Bytes>& frames) {
    port.drain_frames();
    port.hold();
    for (const Bytes& frame : frames) port.queue(frame);
    return port.stats().flows_active;
}

void test_encapsulations(Tap& tap) {
    Port port;
    for (const Encapsulation& one : kEncapsulations) {
        tap.is(fmt::format("{}: one flow is one", one.name), flows_of(port, {one.make(1), one.make(1)}), 1u);
        tap.is(fmt::format("{}: two inner flows are {}", one.name, one.inner ? "two" : "one, by addresses"),
               flows_of(port, {one.make(1), one.make(2), one.make(1)}), one.inner ? 2u : 1u);
        tap.is(fmt::format("{}: none is control", one.name), port.stats().tier[PFQD_TIER_CONTROL].packets,
               0u);
        const std::vector<Received> out = port.drain_frames();
        tap.is(fmt::format("{}: all leave", one.name), out.size(), 4u);
    }
}

// Bug 36: a first fragment has ports to read; its flow is that of the others.
void test_fragments(Tap& tap) {
    Port port;
    std::vector<Bytes> frames;
    for (const uint16_t field : {0x2000, 0x2010, 0x2020, 0x0030}) {
        FrameOptions options;
        options.protocol = IPPROTO_UDP;
        options.fragment = field;
        options.payload = 120;
        options.sport = static_cast<uint16_t>(1000 + field);
        options.tag = field;
        frames.push_back(make_frame(options));
    }
    port.hold();
    // a competitor's packets in between: the fragments take turns as one flow
    for (uint32_t i = 0; i < 4; i++) {
        port.queue(frames[i]);
        port.queue(data('A', i));
    }
    tap.is("one flow, and the competitor", port.stats().flows_active, 2u);
    std::vector<int> fields;
    for (const Received& received : port.drain_frames())
        if (received.frame.size() > 40 && received.frame[12] == 8 && received.frame[23] == IPPROTO_UDP)
            fields.push_back(received.frame[20] << 8 | received.frame[21]);
    tap.ok(fields == std::vector<int>{0x2000, 0x2010, 0x2020, 0x0030}, "fragments stay in order");
}

// Large frames: more than an MTU of 9000 at once, with headers of all sorts.
void test_jumbo(Tap& tap) {
    Port port({.mtu = 65'535});
    port.end().change({.rate = 10'000'000'000});
    port.far_end().change({.mtu = 65'535});
    port.hold();
    for (const size_t payload : {8'900u, 30'000u, 65'000u}) {
        port.queue(data('A', static_cast<uint32_t>(payload), payload));
        port.queue(udp(7, true, payload));
    }
    const PfqdStats stats = port.stats();
    tap.is("six packets", stats.qdisc.qlen, 6u);
    tap.is("of two flows", stats.flows_active, 2u);
    tap.is("all leave", port.drain_frames().size(), 7u);
    check_empty(tap, port.stats());
}

// Bug 38: nothing that is read goes beyond the packet, whatever it claims. KASAN looks.
void test_random(Tap& tap) {
    const unsigned count = debug_kernel() ? 4'000 : 20'000;
    constexpr uint16_t kTypes[] = {0x0800, 0x86dd, 0x8100, 0x88a8, 0x8864, 0x8847, 0x0806, 0x88b5};
    constexpr uint8_t kProtocols[] = {0, 1, 4, 6, 17, 41, 43, 44, 47, 50, 51, 58, 60, 132, 255};
    pfqd::lab::Prng prng(1);
    Port port({.pfqd = {.limit = 1 << 20, .flows = 1000}});
    port.end().change({.rate = 10'000'000'000});
    uint64_t sent = 0;
    for (unsigned i = 0; i < count; i++) {
        Bytes frame(ETH_HLEN + prng.bits() % 120);
        for (uint8_t& byte : frame) byte = static_cast<uint8_t>(prng.bits());
        const uint16_t type = kTypes[prng.bits() % std::size(kTypes)];
        frame[0] = 2;
        frame[12] = static_cast<uint8_t>(type >> 8);
        frame[13] = static_cast<uint8_t>(type);
        const uint8_t protocol = kProtocols[prng.bits() % std::size(kProtocols)];
        if (frame.size() > 34 && prng.bits() % 4) {  // look like IP as far as the protocol
            frame[14] = static_cast<uint8_t>(type == 0x86dd ? 0x60 : 0x45);
            frame[type == 0x86dd ? 20 : 23] = protocol;
            if (type != 0x86dd) frame[20] = frame[21] = 0;
        }
        port.queue(frame);
        sent++;
        if (i % 32 == 31) sleep_ns(2'000);
    }
    port.drain_frames();
    const PfqdStats stats = port.stats();
    tap.is("each was served or dropped at the limit", stats.qdisc.packets + stats.qdisc.drops, sent);
    tap.ok(stats.tier[PFQD_TIER_CONTROL].packets > 0 && stats.tier[PFQD_TIER_HIGH].packets > sent / 4,
           "some were control, many were data");
    check_empty(tap, stats);
}

}  // namespace

int main() {
    return run_tests({{"bug 34 35 f (encapsulations)", test_encapsulations},
                      {"bug 36 f (fragments)", test_fragments},
                      {"bug 54 f (jumbo frames)", test_jumbo},
                      {"bug 38 f (random bytes)", test_random}});
}
