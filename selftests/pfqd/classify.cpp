// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
//
// What a packet is: control or data, and of which flow. Frames are built byte by
// byte, broken ones too. Control is told by overtaking a backlog, flows by the
// number that are active, and by the order in which two of them leave.
#include <algorithm>
#include <set>

#include "selftests/pfqd/port.hpp"

using namespace pfqd::selftest;

namespace {

FrameOptions tcp(uint8_t flags, size_t payload = 0) {
    FrameOptions options;
    options.tcp_flags = flags;
    options.payload = payload;
    return options;
}

FrameOptions protocol(uint8_t number, size_t payload = 64) {
    FrameOptions options;
    options.protocol = number;
    options.payload = payload;
    return options;
}

FrameOptions over_ipv6(FrameOptions options) {
    options.ipv6 = true;
    return options;
}

FrameOptions tagged(FrameOptions options) {
    options.vlan = 100;
    return options;
}

// An outer tag in front of a frame's own type: QinQ with a tagged frame.
Bytes with_tag(Bytes frame, uint16_t type, uint16_t vlan) {
    const uint8_t tag[4] = {static_cast<uint8_t>(type >> 8), static_cast<uint8_t>(type),
                            static_cast<uint8_t>(vlan >> 8), static_cast<uint8_t>(vlan)};
    frame.insert(frame.begin() + 12, tag, tag + 4);
    return frame;
}

Bytes arp() {
    Bytes frame = raw_frame(60);
    frame[12] = 0x08;
    frame[13] = 0x06;
    return frame;
}

// An IPv6 frame with an extension header of 8 bytes before its payload protocol.
Bytes with_extension(FrameOptions options, uint8_t extension, uint16_t fragment_field = 0) {
    Bytes frame = make_frame(over_ipv6(options));
    const uint8_t header[8] = {
        frame[20], 0, static_cast<uint8_t>(fragment_field >> 8), static_cast<uint8_t>(fragment_field), 0, 0,
        0,         1};
    frame[20] = extension;
    const int length = (frame[18] << 8 | frame[19]) + 8;
    frame[18] = static_cast<uint8_t>(length >> 8);
    frame[19] = static_cast<uint8_t>(length);
    frame.insert(frame.begin() + 54, header, header + 8);
    return frame;
}

Bytes truncated(const FrameOptions& options, size_t size) {
    Bytes frame = make_frame(options);
    frame.resize(size);
    return frame;
}

// Whether the frame went to the control tier.
bool is_control(Port& port, const Bytes& frame) {
    port.drain_frames();
    port.hold();
    const uint32_t before = port.stats().tier[PFQD_TIER_CONTROL].backlog_packets;
    port.queue(frame);
    return port.stats().tier[PFQD_TIER_CONTROL].backlog_packets == before + 1;
}

void control(Tap& tap, Port& port, const std::string& name, const Bytes& frame) {
    tap.ok(is_control(port, frame), name + " is control");
}

void not_control(Tap& tap, Port& port, const std::string& name, const Bytes& frame) {
    tap.ok(!is_control(port, frame), name + " is data");
}

void test_tcp(Tap& tap) {
    Port port;
    control(tap, port, "SYN", make_frame(tcp(kSyn)));
    control(tap, port, "SYN-ACK", make_frame(tcp(kSyn | kAck)));
    control(tap, port, "SYN with data", make_frame(tcp(kSyn, 100)));
    control(tap, port, "pure ACK", make_frame(tcp(kAck)));
    control(tap, port, "pure ACK that asks for echo of CE", make_frame(tcp(kAck | 0x40)));
    not_control(tap, port, "ACK with one byte", make_frame(tcp(kAck, 1)));
    not_control(tap, port, "FIN", make_frame(tcp(kFin | kAck)));
    not_control(tap, port, "RST", make_frame(tcp(kRst)));
    not_control(tap, port, "RST with ACK", make_frame(tcp(kRst | kAck)));
    not_control(tap, port, "SYN with FIN", make_frame(tcp(kSyn | kFin)));
    not_control(tap, port, "SYN with RST", make_frame(tcp(kSyn | kRst)));
    not_control(tap, port, "no flags", make_frame(tcp(0)));
    Bytes padded = make_frame(tcp(kAck));
    padded.resize(60);
    control(tap, port, "pure ACK padded to 60 B", padded);
    Bytes marked = make_frame(tcp(kAck));
    marked[15] |= 3;
    control(tap, port, "pure ACK that is ECN-capable", marked);
}

void test_tcp_ipv6(Tap& tap) {
    Port port;
    control(tap, port, "SYN", make_frame(over_ipv6(tcp(kSyn))));
    control(tap, port, "pure ACK", make_frame(over_ipv6(tcp(kAck))));
    not_control(tap, port, "data", make_frame(over_ipv6(tcp(kAck, 10))));
    not_control(tap, port, "FIN", make_frame(over_ipv6(tcp(kFin | kAck))));
}

void test_other_control(Tap& tap) {
    Port port;
    control(tap, port, "ARP", arp());
    control(tap, port, "ICMP", make_frame(protocol(IPPROTO_ICMP)));
    control(tap, port, "ICMPv6", make_frame(over_ipv6(protocol(IPPROTO_ICMPV6))));
    control(tap, port, "ICMPv6 behind a hop-by-hop header",
            with_extension(protocol(IPPROTO_ICMPV6), IPPROTO_HOPOPTS));
    not_control(tap, port, "ICMPv6 inside IPv4", make_frame(protocol(IPPROTO_ICMPV6)));
    not_control(tap, port, "UDP", make_frame(protocol(IPPROTO_UDP)));
    not_control(tap, port, "SCTP", make_frame(protocol(132)));
    not_control(tap, port, "an unknown ethertype", raw_frame(60));
    port.socket().set_priority(7);  // TC_PRIO_CONTROL
    control(tap, port, "whatever has TC_PRIO_CONTROL", raw_frame(60));
    port.drain_frames();
    port.socket().set_priority(6);
    tap.ok(!is_control(port, raw_frame(60)), "no other priority is control");
}

void test_vlan(Tap& tap) {
    Port port;
    control(tap, port, "tagged ARP", with_tag(arp(), ETH_P_8021Q, 5));
    control(tap, port, "tagged pure ACK", make_frame(tagged(tcp(kAck))));
    control(tap, port, "tagged pure ACK over IPv6", make_frame(tagged(over_ipv6(tcp(kAck)))));
    control(tap, port, "pure ACK in QinQ", with_tag(make_frame(tagged(tcp(kAck))), ETH_P_8021AD, 7));
    not_control(tap, port, "tagged data", make_frame(tagged(tcp(kAck, 100))));
    not_control(tap, port, "data in QinQ", with_tag(make_frame(tagged(tcp(kAck, 100))), ETH_P_8021AD, 7));
}

void test_broken(Tap& tap) {
    Port port;
    not_control(tap, port, "IPv4 header cut off", truncated(tcp(kAck), 24));
    not_control(tap, port, "TCP header cut off", truncated(tcp(kAck), 44));
    not_control(tap, port, "IPv6 header cut off", truncated(over_ipv6(tcp(kAck)), 40));
    not_control(tap, port, "tag cut off", truncated(tagged(tcp(kAck)), 15));
    Bytes frame = make_frame(tcp(kAck));
    frame[14] = 0x44;
    not_control(tap, port, "IPv4 header of 16 B", frame);
    frame = make_frame(tcp(kAck));
    frame[46] = 4 << 4;
    not_control(tap, port, "TCP header of 16 B", frame);
    frame = make_frame(tcp(kAck));
    frame[46] = 15 << 4;
    not_control(tap, port, "TCP header longer than the packet", frame);
    frame = make_frame(tcp(kAck));
    frame[16] = frame[17] = 0;
    not_control(tap, port, "total length 0", frame);
    frame = make_frame(tcp(kAck));
    frame[14] = 0x65;
    not_control(tap, port, "version 6 in an IPv4 frame", frame);
    frame = make_frame(tagged(tcp(kAck)));
    for (int i = 0; i < 20; i++) frame = with_tag(frame, ETH_P_8021Q, 1);
    not_control(tap, port, "twenty tags", frame);
}

// How many flows those frames are.
uint32_t flows_of(Port& port, const std::vector<Bytes>& frames) {
    port.drain_frames();
    port.hold();
    for (const Bytes& frame : frames) port.queue(frame);
    const uint32_t flows = port.stats().flows_active;
    return flows;
}

Bytes udp(const FrameOptions& base, uint32_t source, uint32_t destination, uint16_t sport, uint16_t dport) {
    FrameOptions options = base;
    options.protocol = IPPROTO_UDP;
    options.payload = 100;
    options.source = source;
    options.destination = destination;
    options.sport = sport;
    options.dport = dport;
    return make_frame(options);
}

void check_tuple(Tap& tap, Port& port, const FrameOptions& base) {
    const Bytes first = udp(base, 1, 2, 3, 4);
    tap.is("the same tuple is one flow", flows_of(port, {first, first, first}), 1u);
    tap.is("source address tells flows apart", flows_of(port, {first, udp(base, 9, 2, 3, 4)}), 2u);
    tap.is("destination address does", flows_of(port, {first, udp(base, 1, 9, 3, 4)}), 2u);
    tap.is("source port does", flows_of(port, {first, udp(base, 1, 2, 9, 4)}), 2u);
    tap.is("destination port does", flows_of(port, {first, udp(base, 1, 2, 3, 9)}), 2u);
    FrameOptions options = base;
    options.source = 1;
    options.destination = 2;
    options.sport = 3;
    options.dport = 4;
    options.payload = 100;
    tap.is("the protocol does", flows_of(port, {first, make_frame(options)}), 2u);
    tap.is("directions are two flows", flows_of(port, {first, udp(base, 2, 1, 4, 3)}), 2u);
}

void test_tuples(Tap& tap) {
    Port port;
    tap.section("IPv4");
    check_tuple(tap, port, {});
    tap.section("IPv6");
    check_tuple(tap, port, over_ipv6({}));
    tap.section("tagged");
    check_tuple(tap, port, tagged({}));
    tap.section("families");
    tap.is("IPv4 and IPv6 are two flows",
           flows_of(port, {udp({}, 1, 2, 3, 4), udp(over_ipv6({}), 1, 2, 3, 4)}), 2u);
    tap.is("a TOS does not matter",
           flows_of(port, {udp({}, 1, 2, 3, 4),
                           [] {
                               FrameOptions options;
                               options.dsfield = 0x20;
                               return udp(options, 1, 2, 3, 4);
                           }()}),
           1u);
}

FrameOptions fragment(uint16_t field) {
    FrameOptions options = protocol(IPPROTO_UDP, 200);
    options.fragment = field;
    return options;
}

void test_fragments(Tap& tap) {
    Port port;
    FrameOptions first = fragment(0x2000), second = fragment(0x2019), last = fragment(0x0032);
    second.sport = 7777;  // payload, not a port
    last.sport = 8888;
    tap.is("all fragments of two addresses are one flow",
           flows_of(port, {make_frame(first), make_frame(second), make_frame(last)}), 1u);
    tap.is("another flow than the unfragmented", flows_of(port, {make_frame(first), make_frame(fragment(0))}),
           2u);
    FrameOptions other = first;
    other.destination = 0x0a0000ff;
    tap.is("other addresses, another flow", flows_of(port, {make_frame(first), make_frame(other)}), 2u);
    FrameOptions ack = tcp(kAck);
    ack.fragment = 0x2000;
    not_control(tap, port, "a fragment that looks like a pure ACK", make_frame(ack));

    const Bytes v6_first = with_extension(protocol(IPPROTO_UDP, 200), IPPROTO_FRAGMENT, 1);
    FrameOptions ports = protocol(IPPROTO_UDP, 200);
    ports.sport = 7777;
    const Bytes v6_second = with_extension(ports, IPPROTO_FRAGMENT, 0x100);
    tap.is("IPv6 fragments are one flow", flows_of(port, {v6_first, v6_second}), 1u);
    tap.is("another than the unfragmented",
           flows_of(port, {v6_first, make_frame(over_ipv6(protocol(IPPROTO_UDP, 200)))}), 2u);
}

void test_portless(Tap& tap) {
    Port port;
    FrameOptions one = protocol(89), two = protocol(89);  // OSPF: no ports
    two.payload = 65;
    tap.is("a protocol without ports is told apart by addresses",
           flows_of(port, {make_frame(one), make_frame(two)}), 1u);
    two.source = 0x0a0000fe;
    tap.is("other addresses, another flow", flows_of(port, {make_frame(one), make_frame(two)}), 2u);
    tap.is("another protocol, another flow", flows_of(port, {make_frame(one), make_frame(protocol(88))}), 2u);
    Bytes type = raw_frame(100);
    type[13] ^= 1;
    tap.is("unknown ethertypes are a flow each", flows_of(port, {raw_frame(100), raw_frame(200), type}), 2u);
}

void test_extension_headers(Tap& tap) {
    Port port;
    FrameOptions one = protocol(IPPROTO_UDP), two = protocol(IPPROTO_UDP);
    two.sport = 7777;
    tap.is("ports behind an IPv6 extension header",
           flows_of(port, {with_extension(one, IPPROTO_HOPOPTS), with_extension(two, IPPROTO_HOPOPTS)}), 2u);
    tap.is("the tuple counts, not the way to it",
           flows_of(port, {with_extension(one, IPPROTO_HOPOPTS), make_frame(over_ipv6(one))}), 1u);
}

// GRE and IPIP carry many flows between two addresses: they stay apart.
void test_tunnels(Tap& tap) {
    Port port;
    const auto tunnelled = [](uint16_t sport) {
        FrameOptions inner = protocol(IPPROTO_UDP, 100);
        inner.sport = sport;
        const Bytes inside = make_frame(inner);
        FrameOptions outer = protocol(IPPROTO_IPIP, inside.size() - 14);
        Bytes frame = make_frame(outer);
        std::copy(inside.begin() + 14, inside.end(), frame.begin() + 34);
        return frame;
    };
    tap.is("flows inside IPIP are flows", flows_of(port, {tunnelled(1), tunnelled(2)}), 2u);
    tap.is("one is one", flows_of(port, {tunnelled(1), tunnelled(1)}), 1u);
    Bytes icmp = tunnelled(1);
    icmp[34 + 9] = IPPROTO_ICMP;
    not_control(tap, port, "ICMP inside a tunnel", icmp);
}

// Many tuples that differ by one bit each: nobody shares a FIFO.
void test_no_collision(Tap& tap) {
    Port port({.pfqd = {.quantum = 1 << 20}});
    port.hold();
    constexpr uint32_t kFlows = 3000;
    for (uint32_t i = 0; i < kFlows; i++)
        port.queue(udp({}, 0x0a000001, 0x0a000002, static_cast<uint16_t>(1 + i), 4));
    const PfqdStats stats = port.stats();
    tap.is("as many flows as tuples", stats.flows_active, kFlows);
    tap.is("none shared", stats.overflow_packets, 0u);
    std::set<int> ports;
    for (const Received& received : port.drain_frames())
        if (received.frame.size() > 60 && received.frame[23] == IPPROTO_UDP)
            ports.insert(received.frame[34] << 8 | received.frame[35]);
    tap.is("all came out", ports.size(), kFlows);
    check_empty(tap, port.stats());
}

}  // namespace

int main() {
    return run_tests({{"TCP", test_tcp},
                      {"TCP over IPv6", test_tcp_ipv6},
                      {"other control", test_other_control},
                      {"VLAN", test_vlan},
                      {"broken", test_broken},
                      {"tuples", test_tuples},
                      {"fragments", test_fragments},
                      {"portless", test_portless},
                      {"extension headers", test_extension_headers},
                      {"tunnels", test_tunnels},
                      {"no collision", test_no_collision}});
}
