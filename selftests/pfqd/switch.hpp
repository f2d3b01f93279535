// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
//
// The bench for traffic that is forwarded: a switch with pfqd on its way out.
//
//   sender namespace          switch namespace             receiver namespace
//   feed ------- fast ------- in  [bridge]  [pfqd] out ---- slow ---- sink
//
// The way in is a thousand times faster than the way out, so what the sender sends
// at once is queued in pfqd before the frame that hold() put on the slow wire has
// left it.
#pragma once

#include "selftests/pfqd/port.hpp"

namespace pfqd::selftest {

struct SwitchOptions {
    PfqdOptions pfqd{};
    uint64_t rate = kWireRate;   // bit/s, of the way out
    uint64_t feed = 0;           // bit/s, of the way in; 0: a thousand times as fast
    uint64_t feed_delay = 1000;  // ns, each way
    uint8_t gro = 0;             // of the way in
    uint32_t moderation_ns = 0;  // of the way in: what arrives within becomes one batch
    bool frames = true;          // packet sockets, which keep a copy of all that they see
    bool routed = false;         // no bridge: IPv4 from 10.1.0.0/24 to 10.2.0.0/24
};

class Switch {
  public:
    explicit Switch(const SwitchOptions& options = {})
        : sender_(loaded_netns()),
          switch_(quiet_netns()),
          receiver_(quiet_netns()),
          feed_ends_(make_wire(sender_, {.rate = feed_rate(options), .delay = options.feed_delay, .ring = 0},
                               switch_, in_options(options))),
          out_ends_(make_wire(switch_, {.name = "out", .rate = options.rate, .delay = 1000, .ring = 0},
                              receiver_, {})),
          bridge_(options.routed ? std::optional<End>()
                                 : make_bridge(switch_, {&feed_ends_.second, &out_ends_.first})) {
        if (options.routed) route();
        if (options.frames) {
            source_.emplace(feed_ends_.first);
            local_.emplace(out_ends_.first);
            sink_.emplace(out_ends_.second);
        }
        set_qdisc(feed_ends_.first, "pfifo", fifo_options(1'000'000));
        set_qdisc(out(), "pfqd", pfqd_options(options.pfqd));
        for (const End* end : {&feed_ends_.first, &feed_ends_.second, &out_ends_.first, &out_ends_.second})
            end->wait_running();
        sleep_ns(1'000'000);  // the bridge's ports forward
    }

    const End& feed() const { return feed_ends_.first; }
    const End& in() const { return feed_ends_.second; }
    const End& out() const { return out_ends_.first; }
    const End& sink() const { return out_ends_.second; }
    PacketSocket& source() { return source_.value(); }  // forwarded
    PacketSocket& local() { return local_.value(); }    // the switch's own

    // Frames on the slow wire, one after the other: whatever follows waits.
    void hold(uint32_t frames = 1) {
        for (uint32_t i = 0; i < frames; i++) local().send(raw_frame(1514));
    }
    // What was sent so far is queued: the fast wire is empty.
    void settle() { sleep_ns(kFrameNs / 2); }

    // What comes out but the frames of hold(): of their type.
    std::vector<Bytes> drain() {
        std::vector<Bytes> frames;
        for (Received& received : sink_.value().receive_all())
            if (!is_hold(received.frame)) frames.push_back(std::move(received.frame));
        return frames;
    }

    PfqdStats stats() const { return pfqd_stats(out()); }

  private:
    static nl::Netns loaded_netns() {
        load_module("wire");
        load_module("sch_pfqd");
        return quiet_netns();
    }
    void route() {
        in().add_address("10.1.0.254");
        out().add_address("10.2.0.254");
        sink().add_address("10.2.0.1");
        In inside(switch_);
        set_sysctl("net/ipv4/ip_forward", "1");
    }
    static uint64_t feed_rate(const SwitchOptions& options) {
        return options.feed ? options.feed : 1000 * options.rate;
    }
    static EndOptions in_options(const SwitchOptions& options) {
        EndOptions in;
        in.name = "in";
        in.delay = options.feed_delay;
        in.rate = feed_rate(options);
        in.gro = options.gro;
        if (options.moderation_ns) {
            in.moderation = options.moderation_ns;
            in.mode = LAB_WIRE_MODERATION_ALL;
        }
        return in;
    }
    static bool is_hold(const Bytes& frame) {
        return frame.size() > 13 && frame[12] == kRawType >> 8 && frame[13] == (kRawType & 0xff);
    }

    nl::Netns sender_, switch_, receiver_;
    std::pair<End, End> feed_ends_, out_ends_;
    std::optional<End> bridge_;
    std::optional<PacketSocket> source_, local_, sink_;
};

}  // namespace pfqd::selftest
