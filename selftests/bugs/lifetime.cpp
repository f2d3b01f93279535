// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
//
// Birth, place and death of a qdisc, in the ways that have hurt others: an init that
// fails below every parent, a child that moves to another parent, handle ffff:, a
// hierarchy too deep, statistics read by somebody else all the time, links that flap and
// devices, namespaces that end while packets come.
#include <sys/wait.h>

#include <csignal>
#include <functional>

#include "selftests/bugs/trees.hpp"
#include "selftests/lib/tuple_flood.hpp"

using namespace pfqd::selftest;
namespace nl = pfqd::nl;

namespace {

// The kernel's words, or nothing when it agrees.
std::string refusal(const std::function<void()>& request) {
    try {
        request();
    } catch (const nl::NetlinkError& error) {
        return error.what();
    }
    return "";
}

const QdiscOptions& bad_options() {
    static const QdiscOptions bad = pfqd_options({.limit = 5000, .control = 0});
    return bad;
}

// An attribute of a number and a size that pfqd does not have.
const QdiscOptions& odd_options() {
    static const QdiscOptions odd = nested([](nl::Message& message) {
        const Bytes bytes(9, 1);
        message.put(9, bytes.data(), bytes.size());
    });
    return odd;
}

void test_failed_init(Tap& tap) {
    for (const Parent& parent : parents()) {
        tap.section(parent.name);
        Port port;
        delete_qdisc(port.end());
        parent.make(port.end());
        port.socket().set_priority(kClass);
        unsigned refused = 0;
        for (int i = 0; i < 10; i++) {
            const QdiscOptions& options = i % 2 ? bad_options() : odd_options();
            refused += !refusal([&] {
                            set_qdisc(port.end(), "pfqd", options, {parent.leaf, kLeaf});
                        }).empty();
        }
        tap.is("a bad creation is refused", refused, 10u);
        set_qdisc(port.end(), "pfqd", {}, {parent.leaf, kLeaf});
        port.hold();
        port.queue_data('A', 0, 5);
        tap.ok(!refusal([&] {
                    set_qdisc(port.end(), "pfqd", bad_options(), {parent.leaf, kLeaf * 2});
                }).empty(),
               "also in place of one that has packets");
        tap.is("which stays", port.drain().size(), 5u);
    }
}

void test_failed_init_multiqueue(Tap& tap) {
    load_module("wire");
    load_module("sch_pfqd");
    nl::Netns left = quiet_netns(), right = quiet_netns();
    const auto ends = make_wire(left, {.queues = 4}, right, {});
    set_qdisc(ends.first, "mq");
    for (uint32_t queue = 1; queue <= 4; queue++) {
        const QdiscPlace place{kRoot + queue, kLeaf * (queue + 1)};
        tap.ok(!refusal([&] { set_qdisc(ends.first, "pfqd", bad_options(), place); }).empty(),
               "refused below mq");
        set_qdisc(ends.first, "pfqd", {}, place);
        tap.ok(!refusal([&] { set_qdisc(ends.first, "pfqd", odd_options(), place); }).empty(), "change too");
        tap.is("it is there", qdisc_stats(ends.first, kRoot + queue).kind, std::string("pfqd"));
    }
    // pfqd/no_memory fails each allocation of an init in the debug kernel
}

// `replace` of a child into another class: it has two parents for a moment.
void test_moved(Tap& tap) {
    for (const Root& root : roots()) {
        tap.section(root.name);
        Port port;
        delete_qdisc(port.end());
        root.make(port.end());
        root.second(port.end());
        set_qdisc(port.end(), "pfqd", {}, {kClass, kLeaf});
        port.socket().set_priority(kClass);
        port.hold();
        port.queue_data('A', 0, 5);
        const std::string words = refusal([&] {
            In inside(port.end().netns());
            nl::Socket socket;
            nl::Message message(RTM_NEWQDISC, NLM_F_CREATE | NLM_F_REPLACE);
            tcmsg header{};
            header.tcm_ifindex = port.end().ifindex();
            header.tcm_parent = kRoot + 2;
            header.tcm_handle = kLeaf;  // the one that is in 1:1
            message.raw(header);
            message.put_string(TCA_KIND, "pfqd");
            socket.request(message);
        });
        tap.diag(words.empty() ? "the kernel moves it" : "the kernel refuses: " + words);
        port.queue_data('A', 5, 3);
        port.socket().set_priority(kRoot + 2);
        port.queue_data('B', 0, 3);
        const QdiscStats top = qdisc_stats(port.end());
        tap.ok(top.qlen <= 11, "the root's count is sane");
        port.drain();
        tap.is("and is 0 at the end", qdisc_stats(port.end()).qlen, 0u);
        delete_qdisc(port.end());
    }
}

void test_handle_ffff(Tap& tap) {
    Port port;
    delete_qdisc(port.end());
    constexpr uint32_t kMajor = 0xffff0000;
    const std::string words = refusal([&] { set_qdisc(port.end(), "pfqd", {}, {TC_H_ROOT, kMajor}); });
    tap.diag(words.empty() ? "accepted" : "refused: " + words);
    if (words.empty()) {
        port.hold();
        port.queue_data('A', 0, 5);
        change_qdisc(port.end(), "pfqd", pfqd_options({.limit = 1}), {TC_H_ROOT, kMajor});
        tap.is("drops under ffff: are reported to nobody", port.drain().size(), 2u);
        delete_qdisc(port.end());
    }
    // a parent of that handle: the walk up the tree has to end there
    set_qdisc(port.end(), "drr", {}, {TC_H_ROOT, kMajor});
    add_class(port.end(), kMajor + 1, kMajor, "drr",
              [](nl::Message& message) { message.put_u32(TCA_DRR_QUANTUM, 1514); });
    set_qdisc(port.end(), "pfqd", {}, {kMajor + 1, kLeaf});
    port.socket().set_priority(kMajor + 1);
    port.hold();
    port.queue_data('A', 0, 10);
    change_qdisc(port.end(), "pfqd", pfqd_options({.limit = 1}), {kMajor + 1, kLeaf});
    tap.is("below ffff: the parent's count follows", qdisc_stats(port.end()).qlen,
           port.stats(kMajor + 1).qdisc.qlen);
    port.drain();
    tap.is("down to 0", qdisc_stats(port.end()).qlen, 0u);
}

// prio below prio below prio ...: pfqd is the last that the kernel allows, or refused.
void test_deep(Tap& tap) {
    Port port;
    delete_qdisc(port.end());
    std::vector<uint32_t> places = {TC_H_ROOT};
    uint32_t depth = 0;
    std::string words;
    for (; depth < 12 && words.empty(); depth++) {
        const uint32_t handle = (depth + 1) << 16;
        words = refusal([&] { set_qdisc(port.end(), "prio", prio_options(), {places.back(), handle}); });
        if (words.empty()) places.push_back(handle + 1);
    }
    tap.diag(fmt::format("{} levels of prio; the next: {}", places.size() - 1, words.empty() ? "-" : words));
    tap.ok(places.size() > 7, "seven levels at least");
    // The deepest place that takes pfqd.
    uint32_t place = 0;
    while (!places.empty() && !place) {
        if (refusal([&] { set_qdisc(port.end(), "pfqd", {}, {places.back(), kLeaf}); }).empty())
            place = places.back();
        else
            places.pop_back();
    }
    tap.ok(places.size() > 6, "pfqd six levels deep");
    port.socket().set_priority(6);  // the first band of each
    port.hold();
    port.queue_data('A', 0, 20);
    tap.is("packets reach it", port.stats(place).qdisc.qlen, 20u);
    change_qdisc(port.end(), "pfqd", pfqd_options({.limit = 1}), {place, kLeaf});
    tap.is("its drops reach the root", qdisc_stats(port.end()).qlen, 2u);
    tap.is("what is left arrives", port.drain().size(), 2u);
}

// The other side of a race: a process that does one thing as often as it can.
class Beside {
  public:
    explicit Beside(const std::function<void()>& work) : child_(pfqd::check(fork(), "fork")) {
        if (child_ != 0) return;
        try {
            for (;;) work();
        } catch (const std::exception&) {
            _exit(0);  // what it worked on has gone
        }
    }
    ~Beside() {
        kill(child_, SIGKILL);
        waitpid(child_, nullptr, 0);
    }
    Beside(const Beside&) = delete;
    Beside& operator=(const Beside&) = delete;

