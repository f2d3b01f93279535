// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
//
// pfqd below every kind of parent. A parent's counts have to equal pfqd's at every
// moment: after drops at enqueue, after a peek, after a change that trims, after
// the child is replaced. A parent that believes a wrong count stalls, or worse.
#include <algorithm>
#include <functional>

#include "selftests/pfqd/parents.hpp"

using namespace pfqd::selftest;
namespace nl = pfqd::nl;

namespace {

constexpr uint32_t kFrame = 1514;  // bytes of a full frame in the qdisc

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
