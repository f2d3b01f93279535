// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
//
// pfqd below every kind of parent. A parent's counts have to equal pfqd's at every
// moment: after drops at enqueue, after a peek, after a change that trims, after
// the child is replaced. A parent that believes a wrong count stalls, or worse.
#include <linux/pkt_sched.h>

#include <algorithm>
#include <functional>

#include "selftests/pfqd/port.hpp"

using namespace pfqd::selftest;
namespace nl = pfqd::nl;

namespace {

constexpr uint32_t kRoot = 0x10000;    // 1:
constexpr uint32_t kClass = 0x10001;   // 1:1
constexpr uint32_t kMiddle = 0x20000;  // 2:
constexpr uint32_t kMiddleClass = 0x20001;
constexpr uint32_t kLeaf = 0x100000;  // 10:
constexpr uint32_t kFrame = 1514;     // bytes of a full frame in the qdisc

void add_class(const End& end, uint32_t classid, uint32_t parent, const std::string& kind,
               const std::function<void(nl::Message&)>& options) {
    In inside(end.netns());
    nl::Socket socket;
    nl::Message message(RTM_NEWTCLASS, NLM_F_CREATE);
    tcmsg header{};
    header.tcm_ifindex = end.ifindex();
    header.tcm_parent = parent;
    header.tcm_handle = classid;
    message.raw(header);
    message.put_string(TCA_KIND, kind);
    if (options) {
        auto nest = message.nest(TCA_OPTIONS);
        options(message);
    }
    socket.request(message);
}

QdiscOptions nested(const std::function<void(nl::Message&)>& options) {
    return [=](nl::Message& message) {
        auto nest = message.nest(TCA_OPTIONS);
        options(message);
    };
}

// --- the parents: each offers class 1:1 -------------------------------------

// One packet at a time: peeks, then takes.
QdiscOptions tbf_options(uint32_t bytes_per_second) {
    return nested([=](nl::Message& message) {
        tc_tbf_qopt qopt{};
        qopt.rate.rate = bytes_per_second;
        qopt.rate.linklayer = TC_LINKLAYER_ETHERNET;
        message.put(TCA_TBF_PARMS, &qopt, sizeof(qopt));
        message.put_u32(TCA_TBF_BURST, 1600);
    });
}

QdiscOptions red_options() {
    return nested([](nl::Message& message) {
        tc_red_qopt qopt{};
        qopt.limit = 10'000'000;
        qopt.qth_min = 5'000'000;
        qopt.qth_max = 6'000'000;
        qopt.Wlog = 5;
        qopt.Plog = 20;
        qopt.Scell_log = 10;
        const std::array<uint8_t, 256> stab{};
        message.put(TCA_RED_PARMS, &qopt, sizeof(qopt));
        message.put(TCA_RED_STAB, stab.data(), stab.size());
    });
}

void make_tbf(const End& end) {
    set_qdisc(end, "tbf", tbf_options(5'000'000));
}

void make_red(const End& end) {
    set_qdisc(end, "red", red_options());
}

void make_prio(const End& end) {
    set_qdisc(end, "prio", prio_options());
}

void make_drr(const End& end) {
    set_qdisc(end, "drr");
    add_class(end, kClass, kRoot, "drr",
              [](nl::Message& message) { message.put_u32(TCA_DRR_QUANTUM, 1514); });
}

void make_qfq(const End& end) {
    set_qdisc(end, "qfq");
    add_class(end, kClass, kRoot, "qfq", [](nl::Message& message) {
        message.put_u32(TCA_QFQ_WEIGHT, 1);
        message.put_u32(TCA_QFQ_LMAX, 2048);
    });
}

void make_htb(const End& end) {
    set_qdisc(end, "htb", nested([](nl::Message& message) {
                  tc_htb_glob glob{};
                  glob.version = 3;
                  glob.rate2quantum = 10;
                  glob.defcls = 1;
                  message.put(TCA_HTB_INIT, &glob, sizeof(glob));
              }));
    add_class(end, kClass, kRoot, "htb", [](nl::Message& message) {
        tc_htb_opt opt{};
        opt.rate.rate = opt.ceil.rate = 5'000'000;
        opt.rate.linklayer = opt.ceil.linklayer = TC_LINKLAYER_ETHERNET;
        opt.buffer = opt.cbuffer = 100'000;
        opt.quantum = 1514;
        message.put(TCA_HTB_PARMS, &opt, sizeof(opt));
    });
}

void make_hfsc(const End& end) {
    set_qdisc(end, "hfsc", [](nl::Message& message) {
        const tc_hfsc_qopt qopt{.defcls = 1};
        message.put(TCA_OPTIONS, &qopt, sizeof(qopt));
    });
    add_class(end, kClass, kRoot, "hfsc", [](nl::Message& message) {
        const tc_service_curve curve{.m1 = 0, .d = 0, .m2 = 5'000'000};
        message.put(TCA_HFSC_RSC, &curve, sizeof(curve));
        message.put(TCA_HFSC_FSC, &curve, sizeof(curve));
    });
}

void make_ets(const End& end) {
    set_qdisc(end, "ets", nested([](nl::Message& message) {
                  message.put_u8(TCA_ETS_NBANDS, 2);
                  auto quanta = message.nest(TCA_ETS_QUANTA);
                  message.put_u32(TCA_ETS_QUANTA_BAND, 1514);
                  message.put_u32(TCA_ETS_QUANTA_BAND, 1514);
              }));
}

// tbf peeks at red, which asks pfqd: the peeked packet must not be left behind.
void make_tbf_red(const End& end) {
    set_qdisc(end, "tbf", tbf_options(5'000'000));
    set_qdisc(end, "red", red_options(), {kClass, kMiddle});
}

void make_prio_tbf(const End& end) {
    set_qdisc(end, "prio", prio_options());
    set_qdisc(end, "tbf", tbf_options(5'000'000), {kClass, kMiddle});
}

struct Parent {
    const char* name;
    void (*make)(const End& end);
    uint32_t leaf;                // pfqd's parent
    std::vector<uint32_t> above;  // parents of all qdiscs above pfqd
};

const std::vector<Parent>& parents() {
    static const std::vector<Parent> list = {
        {"tbf", make_tbf, kClass, {TC_H_ROOT}},
        {"red", make_red, kClass, {TC_H_ROOT}},
        {"prio", make_prio, kClass, {TC_H_ROOT}},
        {"drr", make_drr, kClass, {TC_H_ROOT}},
        {"qfq", make_qfq, kClass, {TC_H_ROOT}},
        {"htb", make_htb, kClass, {TC_H_ROOT}},
        {"hfsc", make_hfsc, kClass, {TC_H_ROOT}},
        {"ets", make_ets, kClass, {TC_H_ROOT}},
        {"tbf > red", make_tbf_red, kMiddleClass, {TC_H_ROOT, kClass}},
        {"prio > tbf", make_prio_tbf, kMiddleClass, {TC_H_ROOT, kClass}},
        // not qfq > tbf: qfq wants work-conserving children, and the kernel warns
    };
    return list;
}

// A port whose socket sends into class 1:1.
class Tree {
  public:
    Tree(const Parent& parent, const PfqdOptions& options) : parent_(parent) {
        delete_qdisc(port.end());
        parent.make(port.end());
        port.socket().set_priority(kClass);
        set_qdisc(port.end(), "pfqd", pfqd_options(options), {parent.leaf, kLeaf});
    }

