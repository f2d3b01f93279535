// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
//
// How long a message takes on an idle network: the denominator of every slowdown.
//
//   ideal = sum of the links' delays
//         + wire time of all its frames on the slowest link
//         + one serialisation of its first frame on each other link
//
// No window limit, no moderation in it (design.md 4). A frame on the wire is payload,
// the transport's headers and 38 B of Ethernet; a short one is padded.
#pragma once

#include <cstdint>
#include <vector>

#include "lab/common/spec.hpp"

namespace pfqd::lab {

// IEEE 802.3: header 14, FCS 4, preamble 8, inter-packet gap 12.
inline constexpr uint32_t kEthernetBytes = 38;
// Shortest frame 64, preamble 8, inter-packet gap 12.
inline constexpr uint32_t kMinWireBytes = 84;

struct PathLink {
    uint64_t rate_bps;
    uint64_t delay_ns;
};

// What a packet is made of, for any transport.
struct Framing {
    uint32_t mtu;      // bytes: headers and payload of a full packet
    uint32_t headers;  // bytes of network and transport headers in each packet
};

// IPv4 20 and TCP 20, with 12 more for the timestamp option.
inline Framing tcp_framing(uint32_t mtu, bool timestamps) {
    return {mtu, timestamps ? 52U : 40U};
}

class IdealTime {
  public:
    // Throws when a rate, delay or MTU is impossible.
    IdealTime(std::vector<PathLink> path, Framing framing);
    // The lab's fabric: host to ToR to host, TCP.
    static IdealTime of_network(const NetworkSpec& network);

    // Picoseconds, because a byte at 25 Gbit/s lasts 320 of them. Exact where the link
    // rates divide evenly, else less than 1 ps a link too short.
    uint64_t picoseconds(uint64_t bytes) const;

    // 1 is ideal. `at` and `done` in nanoseconds.
    double slowdown(uint64_t at_ns, uint64_t done_ns, uint64_t bytes) const {
        return static_cast<double>(done_ns - at_ns) * 1000 / static_cast<double>(picoseconds(bytes));
    }

  private:
    uint64_t wire_bytes(uint64_t payload) const;

    std::vector<PathLink> path_;
    Framing framing_;
    size_t slowest_ = 0;
    uint64_t delay_ps_ = 0;
};

}  // namespace pfqd::lab
