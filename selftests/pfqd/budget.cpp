// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
//
// The congestion signal, packet by packet: who is marked, who loses what, and
// that everything but the two ECN bits and the checksum over them stays.
#include <linux/if_ether.h>
#include <linux/pfqd_stamp.h>

#include <algorithm>
#include <functional>

#include "selftests/pfqd/switch.hpp"

using namespace pfqd::selftest;

namespace {

constexpr uint32_t kFrame = 1514;       // bytes of a full frame in the qdisc
constexpr uint64_t kRate = 12'500'000;  // bytes/s: 100 Mbit/s
constexpr uint32_t kFrames = 200;       // that a test queues
constexpr uint8_t kEct1 = 1, kEct0 = 2, kCe = 3;
constexpr uint32_t kUsual = 20'000;  // us: 250,000 B

// Budgets that all let pass what is below the floor.
PfqdOptions budgets(uint32_t us) {
    return {.demote = 60'000'000, .budget = us, .budget_short = us, .budget_long = us, .rate = kRate};
}

// How many of `count` equal packets, queued at once, are above their limit when
// they are served, with `flows` of the kind draining side by side.
uint32_t over(uint32_t count, uint64_t budget_us, uint64_t flows = 1) {
    const uint64_t budget = budget_us * kRate / 1'000'000;
    const uint64_t limit = std::max<uint64_t>(PFQD_FLOW_FLOOR, budget / flows);
    const auto allowed = static_cast<uint32_t>(limit / kFrame);
    return count > allowed ? count - allowed : 0;
}

FrameOptions segment(uint32_t n, uint8_t dsfield, char flow = 'A') {
    FrameOptions options;
    options.sport = static_cast<uint16_t>(1000 + flow);
    options.payload = kFull;
    options.dsfield = dsfield;
    options.tag = n;
    return options;
}

// A kind of frame: how it is made, and where its DS field is when it arrives. A
// packet socket shows frames without their outermost tag.
struct Kind {
    const char* name;
    std::function<Bytes(uint32_t n, uint8_t dsfield)> make;
    size_t tags;
    bool ipv6 = false;