    PfqdStats leaf() const { return port.stats(parent_.leaf); }
    void change(const PfqdOptions& options) {
        change_qdisc(port.end(), "pfqd", pfqd_options(options), {parent_.leaf, kLeaf});
    }

    // Two greedy flows, ACKs, and a flow of small packets: 45 packets.
    void load() {
        port.hold();
        for (uint32_t i = 0; i < 15; i++) {
            port.queue(data('A', i));
            port.queue(data('B', i, 700));
            port.queue(pure_ack('C'));
        }
    }

    void check_counts(Tap& tap, const std::string& when) const {
        const PfqdStats stats = leaf();
        for (const uint32_t above : parent_.above) {
            const QdiscStats parent = qdisc_stats(port.end(), above);
            tap.is(fmt::format("{} has as many packets as pfqd {}", parent.kind, when), parent.qlen,
                   stats.qdisc.qlen);
            tap.is(fmt::format("{} has as many bytes as pfqd {}", parent.kind, when), parent.backlog,
                   stats.qdisc.backlog);
        }
    }

    Port port;

  private:
    const Parent& parent_;
};

// Every packet is sent, dropped or queued: nothing is lost in between.
void check_balance(Tap& tap, const Tree& tree, uint64_t sent) {
    const PfqdStats stats = tree.leaf();
    // what a parent has peeked at is counted as served, and as queued
    const uint32_t parked = stats.qdisc.qlen - stats.tier[0].backlog_packets - stats.tier[1].backlog_packets -
                            stats.tier[2].backlog_packets;
    tap.between("at most one packet is parked", parked, 0u, 1u);
    tap.is("sent = served + dropped + queued",
           stats.qdisc.packets - parked + stats.qdisc.drops + stats.qdisc.qlen, sent);
}

void for_each_parent(Tap& tap, const PfqdOptions& options, const std::function<void(Tree&)>& test) {
    for (const Parent& parent : parents()) {
        tap.section(parent.name);
        Tree tree(parent, options);
        test(tree);
    }
}

void test_no_drops(Tap& tap) {
    for_each_parent(tap, {}, [&](Tree& tree) {
        tree.load();
        tree.check_counts(tap, "while queued");
        check_balance(tap, tree, 46);
        tap.is("all 45 arrive", tree.port.drain().size(), 45u);
        tree.check_counts(tap, "when drained");
        check_empty(tap, tree.leaf());
    });
}

void test_drops_at_enqueue(Tap& tap) {
    for_each_parent(tap, {.limit = 5 * kFrame}, [&](Tree& tree) {
        tree.load();
        tap.ok(tree.leaf().drops_limit > 5, "packets were dropped");
        tree.check_counts(tap, "after drops");
        check_balance(tap, tree, 46);
        const size_t left = tree.leaf().qdisc.qlen;
        tap.is("what is left arrives", tree.port.drain().size(), left);
        tree.check_counts(tap, "when drained");
        tree.load();
        tree.check_counts(tap, "when loaded again");
        tap.ok(!tree.port.drain().empty(), "and it still sends");
        check_empty(tap, tree.leaf());
    });
}

// The smallest limit: nearly every enqueue drops, mostly of its own flow.
void test_tiny_limit(Tap& tap) {
    for_each_parent(tap, {.limit = 1, .memlimit = 1, .flows = 1}, [&](Tree& tree) {
        for (int round = 0; round < 3; round++) {
            tree.load();
            tree.check_counts(tap, "after drops");
            tap.between("two or three are left", tree.port.drain().size(), size_t{2}, size_t{3});
            check_empty(tap, tree.leaf());
        }
        check_balance(tap, tree, 3 * 46);
    });
}

void test_change(Tap& tap) {
    for_each_parent(tap, {}, [&](Tree& tree) {
        tree.load();
        tree.change({.limit = 6 * kFrame});
        tree.check_counts(tap, "after a smaller limit");
        tree.change({.memlimit = 1});
        tree.check_counts(tap, "after the smallest memlimit");
        check_balance(tap, tree, 46);
        tap.between("two are left, and one a parent had peeked at", tree.port.drain().size(), size_t{2},
                    size_t{3});
        tree.check_counts(tap, "when drained");
        check_empty(tap, tree.leaf());
    });
}

void test_replace(Tap& tap) {
    for (const Parent& parent : parents()) {
        tap.section(parent.name);
        Tree tree(parent, {});
        tree.load();
        set_qdisc(tree.port.end(), "pfifo", fifo_options(100), {parent.leaf, 0x300000});
        for (const uint32_t above : parent.above) {
            tap.is("replaced with packets in it: parents are empty", qdisc_stats(tree.port.end(), above).qlen,
                   0u);
            tap.is("in bytes too", qdisc_stats(tree.port.end(), above).backlog, 0u);
        }
        tree.load();
        tap.is("the successor works", tree.port.drain().size(), 45u);
        set_qdisc(tree.port.end(), "pfqd", pfqd_options({}), {parent.leaf, kLeaf});
        tree.load();
        tap.is("and pfqd again", tree.port.drain().size(), 45u);
        tree.load();
        delete_qdisc(tree.port.end());
    }
}

// What is peeked at is decided; control that comes later is next, not first.
void test_peek_order(Tap& tap) {
    Tree tree(parents().at(0), {});
    tree.port.hold();
    tree.port.queue(data('A', 0));
    sleep_ns(kFrameNs + 10'000);  // the wire is free, tbf has peeked at A0 and waits for tokens
    tree.port.queue_data('A', 1, 2);
    tree.port.queue(pure_ack('C'));
    const PfqdStats stats = tree.leaf();
    tap.is("four queued, the peeked one too", stats.qdisc.qlen, 4u);
    tap.is("in bytes", stats.qdisc.backlog, 3 * kFrame + 54);
    tap.is("three in pfqd's FIFOs",
           stats.tier[PFQD_TIER_HIGH].backlog_packets + stats.tier[PFQD_TIER_CONTROL].backlog_packets, 3u);
    tap.is("the peeked packet is first", joined(tree.port.drain()), "A0 c A1 A2");
    tap.is("each is counted as sent once", tree.leaf().qdisc.packets, 5u);
}

void test_multiqueue(Tap& tap) {
    nl::Netns left = quiet_netns(), right = quiet_netns();
    const auto ends = make_wire(left, {.rate = kWireRate, .delay = 1000, .ring = 0, .queues = 4}, right, {});
    set_qdisc(ends.first, "mq");
    for (uint32_t queue = 1; queue <= 4; queue++)
        set_qdisc(ends.first, "pfqd", pfqd_options({}), {kRoot + queue, kLeaf * (queue + 1)});
    PacketSocket out(ends.first), in(ends.second);
    for (uint32_t n = 0; n < 50; n++)
        for (const char flow : std::string("ABCDEF")) out.send(data(flow, n));
    size_t count = in.receive_all().size();
    tap.is("below mq all arrive", count, 300u);
    uint64_t packets = 0;
    for (uint32_t queue = 1; queue <= 4; queue++) {
        const PfqdStats stats = pfqd_stats(ends.first, kRoot + queue);
        packets += stats.qdisc.packets;
        tap.is("and nothing stays", stats.qdisc.qlen, 0u);
    }
    tap.is("each through one of the queues", packets, 300u);
}

}  // namespace

int main() {
    return run_tests({{"no drops", test_no_drops},
                      {"drops at enqueue", test_drops_at_enqueue},
                      {"tiny limit", test_tiny_limit},
                      {"change", test_change},
                      {"replace", test_replace},
                      {"peek order", test_peek_order},
                      {"multiqueue", test_multiqueue}});
}
