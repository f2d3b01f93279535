// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
//
// The bench of the stamp: two hosts with TCP, and everything that one receives from
// the other, parsed.
//
//   a  [pfqd] wire0 ------------- wire0 [pfqd]  b        10.0.0.0/24, fd00::/64
//
// The kernel pushes segments out while a write is still being copied. hold() makes the
// writing and the sending two steps: without an entry for its neighbour a host queues
// packets until the answer comes, which takes the wire's delay; all that a test wrote
// by then is there when they are stamped.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "selftests/lib/command.hpp"
#include "selftests/lib/inet.hpp"
#include "selftests/lib/tcp_state.hpp"
#include "selftests/pfqd/port.hpp"

namespace pfqd::selftest {

struct Segment {
    uint32_t seq = 0, ack_seq = 0;
    size_t payload = 0;
    uint8_t flags = 0;
    uint8_t dsfield = 0;
    bool ipv6 = false;
    uint16_t sport = 0;
    Received received{};

    uint8_t dscp() const { return dsfield >> 2; }
    uint8_t ecn() const { return dsfield & 3; }
};

// A TCP segment in IPv4 or IPv6 without options or extensions, whose IP header begins
// there; nothing for other frames.
inline std::optional<Segment> tcp_segment(const Received& received, size_t ip = 14) {
    const Bytes& frame = received.frame;
    const auto be16 = [&](size_t at) { return static_cast<uint16_t>(frame.at(at) << 8 | frame.at(at + 1)); };
    const auto be32 = [&](size_t at) { return static_cast<uint32_t>(be16(at)) << 16 | be16(at + 2); };
    if (frame.size() < ip + 40) return std::nullopt;
    const bool ipv6 = frame[ip] >> 4 == 6;
    const size_t tcp = ip + (ipv6 ? 40 : 20);
    if ((!ipv6 && frame[ip] != 0x45) || frame[ip + (ipv6 ? 6 : 9)] != IPPROTO_TCP) return std::nullopt;
    if (frame.size() < tcp + 20) return std::nullopt;
    const size_t l3_size = ipv6 ? 40u + be16(ip + 4) : be16(ip + 2);
    Segment segment;
    segment.ipv6 = ipv6;
    segment.dsfield = ipv6 ? static_cast<uint8_t>(be16(ip) >> 4) : frame[ip + 1];
    segment.sport = be16(tcp);
    segment.seq = be32(tcp + 4);
    segment.ack_seq = be32(tcp + 8);
    segment.flags = frame[tcp + 13];
    segment.payload = ip + l3_size - tcp - (frame[tcp + 12] >> 4) * 4u;
    segment.received = received;
    return segment;
}

inline std::vector<Segment> tcp_segments(const std::vector<Received>& frames, size_t ip = 14) {
    std::vector<Segment> segments;
    for (const Received& received : frames)
        if (auto segment = tcp_segment(received, ip)) segments.push_back(std::move(*segment));
    return segments;
}

inline std::vector<Segment> data_segments(const std::vector<Received>& frames) {
    std::vector<Segment> segments;
    for (Segment& segment : tcp_segments(frames))
        if (segment.payload > 0) segments.push_back(std::move(segment));
    return segments;
}

// The first band whose edge is not below what is left.
inline uint8_t band_of(uint64_t left) {
    constexpr uint64_t edges[] = PFQD_BAND_EDGES;
    uint8_t band = 0;
    while (band < PFQD_BANDS - 1 && left > edges[band]) band++;
    return band;
}

inline uint8_t dscp_of(uint8_t band, uint8_t rtt_class = PFQD_RTT_SHORT) {
    return PFQD_STAMP_DSCP(PFQD_STAMP_CODE(rtt_class, band));
}

struct HostsOptions {
    PfqdOptions pfqd{.stamp = PFQD_SWITCH_ON};
    uint64_t delay = 100'000;         // ns, each way
    uint64_t rate = 100'000'000'000;  // bit/s
    uint32_t mtu = 1500;
    uint32_t gso_max_segs = 1;
};

class Hosts {
  public:
    explicit Hosts(const HostsOptions& options = {})
        : a_netns_(loaded_netns()),
          b_netns_(loaded_netns()),
          ends_(make_wire(a_netns_, end_options(options), b_netns_, end_options(options))) {
        for (const End* end : {&a(), &b()}) {
            const In inside(end->netns());
            const std::string number = end == &a() ? "1" : "2";
            set_sysctl("net/ipv4/tcp_wmem", "4096 16777216 16777216");
            set_sysctl("net/ipv4/tcp_rmem", "4096 16777216 16777216");
            set_sysctl("net/ipv4/tcp_timestamps", "0");
            set_sysctl("net/ipv4/tcp_early_retrans", "0");  // no probes: what is seen is sent once
            for (const char* family : {"ipv4", "ipv6"})
                set_sysctl(std::string("net/") + family + "/neigh/" + end->name() + "/unres_qlen_bytes",
                           "67108864");
            end->add_address("10.0.0." + number);
            must("ip address add fd00::" + number + "/64 dev " + end->name() + " nodad");
            set_qdisc(*end, "pfqd", pfqd_options(options.pfqd));
            end->wait_running();
        }
        at_a_.emplace(a());
        at_b_.emplace(b());
    }