    size_t ip() const { return 14 + (tags ? 4 * (tags - 1) : 0); }
    Bytes arriving(uint32_t n, uint8_t dsfield) const {
        Bytes frame = make(n, dsfield);
        if (tags) frame.erase(frame.begin() + 12, frame.begin() + 16);
        return frame;
    }
};

Bytes ipv4(uint32_t n, uint8_t dsfield) {
    return make_frame(segment(n, dsfield));
}

Bytes ipv6(uint32_t n, uint8_t dsfield) {
    FrameOptions options = segment(n, dsfield);
    options.ipv6 = true;
    options.payload -= 20;
    return make_frame(options);
}

// The same with tags before the ethertype.
Bytes tagged(Bytes frame, std::initializer_list<uint16_t> types) {
    Bytes tags;
    for (const uint16_t type : types) {
        tags.push_back(static_cast<uint8_t>(type >> 8));
        tags.push_back(static_cast<uint8_t>(type));
        tags.push_back(0);
        tags.push_back(7);
    }
    frame.resize(frame.size() - tags.size());
    frame.insert(frame.begin() + 12, tags.begin(), tags.end());
    // what was cut off the end: the IP length says so too
    const size_t ip = 14 + tags.size();
    const bool v6 = frame[ip] >> 4 == 6;
    const size_t length = frame.size() - ip - (v6 ? 40 : 0);
    frame[ip + (v6 ? 4 : 2)] = static_cast<uint8_t>(length >> 8);
    frame[ip + (v6 ? 5 : 3)] = static_cast<uint8_t>(length);
    return frame;
}

uint16_t ipv4_checksum(const Bytes& frame, size_t ip) {
    uint32_t sum = 0;
    for (size_t i = ip; i < ip + 20; i += 2)
        if (i != ip + 10) sum += static_cast<uint32_t>(frame[i] << 8 | frame[i + 1]);
    while (sum >> 16) sum = (sum & 0xffff) + (sum >> 16);
    return static_cast<uint16_t>(~sum);
}

void set_ipv4_checksum(Bytes& frame, size_t ip) {
    const uint16_t sum = ipv4_checksum(frame, ip);
    frame[ip + 10] = static_cast<uint8_t>(sum >> 8);
    frame[ip + 11] = static_cast<uint8_t>(sum);
}

Bytes tagged_ipv4(uint32_t n, uint8_t dsfield, std::initializer_list<uint16_t> types) {
    Bytes frame = tagged(ipv4(n, dsfield), types);
    set_ipv4_checksum(frame, 14 + 4 * types.size());
    return frame;
}

Bytes fragment(uint32_t n, uint8_t dsfield) {
    FrameOptions options = segment(n, dsfield);
    options.fragment = 0x2000 | 185;  // more fragments, an offset
    return make_frame(options);
}

// UDP to VXLAN's port: the outer header is what counts.
Bytes vxlan(uint32_t n, uint8_t dsfield) {
    FrameOptions options = segment(n, dsfield);
    options.protocol = IPPROTO_UDP;
    options.dport = 4789;
    options.payload = 1514 - 42;
    return make_frame(options);
}

const std::vector<Kind>& markable() {
    static const std::vector<Kind> kinds = {
        {"IPv4", ipv4, 0},
        {"IPv6", ipv6, 0, true},
        {"VLAN IPv4", [](uint32_t n, uint8_t ds) { return tagged_ipv4(n, ds, {0x8100}); }, 1},
        {"VLAN IPv6", [](uint32_t n, uint8_t ds) { return tagged(ipv6(n, ds), {0x8100}); }, 1, true},
        {"QinQ IPv4",
         [](uint32_t n, uint8_t ds) {
             return tagged_ipv4(n, ds, {0x88a8, 0x8100});
         },
         2},
        {"QinQ IPv6",
         [](uint32_t n, uint8_t ds) {
             return tagged(ipv6(n, ds), {0x88a8, 0x8100});
         },
         2, true},
        {"three tags",
         [](uint32_t n, uint8_t ds) {
             return tagged_ipv4(n, ds, {0x88a8, 0x8100, 0x8100});
         },
         3},
        {"fragments", fragment, 0},
        {"a tunnel's outer header", vxlan, 0},
    };
    return kinds;
}

uint8_t dsfield_of(const Bytes& frame, const Kind& kind) {
    if (!kind.ipv6) return frame.at(kind.ip() + 1);
    return static_cast<uint8_t>(frame.at(kind.ip()) << 4 | frame.at(kind.ip() + 1) >> 4);
}

Bytes with_dsfield(Bytes frame, const Kind& kind, uint8_t dsfield) {
    if (kind.ipv6) {
        frame[kind.ip()] = static_cast<uint8_t>((frame[kind.ip()] & 0xf0) | dsfield >> 4);
        frame[kind.ip() + 1] = static_cast<uint8_t>((frame[kind.ip() + 1] & 0x0f) | dsfield << 4);
    } else {
        frame[kind.ip() + 1] = dsfield;
        set_ipv4_checksum(frame, kind.ip());
    }
    return frame;
}

void queue_frames(Switch& bench, uint32_t count, const std::function<Bytes(uint32_t)>& make) {
    bench.hold();
    for (uint32_t n = 0; n < count; n++) bench.source().send(make(n));
    bench.settle();
}

// --- marks ------------------------------------------------------------------

// Every markable kind, both ECT codepoints, with a DSCP that has to stay.
void test_marks(Tap& tap) {
    constexpr uint8_t kDscp = 0x2e << 2;
    for (const Kind& kind : markable()) {
        for (const uint8_t ect : {kEct0, kEct1}) {
            tap.section(fmt::format("{} ECT({})", kind.name, ect & 1));
            Switch bench({.pfqd = budgets(kUsual)});
            queue_frames(bench, kFrames, [&](uint32_t n) { return kind.make(n, kDscp | ect); });
            tap.is("all are queued", bench.stats().qdisc.qlen, kFrames);
            const std::vector<Bytes> out = bench.drain();
            if (!tap.is("nothing is lost", out.size(), size_t{kFrames})) continue;
            uint32_t marks = 0, wrong = 0;
            for (uint32_t n = 0; n < kFrames; n++) {
                const bool marked = (dsfield_of(out[n], kind) & 3) == kCe;
                marks += marked;
                const uint8_t expected = n < over(kFrames, kUsual) ? kDscp | kCe : kDscp | ect;
                wrong += out[n] != with_dsfield(kind.arriving(n, kDscp | ect), kind, expected);
            }
            tap.is("the oldest are marked, as many as were above the limit", marks, over(kFrames, kUsual));
            tap.is("and nothing else is touched, checksums fit", wrong, 0u);
            tap.is("counted", bench.stats().marks, uint64_t{marks});
            tap.is("nothing dropped", bench.stats().qdisc.drops, 0u);
            check_empty(tap, bench.stats());
        }
    }
}

// bug 40 (fq counts marks that it did not set): CE already, so nothing to count.
void test_marked_before(Tap& tap) {
    Switch bench({.pfqd = budgets(kUsual)});
    queue_frames(bench, kFrames, [](uint32_t n) { return make_frame(segment(n, kCe)); });
    tap.is("what was marked before passes", bench.drain().size(), size_t{kFrames});
    tap.is("and is not counted as ours", bench.stats().marks, 0u);
    tap.is("nor dropped", bench.stats().qdisc.drops, 0u);
}

void test_floor(Tap& tap) {
    Switch bench({.pfqd = budgets(1)});
    constexpr uint32_t kBelow = PFQD_FLOW_FLOOR / kFrame;
    queue_frames(bench, kBelow, [](uint32_t n) { return make_frame(segment(n, kEct0)); });
    bench.drain();
    tap.is("64 KB are never too much", bench.stats().marks, 0u);
    queue_frames(bench, kBelow + 1, [](uint32_t n) { return make_frame(segment(n, kEct0)); });
    bench.drain();
    tap.is("one more is", bench.stats().marks, 1u);
}

// budget * rate / flows: two flows have half of it each.
void test_shared(Tap& tap) {
    Switch bench({.pfqd = budgets(kUsual)});
    bench.hold();
    constexpr uint32_t kEach = 120;
    for (uint32_t n = 0; n < kEach; n++)
        for (const char flow : {'A', 'B'}) bench.source().send(make_frame(segment(n, kEct0, flow)));
    bench.settle();
    tap.is("two flows", bench.stats().flows_active, 2u);
    bench.drain();
    // B's turn comes when A has one packet less: its own count decides, so they are alike
    tap.is("each is held to a half", bench.stats().marks, 2u * over(kEach, kUsual, 2));
    tap.is("alone it would have been none", over(kEach, kUsual, 1), 0u);
}

void test_rate_counts(Tap& tap) {
    PfqdOptions options = budgets(kUsual);
    options.rate = 2 * kRate;
    Switch bench({.pfqd = options});
    queue_frames(bench, 2 * kFrames, [](uint32_t n) { return make_frame(segment(n, kEct0)); });
    bench.drain();
    tap.is("twice the rate, twice the bytes", bench.stats().marks, over(2 * kFrames, 2 * kUsual));
}

// --- drops ------------------------------------------------------------------

std::vector<uint32_t> tags_of(const std::vector<Bytes>& frames, size_t at = kTcpHeaders) {
    std::vector<uint32_t> tags;
    for (const Bytes& frame : frames)
        tags.push_back(static_cast<uint32_t>(frame.at(at) << 24 | frame.at(at + 1) << 16 |
                                             frame.at(at + 2) << 8 | frame.at(at + 3)));
    return tags;
}

// At most 64 drops a dequeue: the first two serve one packet each after them.
std::vector<uint32_t> left_of(uint32_t count, uint32_t allowed) {
    constexpr uint32_t kDropsMax = 64;
    std::vector<uint32_t> left;
    uint32_t next = 0;
    while (next < count) {
        const uint32_t queued = count - next;
        if (queued > allowed) next += std::min(queued - allowed, kDropsMax);
        left.push_back(next++);
    }
    return left;
}

void check_oldest_lost(Tap& tap, const PfqdOptions& options, uint8_t dsfield) {
    Switch bench({.pfqd = options});
    queue_frames(bench, kFrames, [&](uint32_t n) { return make_frame(segment(n, dsfield)); });
    const std::vector<uint32_t> expected = left_of(kFrames, kFrames - over(kFrames, kUsual));
    tap.ok(tags_of(bench.drain()) == expected, "the oldest are lost, the newest arrive in order");
    const PfqdStats stats = bench.stats();
    tap.is("counted as the budget's", stats.drops_budget, uint64_t{kFrames - expected.size()});
    tap.is("and as the qdisc's", stats.qdisc.drops, uint64_t{kFrames - expected.size()});
    tap.is("all of them could have been marked", stats.unmarkable, 0u);
    tap.is("none was", stats.marks, 0u);
    check_empty(tap, stats);
}

void test_drops_oldest(Tap& tap) {
    check_oldest_lost(tap, budgets(kUsual), 0);
}

void test_ecn_off(Tap& tap) {
    PfqdOptions options = budgets(kUsual);
    options.ecn = 0;
    check_oldest_lost(tap, options, kEct0);
}

// bugs 23 and 16: a limit that shrinks under a long queue drops a bounded number a dequeue.
void test_bounded_drops(Tap& tap) {
    PfqdOptions options = budgets(1'000'000);
    options.limit = 100'000'000;
    options.memlimit = 500'000'000;
    Switch bench({.pfqd = options, .feed = 1'000'000'000'000});
    constexpr uint32_t kMany = 3000;
    queue_frames(bench, kMany, [](uint32_t n) { return make_frame(segment(n, 0)); });
    tap.is("within the budget nothing is lost", bench.stats().qdisc.drops, 0u);
    change_qdisc(bench.out(), "pfqd", pfqd_options({.budget = 1}));
    const std::vector<uint32_t> left = tags_of(bench.drain());
    tap.ok(left == left_of(kMany, PFQD_FLOW_FLOOR / kFrame), "64 a dequeue, until the limit holds");
    check_empty(tap, bench.stats());
}

// bugs 35 and 30: no IP header to mark, so it loses its oldest, and that is counted.
void test_unmarkable(Tap& tap) {
    const auto pppoe = [](uint32_t n) {
        Bytes frame = make_frame(segment(n, kEct0));
        const size_t length = frame.size() - 14 + 2 - 8;
        frame.resize(frame.size() - 8);
        const Bytes header = {
            0x88, 0x64, 0x11, 0, 0, 1, static_cast<uint8_t>(length >> 8), static_cast<uint8_t>(length),
            0,    0x21};
        frame.erase(frame.begin() + 12, frame.begin() + 14);
        frame.insert(frame.begin() + 12, header.begin(), header.end());
        return frame;
    };
    const auto mpls = [](uint32_t n) {
        Bytes frame = make_frame(segment(n, kEct0));
        frame.resize(frame.size() - 4);
        const Bytes header = {0x88, 0x47, 0, 0x01, 0x01, 64};
        frame.erase(frame.begin() + 12, frame.begin() + 14);
        frame.insert(frame.begin() + 12, header.begin(), header.end());
        return frame;
    };
    const auto odd_type = [](uint32_t n) {
        Bytes frame = make_frame(segment(n, kEct0));
        frame[12] = 0x88, frame[13] = 0xb6;
        return frame;
    };
    const auto wrong_version = [](uint32_t n) {
        Bytes frame = make_frame(segment(n, kEct0));
        frame[14] = 0x75;
        return frame;
    };
    const std::pair<const char*, std::function<Bytes(uint32_t)>> kinds[] = {
        {"PPPoE", pppoe}, {"MPLS", mpls}, {"unknown type", odd_type}, {"IP version 7", wrong_version}};
    for (const auto& [name, make] : kinds) {
        tap.section(name);
        Switch bench({.pfqd = budgets(kUsual)});
        queue_frames(bench, kFrames, make);
        const size_t expected = left_of(kFrames, kFrames - over(kFrames, kUsual)).size();
        const std::vector<Bytes> out = bench.drain();
        tap.is("as many are left as fit", out.size(), expected);
        tap.ok(!out.empty() && out.back() == make(kFrames - 1), "the newest among them, as it was");
        tap.is("counted as unmarkable", bench.stats().unmarkable, uint64_t{kFrames - expected});
        tap.is("and as the budget's", bench.stats().drops_budget, uint64_t{kFrames - expected});
        tap.is("nothing is marked", bench.stats().marks, 0u);
    }
}

// --- who is spared ------------------------------------------------------------

// Bug 64: routed traffic has lost its socket and its mark on the way, not where it is from.
void test_routed(Tap& tap) {
    for (const uint8_t ecn : {kEct0, uint8_t{0}}) {
        Switch bench({.pfqd = budgets(kUsual), .routed = true});
        const auto routed = [&](uint32_t n) {
            FrameOptions options = segment(n, ecn);
            const std::vector<uint8_t> mac = bench.in().address();
            std::copy(mac.begin(), mac.end(), options.to.begin());
            options.source = 0x0a010001;
            options.destination = 0x0a020001;
            return make_frame(options);
        };
        bench.source().send(routed(0));  // the router learns its neighbour
        sleep_ns(10'000'000);
        const PfqdStats before = bench.stats();
        queue_frames(bench, kFrames, routed);
        bench.drain();
        const uint64_t expected =
            ecn ? over(kFrames, kUsual) : kFrames - left_of(kFrames, kFrames - over(kFrames, kUsual)).size();
        const PfqdStats stats = bench.stats();
        tap.is("routed traffic is marked, or loses its oldest", ecn ? stats.marks : stats.drops_budget,
               expected);
        tap.is("and all else leaves", stats.qdisc.packets - before.qdisc.packets,
               kFrames + 1 - (ecn ? 0 : expected));
    }
}

void test_own_traffic(Tap& tap) {
    for (const uint8_t dsfield : {kEct0, uint8_t{0}}) {
        Switch bench({.pfqd = budgets(1)});
        bench.hold();
        for (uint32_t n = 0; n < kFrames; n++) bench.local().send(make_frame(segment(n, dsfield)));
        const std::vector<Bytes> out = bench.drain();
        tap.is("what the host sent itself all leaves", out.size(), size_t{kFrames});
        tap.ok(
            std::all_of(out.begin(), out.end(), [&](const Bytes& frame) { return frame.at(15) == dsfield; }),
            "as it was");
        tap.is("no mark", bench.stats().marks, 0u);
        tap.is("no drop", bench.stats().qdisc.drops, 0u);
    }
}

// Bug 9 of the facts (section 0): with some congestion controls ACKs are ECT.
void test_control(Tap& tap) {
    Switch bench({.pfqd = budgets(1)});
    constexpr uint32_t kAcks = 2000;  // 108 KB
    bench.hold(3);
    for (uint32_t n = 0; n < kAcks; n++) {
        FrameOptions ack;
        ack.dsfield = kEct0;
        ack.ack_seq = n;
        bench.source().send(make_frame(ack));
    }
    bench.settle();
    tap.is("control is queued", bench.stats().tier[PFQD_TIER_CONTROL].backlog_packets, kAcks);
    tap.is("and all of it leaves", bench.drain().size(), size_t{kAcks});
    tap.is("unmarked", bench.stats().marks, 0u);
    tap.is("not dropped", bench.stats().qdisc.drops, 0u);
}

// --- RTT classes ----------------------------------------------------------------

constexpr uint8_t stamped(unsigned code) {
    return static_cast<uint8_t>((code << PFQD_STAMP_DSCP_SHIFT | PFQD_STAMP_POOL) << 2);
}

uint64_t marks_with(const PfqdOptions& options, uint8_t dscp) {
    Switch bench({.pfqd = options});
    queue_frames(bench, kFrames, [&](uint32_t n) { return make_frame(segment(n, dscp | kEct0)); });
    bench.drain();
    return bench.stats().marks;
}

void test_classes(Tap& tap) {
    PfqdOptions options = budgets(12'000);
    options.budget_short = 5'000;
    options.budget_long = kUsual;
    options.completion = PFQD_SWITCH_ON;
    for (unsigned code = 0; code < 16; code++) {
        const unsigned band = code & 7;
        const uint32_t budget = band == 6 ? 12'000 : code >> 3 ? kUsual : 5'000;
        tap.is(fmt::format("code {}: {} us", code, budget), marks_with(options, stamped(code)),
               uint64_t{over(kFrames, budget)});
    }
    tap.is("no stamp", marks_with(options, 0), uint64_t{over(kFrames, 12'000)});
    tap.is("another pool", marks_with(options, stamped(15) & ~4), uint64_t{over(kFrames, 12'000)});
    options.completion = PFQD_SWITCH_OFF;
    for (const unsigned code : {0u, 7u, 15u})
        tap.is(fmt::format("code {} where stamps are not read", code), marks_with(options, stamped(code)),
               uint64_t{over(kFrames, 12'000)});
}

}  // namespace

int main() {
    return run_tests({{"marks", test_marks},
                      {"marked before", test_marked_before},
                      {"floor", test_floor},
                      {"shared", test_shared},
                      {"rate counts", test_rate_counts},
                      {"drops oldest", test_drops_oldest},
                      {"ecn off", test_ecn_off},
                      {"bounded drops", test_bounded_drops},
                      {"unmarkable", test_unmarkable},
                      {"routed", test_routed},
                      {"own traffic", test_own_traffic},
                      {"control", test_control},
                      {"classes", test_classes}});
}
