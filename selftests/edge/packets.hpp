// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
//
// Packets that enter, each with a traffic class of choice, and what the edge is to
// make of that class. Written from the design's text, not from the program.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <utility>
#include <vector>

#include "selftests/lib/frame.hpp"

namespace pfqd::selftest {

// The 14 stamps of the design: codes 0 to 5, 7, 8 to 13 and 15, as DSCP.
inline constexpr std::array<uint8_t, 14> kValidStamps = {3,  7,  11, 15, 19, 23, 31,
                                                         35, 39, 43, 47, 51, 55, 63};

inline uint8_t class_after(uint8_t before, bool trust) {
    const auto dscp = static_cast<uint8_t>(before >> 2);
    if (trust && std::find(kValidStamps.begin(), kValidStamps.end(), dscp) != kValidStamps.end())
        return before;
    return static_cast<uint8_t>(63 << 2 | (before & 3));
}

inline Bytes inserted(Bytes frame, size_t offset, const Bytes& bytes) {
    frame.insert(frame.begin() + static_cast<std::ptrdiff_t>(offset), bytes.begin(), bytes.end());
    return frame;
}

// Tags in front of what the frame carries, the outermost first.
inline Bytes tagged(Bytes frame, const std::vector<uint16_t>& types) {
    for (size_t i = types.size(); i-- > 0;)
        frame = inserted(frame, 12,
                         {static_cast<uint8_t>(types[i] >> 8), static_cast<uint8_t>(types[i]),
                          static_cast<uint8_t>(0x20 + i), static_cast<uint8_t>(5 + i)});
    return frame;
}

inline uint32_t header_sum(const Bytes& frame, size_t offset, size_t size) {
    uint32_t sum = 0;
    for (size_t i = offset; i < offset + size; i += 2)
        sum += static_cast<uint32_t>(frame.at(i)) << 8 | frame.at(i + 1);
    while (sum >> 16) sum = (sum & 0xffff) + (sum >> 16);
    return sum;
}

// An IPv4 header with so many words of options, its checksum made anew.
inline Bytes with_ipv4_options(Bytes frame, size_t words) {
    const size_t start = ETH_HLEN, size = 20 + 4 * words;
    frame = inserted(frame, start + 20, Bytes(4 * words, 1));  // no-operation options
    frame[start] = static_cast<uint8_t>(0x40 | (5 + words));
    const size_t length = frame.size() - start;
    frame[start + 2] = static_cast<uint8_t>(length >> 8);
    frame[start + 3] = static_cast<uint8_t>(length);
    frame[start + 10] = frame[start + 11] = 0;
    const uint32_t check = ~header_sum(frame, start, size) & 0xffff;
    frame[start + 10] = static_cast<uint8_t>(check >> 8);
    frame[start + 11] = static_cast<uint8_t>(check);
    return frame;
}

// An IPv6 header followed by one extension header of 8 bytes.
inline Bytes with_extension(Bytes frame, uint8_t type) {
    const size_t start = ETH_HLEN;
    frame = inserted(frame, start + 40, {frame[start + 6], 0, 1, 4, 0, 0, 0, 0});
    frame[start + 6] = type;
    const size_t length = frame.size() - start - 40;
    frame[start + 4] = static_cast<uint8_t>(length >> 8);
    frame[start + 5] = static_cast<uint8_t>(length);
    return frame;
}

struct PacketKind {
    const char* name;
    Bytes (*make)(uint8_t traffic_class);
};

namespace packet {

inline Bytes ip(uint8_t traffic_class, bool ipv6, uint8_t protocol = IPPROTO_TCP, size_t payload = 100,
                uint16_t fragment = 0) {
    FrameOptions options;
    options.ipv6 = ipv6;
    options.dsfield = traffic_class;
    options.protocol = protocol;
    options.payload = payload;
    options.fragment = fragment;
    Bytes frame = make_frame(options);
    // A flow label shares its byte with the traffic class.
    if (ipv6) frame[15] |= 0x0a;
    return frame;
}

inline Bytes v4(uint8_t c) {
    return ip(c, false);
}
inline Bytes v6(uint8_t c) {
    return ip(c, true);
}
inline Bytes v4_udp(uint8_t c) {
    return ip(c, false, IPPROTO_UDP);
}
inline Bytes v6_icmp(uint8_t c) {
    return ip(c, true, IPPROTO_ICMPV6);
}
inline Bytes v4_empty(uint8_t c) {
    return ip(c, false, 255, 0);
}
inline Bytes v6_empty(uint8_t c) {
    return ip(c, true, 59, 0);
}
inline Bytes v4_options(uint8_t c) {
    return with_ipv4_options(v4(c), 2);
}
inline Bytes v4_all_options(uint8_t c) {
    return with_ipv4_options(v4(c), 10);
}
inline Bytes v6_hop_by_hop(uint8_t c) {
    return with_extension(v6(c), IPPROTO_HOPOPTS);
}
inline Bytes v6_fragment(uint8_t c) {
    return with_extension(v6(c), IPPROTO_FRAGMENT);
}
inline Bytes v4_first(uint8_t c) {
    return ip(c, false, IPPROTO_UDP, 80, 0x2000);
}
inline Bytes v4_middle(uint8_t c) {
    return ip(c, false, IPPROTO_UDP, 80, 0x2010);
}
inline Bytes v4_last(uint8_t c) {
    return ip(c, false, IPPROTO_UDP, 80, 0x0020);
}
inline Bytes v4_jumbo(uint8_t c) {
    return ip(c, false, IPPROTO_UDP, 8900);
}
inline Bytes v6_jumbo(uint8_t c) {
    return ip(c, true, IPPROTO_UDP, 8900);
}
inline Bytes v4_vlan(uint8_t c) {
    return tagged(v4(c), {0x8100});
}
inline Bytes v6_vlan(uint8_t c) {
    return tagged(v6(c), {0x8100});
}
inline Bytes v4_qinq(uint8_t c) {
    return tagged(v4(c), {0x88a8, 0x8100});
}
inline Bytes v6_qinq(uint8_t c) {
    return tagged(v6(c), {0x88a8, 0x8100});
}
inline Bytes v4_two_vlans(uint8_t c) {
    return tagged(v4(c), {0x8100, 0x8100});
}
inline Bytes v6_four_tags(uint8_t c) {
    return tagged(v6(c), {0x88a8, 0x88a8, 0x8100, 0x8100});
}

}  // namespace packet

inline constexpr PacketKind kIpPackets[] = {
    {"IPv4", packet::v4},
    {"IPv6", packet::v6},
    {"IPv4 UDP", packet::v4_udp},
    {"ICMPv6", packet::v6_icmp},
    {"IPv4, header only", packet::v4_empty},
    {"IPv6, header only", packet::v6_empty},
    {"IPv4 with options", packet::v4_options},
    {"IPv4 with all options there is room for", packet::v4_all_options},
    {"IPv6 hop-by-hop", packet::v6_hop_by_hop},
    {"IPv6 fragment", packet::v6_fragment},
    {"first IPv4 fragment", packet::v4_first},
    {"middle IPv4 fragment", packet::v4_middle},
    {"last IPv4 fragment", packet::v4_last},
    {"IPv4 jumbo frame", packet::v4_jumbo},
    {"IPv6 jumbo frame", packet::v6_jumbo},
    {"IPv4 in a VLAN", packet::v4_vlan},
    {"IPv6 in a VLAN", packet::v6_vlan},
    {"IPv4 in QinQ", packet::v4_qinq},
    {"IPv6 in QinQ", packet::v6_qinq},
    {"IPv4 in two 802.1Q tags", packet::v4_two_vlans},
    {"IPv6 in four tags", packet::v6_four_tags},
};

}  // namespace pfqd::selftest