    const End& a() const { return ends_.first; }
    const End& b() const { return ends_.second; }
    std::string b_address(bool ipv6 = false) const { return ipv6 ? "fd00::2" : "10.0.0.2"; }

    std::pair<Fd, Fd> connect(bool ipv6 = false, uint16_t port = 5001) const {
        return tcp_connection(a(), b(), b_address(ipv6), port);
    }

    // What a sends is queued until it has learnt again where b is.
    void hold(bool ipv6 = false) const {
        const In inside(a().netns());
        must("ip neigh del " + b_address(ipv6) + " dev " + a().name());
    }

    std::vector<Received> seen_at_a() { return at_a_->receive_all(kQuiet); }
    std::vector<Received> seen_at_b() { return at_b_->receive_all(kQuiet); }

    PfqdStats stats() const { return pfqd_stats(a()); }

  private:
    static constexpr uint64_t kQuiet = 50'000'000;  // ns: delayed ACKs too

    static nl::Netns loaded_netns() {
        load_module("wire");
        load_module("sch_pfqd");
        nl::Netns netns = nl::Netns::create();
        const In inside(netns);
        for (const char* where : {"all", "default"}) {
            const std::string dir = std::string("net/ipv6/conf/") + where;
            set_sysctl(dir + "/accept_dad", "0");
            set_sysctl(dir + "/router_solicitations", "0");
        }
        return netns;
    }
    static EndOptions end_options(const HostsOptions& options) {
        return {.rate = options.rate,
                .delay = options.delay,
                .ring = 1 << 20,
                .mtu = options.mtu,
                .gso_max_segs = options.gso_max_segs};
    }

    nl::Netns a_netns_, b_netns_;
    std::pair<End, End> ends_;
    std::optional<PacketSocket> at_a_, at_b_;
};

// Sends whole, however long that takes.
inline void send_whole(int fd, size_t bytes) {
    const std::vector<char> message(bytes, 'm');
    const int sent = check(static_cast<int>(send(fd, message.data(), bytes, MSG_NOSIGNAL)), "send");
    if (static_cast<size_t>(sent) != bytes) throw std::runtime_error("the send buffer is too small");
}

inline void read_whole(int fd, size_t bytes) {
    std::vector<char> message(bytes);
    const int got = check(static_cast<int>(recv(fd, message.data(), bytes, MSG_WAITALL)), "recv");
    if (static_cast<size_t>(got) != bytes) throw std::runtime_error("the connection ended early");
}

}  // namespace pfqd::selftest
