// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
//
// Counts that a parent relies on, at the moments at which other qdiscs got them wrong:
// packets lost inside a peek, a change while one is peeked at, the last packet lost, a
// packet refused whose flow lost another one. selftests/pfqd/parents.cpp has the
// everyday of it; here are the constructions of the reports.
//
// A forwarded flow above its budget loses from its head when the parent comes for a
// packet, so drops happen at dequeue, also inside a peek. The bench for that is a switch
// whose way out has a parent qdisc above pfqd.
#include <linux/bpf.h>

#include <functional>

#include "selftests/bugs/trees.hpp"
#include "selftests/lib/bpf.hpp"
#include "selftests/pfqd/switch.hpp"

using namespace pfqd::selftest;
namespace nl = pfqd::nl;

namespace {

constexpr uint32_t kFrame = 1514;  // bytes of a full frame in the qdisc

// A switch with pfqd below a parent: every forwarded packet goes to class 1:1.
class SwitchTree {
  public:
    SwitchTree(const Parent& parent, const PfqdOptions& options) : parent_(parent), to_class_(0) {
        delete_qdisc(bench.out());
        parent.make(bench.out());
        set_qdisc(bench.out(), "pfqd", pfqd_options(options), {parent.leaf, kLeaf});
        bench.local().set_priority(kClass);
        to_class_.set_field(offsetof(__sk_buff, priority), kClass);
        to_class_.attach(bench.in(), false);
    }

    PfqdStats leaf() const { return pfqd_stats(bench.out(), parent_.leaf); }
    void change(const PfqdOptions& options) {
        change_qdisc(bench.out(), "pfqd", pfqd_options(options), {parent_.leaf, kLeaf});
    }

    // A forwarded flow that is above its budget: 100 full frames, not ECN-capable.
    void overload() {
        bench.hold(2);
        for (uint32_t i = 0; i < 100; i++) bench.source().send(data('A', i));
        bench.settle();
    }

    void check_counts(Tap& tap, const std::string& when) const {
        const PfqdStats stats = leaf();
        for (const uint32_t above : parent_.above) {
            const QdiscStats upper = qdisc_stats(bench.out(), above);
            tap.ok(upper.qlen == stats.qdisc.qlen && upper.backlog == stats.qdisc.backlog,
                   fmt::format("{} counts what pfqd has {}", upper.kind, when));
        }
    }

    Switch bench;

