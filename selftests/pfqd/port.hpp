// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
//
// The bench of pfqd's selftests: one port with pfqd on it, in virtual time.
//
//   sender namespace             receiver namespace
//   [pfqd] wire0 ---------------- wire0
//
// The wire holds one frame and is slow, so a test decides what is queued before
// anything is served: hold() puts a frame of no flow on the wire, queue() sends
// frames that now wait in pfqd (sending takes nanoseconds, a frame 123 us), and
// drain() returns what came out, in order.
#pragma once

#include <linux/pfqd_stamp.h>
#include <linux/pkt_sch_pfqd.h>
#include <linux/rtnetlink.h>
#include <netlink/attr.h>
#include <sys/socket.h>

#include <array>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <vector>

#include "selftests/lib/frame.hpp"
#include "selftests/lib/kernel.hpp"
#include "selftests/lib/link.hpp"
#include "selftests/lib/packet_socket.hpp"
#include "selftests/lib/qdisc.hpp"
#include "selftests/lib/tap.hpp"

namespace pfqd::selftest {

struct PfqdOptions {
    std::optional<uint32_t> limit{}, memlimit{}, flows{}, quantum{}, demote{}, control{};
    std::optional<uint32_t> budget{}, budget_short{}, budget_long{};
    std::optional<uint64_t> rate{};
    std::optional<uint8_t> ecn{}, split_gso{}, completion{}, stamp{};
};

inline QdiscOptions pfqd_options(const PfqdOptions& options) {
    return [options](nl::Message& message) {
        auto nest = message.nest(TCA_OPTIONS);
        if (options.limit) message.put_u32(TCA_PFQD_LIMIT, *options.limit);
        if (options.memlimit) message.put_u32(TCA_PFQD_MEMLIMIT, *options.memlimit);
        if (options.flows) message.put_u32(TCA_PFQD_FLOWS, *options.flows);
        if (options.quantum) message.put_u32(TCA_PFQD_QUANTUM, *options.quantum);
        if (options.demote) message.put_u32(TCA_PFQD_DEMOTE, *options.demote);
        if (options.control) message.put_u32(TCA_PFQD_CONTROL, *options.control);
        if (options.budget) message.put_u32(TCA_PFQD_BUDGET, *options.budget);
        if (options.budget_short) message.put_u32(TCA_PFQD_BUDGET_SHORT, *options.budget_short);
        if (options.budget_long) message.put_u32(TCA_PFQD_BUDGET_LONG, *options.budget_long);
        if (options.rate) message.put(TCA_PFQD_RATE, &*options.rate, sizeof(*options.rate));
        if (options.ecn) message.put_u8(TCA_PFQD_ECN, *options.ecn);
        if (options.split_gso) message.put_u8(TCA_PFQD_SPLIT_GSO, *options.split_gso);
        if (options.completion) message.put_u8(TCA_PFQD_COMPLETION, *options.completion);
        if (options.stamp) message.put_u8(TCA_PFQD_STAMP, *options.stamp);
    };
}

// An attribute of the number in a buffer of attributes, or null.
inline const nlattr* find_in(const std::vector<uint8_t>& attributes, int attr) {
    return nla_find(reinterpret_cast<const nlattr*>(attributes.data()), static_cast<int>(attributes.size()),
                    attr);
}

struct TierStats {
    uint64_t packets = 0, bytes = 0;
    uint32_t backlog_packets = 0, backlog_bytes = 0;
    std::vector<uint64_t> sojourn;
};

struct ClassStats {
    uint64_t packets = 0, bytes = 0, marks = 0, drops = 0;
};

struct PfqdStats {
    QdiscStats qdisc;
    std::array<TierStats, __PFQD_TIER_MAX> tier;
    std::array<TierStats, PFQD_BANDS + 1> band;  // the last one: without a band
    std::array<ClassStats, __PFQD_RTT_MAX> rtt;
    uint64_t stamps, stamp_failures, serves_banded, serves_ordinary;
    uint32_t stamp, stamp_source;
    uint64_t drops_limit, drops_memlimit, demotions, overflow_packets, alloc_failures, cycles;
    uint64_t marks, drops_budget, unmarkable, segmented, rate;
    uint32_t flows_active, flows_allocated, memory, rate_source, completion, completion_source;
};

inline std::vector<uint64_t> sojourn_of(const nlattr* nest) {
    const nlattr* attr = nl::find_nested(nest, TCA_PFQD_TIER_SOJOURN);
    std::vector<uint64_t> sojourn(attr ? static_cast<size_t>(nla_len(attr)) / sizeof(uint64_t) : 0);
    if (attr) std::memcpy(sojourn.data(), nla_data(attr), sojourn.size() * sizeof(uint64_t));
    return sojourn;
}

inline TierStats tier_stats(const nlattr* tier) {
    TierStats stats;
    stats.packets = nl::attr_u64(nl::find_nested(tier, TCA_PFQD_TIER_PACKETS));
    stats.bytes = nl::attr_u64(nl::find_nested(tier, TCA_PFQD_TIER_BYTES));
    stats.backlog_packets = nl::attr_u32(nl::find_nested(tier, TCA_PFQD_TIER_BACKLOG_PACKETS));
    stats.backlog_bytes = nl::attr_u32(nl::find_nested(tier, TCA_PFQD_TIER_BACKLOG_BYTES));
    stats.sojourn = sojourn_of(tier);
    return stats;
}

// Bands have no backlog of their own.
inline TierStats band_stats(const nlattr* band) {
    TierStats stats;
    stats.packets = nl::attr_u64(nl::find_nested(band, TCA_PFQD_TIER_PACKETS));
    stats.bytes = nl::attr_u64(nl::find_nested(band, TCA_PFQD_TIER_BYTES));
    stats.sojourn = sojourn_of(band);
    return stats;
}

inline ClassStats class_stats(const nlattr* rtt) {
    return {nl::attr_u64(nl::find_nested(rtt, TCA_PFQD_CLASS_PACKETS)),
            nl::attr_u64(nl::find_nested(rtt, TCA_PFQD_CLASS_BYTES)),
            nl::attr_u64(nl::find_nested(rtt, TCA_PFQD_CLASS_MARKS)),
            nl::attr_u64(nl::find_nested(rtt, TCA_PFQD_CLASS_DROPS))};
}

inline void read_completion(PfqdStats& stats, const std::vector<uint8_t>& app) {
    const nlattr* bands = find_in(app, TCA_PFQD_STATS_BANDS);
    for (size_t i = 0; i < stats.band.size(); i++)
        stats.band[i] = band_stats(nl::find_nested(bands, static_cast<int>(i) + 1));
    const nlattr* classes = find_in(app, TCA_PFQD_STATS_CLASSES);
    for (size_t i = 0; i < stats.rtt.size(); i++)
        stats.rtt[i] = class_stats(nl::find_nested(classes, static_cast<int>(i) + 1));
    stats.completion = nl::attr_u32(find_in(app, TCA_PFQD_STATS_COMPLETION));
    stats.completion_source = nl::attr_u32(find_in(app, TCA_PFQD_STATS_COMPLETION_SOURCE));
    stats.stamp = nl::attr_u32(find_in(app, TCA_PFQD_STATS_STAMP));
    stats.stamp_source = nl::attr_u32(find_in(app, TCA_PFQD_STATS_STAMP_SOURCE));
    stats.stamps = nl::attr_u64(find_in(app, TCA_PFQD_STATS_STAMPS));
    stats.stamp_failures = nl::attr_u64(find_in(app, TCA_PFQD_STATS_STAMP_FAILURES));
    stats.serves_banded = nl::attr_u64(find_in(app, TCA_PFQD_STATS_SERVES_BANDED));
    stats.serves_ordinary = nl::attr_u64(find_in(app, TCA_PFQD_STATS_SERVES_ORDINARY));
}

inline PfqdStats pfqd_stats(const End& end, uint32_t parent = TC_H_ROOT) {
    PfqdStats stats{};
    stats.qdisc = qdisc_stats(end, parent);
    const std::vector<uint8_t>& app = stats.qdisc.app;
    const nlattr* tiers = find_in(app, TCA_PFQD_STATS_TIERS);
    for (int i = 0; i < __PFQD_TIER_MAX; i++)
        stats.tier[static_cast<size_t>(i)] = tier_stats(nl::find_nested(tiers, i + 1));
    stats.drops_limit = nl::attr_u64(find_in(app, TCA_PFQD_STATS_DROPS_LIMIT));
    stats.drops_memlimit = nl::attr_u64(find_in(app, TCA_PFQD_STATS_DROPS_MEMLIMIT));
    stats.demotions = nl::attr_u64(find_in(app, TCA_PFQD_STATS_DEMOTIONS));
    stats.overflow_packets = nl::attr_u64(find_in(app, TCA_PFQD_STATS_OVERFLOW_PACKETS));
    stats.alloc_failures = nl::attr_u64(find_in(app, TCA_PFQD_STATS_ALLOC_FAILURES));
    stats.cycles = nl::attr_u64(find_in(app, TCA_PFQD_STATS_CYCLES));
    stats.marks = nl::attr_u64(find_in(app, TCA_PFQD_STATS_MARKS));
    stats.drops_budget = nl::attr_u64(find_in(app, TCA_PFQD_STATS_DROPS_BUDGET));
    stats.unmarkable = nl::attr_u64(find_in(app, TCA_PFQD_STATS_UNMARKABLE));
    stats.segmented = nl::attr_u64(find_in(app, TCA_PFQD_STATS_SEGMENTED));
    stats.rate = nl::attr_u64(find_in(app, TCA_PFQD_STATS_RATE));
    stats.rate_source = nl::attr_u32(find_in(app, TCA_PFQD_STATS_RATE_SOURCE));
    read_completion(stats, app);
    stats.flows_active = nl::attr_u32(find_in(app, TCA_PFQD_STATS_FLOWS_ACTIVE));
    stats.flows_allocated = nl::attr_u32(find_in(app, TCA_PFQD_STATS_FLOWS_ALLOCATED));
    stats.memory = nl::attr_u32(find_in(app, TCA_PFQD_STATS_MEMORY));
    return stats;
}

// --- frames -----------------------------------------------------------------

inline constexpr size_t kTcpHeaders = 54;            // bytes: Ethernet, IPv4, TCP
inline constexpr size_t kFull = 1514 - kTcpHeaders;  // payload of a full frame at MTU 1500
inline constexpr uint64_t kFrameNs = 123'040;        // (1514 + 24) * 8 bits at 100 Mbit/s
inline constexpr uint64_t kWireRate = 100'000'000;   // bit/s

// The n-th data segment of a flow. Flows are told apart by a letter.
inline Bytes data(char flow, uint32_t n, size_t payload = kFull) {
    FrameOptions options;
    options.sport = static_cast<uint16_t>(1000 + flow);
    options.payload = payload;
    options.tag = n;
    return make_frame(options);
}

inline Bytes pure_ack(char flow, uint32_t n = 0) {
    FrameOptions options;
    options.sport = static_cast<uint16_t>(1000 + flow);
    options.ack_seq = n;
    return make_frame(options);
}

// "A3": the fourth data segment of flow A. "a": a pure ACK of flow A. "-": others.
inline std::string label(const Bytes& frame) {
    if (frame.size() < kTcpHeaders || frame[12] != 8 || frame[13] != 0 || frame[23] != IPPROTO_TCP)
        return "-";
    const char flow = static_cast<char>((frame[34] << 8 | frame[35]) - 1000);
    const size_t ip_length = static_cast<size_t>(frame[16] << 8 | frame[17]);
    if (ip_length == 40) return std::string(1, static_cast<char>(flow + 'a' - 'A'));
    return flow + std::to_string(frame[54] << 24 | frame[55] << 16 | frame[56] << 8 | frame[57]);
}

inline std::string joined(const std::vector<std::string>& labels, size_t first = 0, size_t count = SIZE_MAX) {
    std::string text;
    for (size_t i = first; i < labels.size() && i - first < count; i++)
        text += (text.empty() ? "" : " ") + labels[i];
    return text;
}

// --- the port ---------------------------------------------------------------

struct PortOptions {
    PfqdOptions pfqd{};
    uint32_t mtu = 1500;
    uint64_t rate = kWireRate;
};

class Port {
  public:
    explicit Port(const PortOptions& options = {})
        : sender_(loaded_netns()),
          receiver_(quiet_netns()),
          ends_(make_wire(sender_, {.rate = options.rate, .delay = 1000, .ring = 0, .mtu = options.mtu},
                          receiver_, {.mtu = options.mtu})),
          out_(ends_.first),
          in_(ends_.second) {
        set_qdisc(end(), "pfqd", pfqd_options(options.pfqd));
    }