  private:
    pid_t child_;
};

// Dumps of options, statistics and classes, amid traffic and changes.
void test_statistics(Tap& tap) {
    Port port({.pfqd = {.flows = 64}, .rate = 1'000'000'000});
    TupleFlood flood(port.end(), 5);
    std::string wrong;
    {
        Beside reader([&] {
            qdisc_stats(port.end());
            sleep_ns(7'000);
        });
        uint64_t last = 0;
        for (uint32_t i = 0; i < 300; i++) {
            flood.send(20);
            change_qdisc(port.end(), "pfqd",
                         pfqd_options({.limit = 1u << (10 + i % 15), .flows = 1 + i % 100}));
            sleep_ns(10'000);
            const PfqdStats stats = port.stats();
            uint64_t served = 0;
            for (const TierStats& tier : stats.tier) served += tier.packets;
            if (served < last) wrong = "a counter went back";
            if (stats.qdisc.backlog > 1u << 26) wrong = "the backlog wrapped";
            last = served;
        }
    }
    tap.is("statistics make sense all the time", wrong, "");
    port.drain_frames();
    check_empty(tap, port.stats());
}

void test_flap(Tap& tap) {
    Port port({.rate = 1'000'000'000});
    TupleFlood flood(port.end(), 6);
    uint32_t wrong = 0;
    for (int i = 0; i < 40; i++) {
        flood.send(100);
        port.set_up(false);
        const PfqdStats stats = port.stats();
        wrong += stats.qdisc.qlen || stats.qdisc.backlog || stats.memory || stats.flows_active ||
                 stats.flows_allocated;
        port.set_up(true);
        port.end().wait_running();
    }
    tap.is("each reset leaves nothing", wrong, 0u);
    port.queue_data('A', 0, 10);
    tap.is("afterwards it works, in order", joined(port.drain()), "A0 A1 A2 A3 A4 A5 A6 A7 A8 A9");
}

// The device goes, and the namespaces go, while a process sends without end.
void test_vanish(Tap& tap) {
    for (int round = 0; round < 12; round++) {
        Port port({.pfqd = {.flows = 100}, .rate = 1'000'000'000});
        TupleFlood flood(port.end(), 7);
        Beside sender([&] {
            flood.send(64);
            sleep_ns(20'000);
        });
        sleep_ns(1'000'000);
        if (round % 3 == 0)
            port.end().remove();
        else if (round % 3 == 1)
            port.far_end().remove();  // the pair goes
        else
            port.set_up(false);  // and both namespaces, at the end of this block
    }
    sleep_ns(500'000'000);
    Port port;
    port.hold();
    port.queue_data('A', 0, 3);
    tap.is("after twelve ends under load", joined(port.drain()), "A0 A1 A2");
}

}  // namespace

int main() {
    return run_tests({{"bug 14 (failed init below each parent)", test_failed_init},
                      {"bug 14 (failed init below mq)", test_failed_init_multiqueue},
                      {"bug 13 (child replaced into another class)", test_moved},
                      {"bug 12 (handle ffff:)", test_handle_ffff},
                      {"bug 48 (deep hierarchy)", test_deep},
                      {"bug 10 (statistics amid traffic)", test_statistics},
                      {"bug 29 49 (link flaps under load)", test_flap},
                      {"bug 67 (device and namespace end under load)", test_vanish}});
}