  private:
    const Parent& parent_;
    BpfClassifier to_class_;
};

// Lost at dequeue, also inside the peeks of tbf, qfq, hfsc, red below tbf.
void test_drops_in_peek(Tap& tap) {
    for (const Parent& parent : parents()) {
        tap.section(parent.name);
        SwitchTree tree(parent, {.budget = 1});
        tree.overload();
        tree.check_counts(tap, "while queued");
        for (int i = 0; i < 6; i++) {
            sleep_ns(3 * kFrameNs + 1000);
            tree.check_counts(tap, "while it drains");
        }
        tap.ok(tree.leaf().drops_budget > 0, "packets were lost at dequeue");
        const size_t arrived = tree.bench.drain().size();
        const PfqdStats stats = tree.leaf();
        tap.is("each packet arrived or was lost", arrived + stats.drops_budget + stats.drops_limit, 100u);
        tree.check_counts(tap, "when drained");
        check_empty(tap, stats);
        // A parent that believes a wrong count does not come again.
        tree.bench.source().send(data('B', 0));
        tap.is("and it still sends", tree.bench.drain().size(), 1u);
    }
}

// tdc:6c97, 5d0b, 21c3: a packet is peeked at, then `change` takes all others.
void test_change_after_peek(Tap& tap) {
    for (const Parent& parent : parents()) {
        tap.section(parent.name);
        Tree tree(parent, {});
        tree.load();
        sleep_ns(kFrameNs + 1000);
        tree.change({.limit = 1});
        tree.check_counts(tap, "after `limit 1`");
        tree.change({.limit = 1 << 30, .memlimit = 1});
        tree.check_counts(tap, "after `memlimit 1`");
        tree.load();
        sleep_ns(kFrameNs / 2);
        delete_qdisc(tree.port.end());  // an underflow shows as a warning, or a hang
    }
    tap.section("");
    tap.ok(true, "deleted below every parent, with a packet peeked at");
}

// tdc:a4bb..a4c1: the smallest queue there is, below parents that unlink a class when
// they are told that it is empty.
void test_last_packet(Tap& tap) {
    for (const Parent& parent : parents()) {
        tap.section(parent.name);
        SwitchTree tree(parent, {.limit = 1, .memlimit = 1, .flows = 1, .budget = 1, .rate = 1000});
        for (uint32_t round = 0; round < 3; round++) {
            tree.bench.hold();
            for (uint32_t i = 0; i < 4; i++) tree.bench.source().send(data('A', i));
            tree.bench.settle();
            tree.check_counts(tap, "at its smallest");
            tap.ok(!tree.bench.drain().empty(), "something comes out");
            tap.is("nothing is left", tree.leaf().qdisc.qlen, 0u);
            tree.check_counts(tap, "when empty");
        }
        delete_qdisc(tree.bench.out());
    }
}

// tdc:4366, CVE-2025-68325: the packet that was offered is lost itself, or another one
// of its flow; then the child is replaced.
void test_refused(Tap& tap) {
    for (const Parent& parent : parents()) {
        tap.section(parent.name);
        Tree tree(parent, {.memlimit = 1});
        tree.port.hold();
        for (uint32_t i = 0; i < 6; i++) {
            tree.port.queue(data(i % 2 ? 'A' : 'B', i));
            tree.check_counts(tap, fmt::format("after packet {}", i));
        }
        set_qdisc(tree.port.end(), "netem", netem_options(0), {parent.leaf, 0x300000});
        for (const uint32_t above : parent.above)
            tap.is("replaced: the parent is empty", qdisc_stats(tree.port.end(), above).qlen, 0u);
    }
}

// tdc:c797, 82d9, d3da: a plug between the parent and the wire; everything that was
// released comes at once. Here the link is the plug.
void test_plugged(Tap& tap) {
    for (const Parent& parent : parents()) {
        tap.section(parent.name);
        Tree tree(parent, {.limit = 10 * kFrame});
        tree.load();
        tree.port.end().change({.mtu = 9000});
        // tbf refuses what is larger than its burst
        const size_t payload = std::string(parent.name).find("tbf") == std::string::npos ? 8000 : 1500;
        tree.port.queue(data('A', 50, payload));
        tree.port.queue(data('B', 51, payload));
        tree.check_counts(tap, "with larger packets than the MTU was");
        tree.port.end().change({.mtu = 600});
        sleep_ns(10 * kFrameNs);
        tree.check_counts(tap, "with larger packets than the MTU is");
        tree.port.drain_frames();
        check_empty(tap, tree.leaf());
    }
}

// tdc:7a5f, cdae, 291d: whoever is between a peeking parent and the leaf may ask the
// leaf to dequeue though it has been peeked at.
void test_peeked_then_dequeued(Tap& tap) {
    const QdiscOptions one_band = nested([](nl::Message& message) {
        message.put_u8(TCA_ETS_NBANDS, 1);
        message.put_u8(TCA_ETS_NSTRICT, 1);
    });
    const std::pair<const char*, QdiscOptions> between[] = {
        {"red", red_options()}, {"prio", prio_options()}, {"ets", one_band}};
    for (const auto& [kind, options] : between) {
        tap.section(kind);
        Port port;
        delete_qdisc(port.end());
        set_qdisc(port.end(), "tbf", tbf_options(5'000'000));
        set_qdisc(port.end(), kind, options, {kClass, kMiddle});
        port.socket().set_priority(kMiddleClass);
        set_qdisc(port.end(), "pfqd", pfqd_options({}), {kMiddleClass, kLeaf});
        port.hold();
        port.queue_data('A', 0, 10);
        sleep_ns(3 * kFrameNs);
        const uint32_t left = port.stats(kMiddleClass).qdisc.qlen;
        tap.is("tbf counts what pfqd has", qdisc_stats(port.end()).qlen, left);
        tap.is("none is left behind, none overtakes", joined(port.drain()), "A0 A1 A2 A3 A4 A5 A6 A7 A8 A9");
        check_empty(tap, port.stats(kMiddleClass));
    }
}

}  // namespace

int main() {
    return run_tests({{"bug 1 (drops inside a peek)", test_drops_in_peek},
                      {"bug 2 (change after a peek)", test_change_after_peek},
                      {"bug 3 4 (the last packet)", test_last_packet},
                      {"bug 5 6 (refused packets, limit 1)", test_refused},
                      {"bug 1 54 (MTU changes with packets queued)", test_plugged},
                      {"bug 9 (peeked at, then dequeued)", test_peeked_then_dequeued}});
}
