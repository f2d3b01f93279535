// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
//
// Ethernet frames of a test, built field by field, checksums right.
#pragma once

#include <linux/if_ether.h>
#include <netinet/in.h>

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace pfqd::selftest {

using Bytes = std::vector<uint8_t>;

// TCP flags as in the header's byte.
inline constexpr uint8_t kFin = 1, kSyn = 2, kRst = 4, kPsh = 8, kAck = 16, kUrg = 32;

struct FrameOptions {
    std::array<uint8_t, 6> to{2, 0, 0, 0, 0, 2};
    std::array<uint8_t, 6> from{2, 0, 0, 0, 0, 1};
    std::optional<uint16_t> vlan;
    bool ipv6 = false;
    uint8_t protocol = IPPROTO_TCP;  // TCP and UDP get their header, others raw payload
    uint32_t source = 0x0a000001;    // of IPv6 the last 4 bytes, below fd00::
    uint32_t destination = 0x0a000002;
    uint16_t sport = 1000;
    uint16_t dport = 2000;
    uint32_t seq = 1;
    uint32_t ack_seq = 1;
    uint8_t tcp_flags = kAck;
    uint8_t dsfield = 0;
    uint16_t fragment = 0;  // IPv4's flags and offset
    size_t payload = 0;     // bytes after the transport header, a pattern
    uint32_t tag = 0;       // in the payload's first 4 bytes, if there is room
};

Bytes make_frame(const FrameOptions& options);

// A frame of that many bytes (without FCS), of a type that no protocol claims;
// `tag` is in bytes 14 to 17.
Bytes raw_frame(size_t size, uint32_t tag = 0);

inline constexpr uint16_t kRawType = 0x88b5;  // IEEE 802.1 local experimental

// The tag of a frame made by raw_frame().
uint32_t raw_tag(const Bytes& frame);

}  // namespace pfqd::selftest