    const End& end() const { return ends_.first; }
    const End& far_end() const { return ends_.second; }
    PacketSocket& socket() { return out_; }

    // A frame on the wire: whatever follows waits.
    void hold(size_t size = 1514) { out_.send(raw_frame(size)); }
    void queue(const Bytes& frame) { out_.send(frame); }

    // Data segments first .. first + count - 1 of a flow.
    void queue_data(char flow, uint32_t first, uint32_t count, size_t payload = kFull) {
        for (uint32_t i = first; i < first + count; i++) queue(data(flow, i, payload));
    }

    std::vector<Received> drain_frames() { return in_.receive_all(); }

    // Labels of all frames that come out, in order, without what hold() sent.
    std::vector<std::string> drain() {
        std::vector<std::string> labels;
        for (const Received& received : drain_frames())
            if (std::string text = label(received.frame); text != "-") labels.push_back(text);
        return labels;
    }

    // Sockets keep "the network is down" for their next call: it is taken here.
    void set_up(bool up) {
        end().set_up(up);
        for (const int fd : {out_.fd(), in_.fd()}) {
            int error = 0;
            socklen_t size = sizeof(error);
            check(getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &size), "SO_ERROR");
        }
    }

    PfqdStats stats(uint32_t parent = TC_H_ROOT) const { return pfqd_stats(end(), parent); }

  private:
    static nl::Netns loaded_netns() {
        load_module("wire");
        load_module("sch_pfqd");
        return quiet_netns();
    }

    nl::Netns sender_, receiver_;
    std::pair<End, End> ends_;
    PacketSocket out_, in_;
};

// Nothing is queued and nothing is counted as queued.
inline void check_empty(Tap& tap, const PfqdStats& stats) {
    tap.is("qlen 0", stats.qdisc.qlen, 0u);
    tap.is("backlog 0", stats.qdisc.backlog, 0u);
    tap.is("no memory", stats.memory, 0u);
    tap.is("no active flow", stats.flows_active, 0u);
    for (const TierStats& tier : stats.tier) {
        tap.is("no packet in a tier", tier.backlog_packets, 0u);
        tap.is("no byte in a tier", tier.backlog_bytes, 0u);
    }
}

}  // namespace pfqd::selftest
