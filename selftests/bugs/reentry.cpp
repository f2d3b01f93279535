// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
//
// netem's duplicates enter the tree again at its root, in the middle of an enqueue. A
// parent that decides by "the child was empty a moment ago" then links a class twice
// (bug 8: a local privilege escalation in four schedulers). pfqd stands beside such a
// netem, and below one: its own counts and those of all above it have to stay right,
// also while it drops.
#include "selftests/bugs/trees.hpp"

using namespace pfqd::selftest;

namespace {

constexpr uint32_t kBeside = kRoot + 2;

void send_to(Port& port, uint32_t classid, char flow, uint32_t first, uint32_t count) {
    port.socket().set_priority(classid);
    port.queue_data(flow, first, count);
}

size_t count_of(const std::vector<std::string>& labels, char flow) {
    return static_cast<size_t>(std::count_if(labels.begin(), labels.end(),
                                             [&](const std::string& text) { return text[0] == flow; }));
}

void check_root_empty(Tap& tap, Port& port) {
    const QdiscStats root = qdisc_stats(port.end());
    tap.is("the root has no packet left", root.qlen, 0u);
    tap.is("nor a byte", root.backlog, 0u);
}

void check_leaf_empty(Tap& tap, const PfqdStats& stats) {
    tap.ok(stats.qdisc.qlen == 0 && stats.qdisc.backlog == 0 && stats.memory == 0 && stats.flows_active == 0,
           "pfqd has none");
}

// 1:1 netem that doubles, 1:2 pfqd.
void beside(Tap& tap, const Root& root, const PfqdOptions& options, bool drops) {
    tap.section(root.name);
    Port port;
    delete_qdisc(port.end());
    root.make(port.end());
    root.second(port.end());
    set_qdisc(port.end(), "netem", netem_options(kAlways), {kClass, kMiddle});
    set_qdisc(port.end(), "pfqd", pfqd_options(options), {kBeside, kLeaf});
    for (uint32_t round = 0; round < 2; round++) {
        port.socket().set_priority(kBeside);
        port.hold();
        send_to(port, kClass, 'A', 0, 10);
        send_to(port, kBeside, 'B', 0, 10);
        send_to(port, kClass, 'A', 10, 5);
        const PfqdStats leaf = port.stats(kBeside);
        const QdiscStats doubler = qdisc_stats(port.end(), kClass);
        tap.is("the root counts what both have", qdisc_stats(port.end()).qlen,
               leaf.qdisc.qlen + doubler.qlen);
        const std::vector<std::string> out = port.drain();
        tap.is("netem's packets come twice", count_of(out, 'A'), 30u);
        if (drops)
            tap.between("pfqd's within its limit", count_of(out, 'B'), size_t{2}, size_t{3});
        else
            tap.is("pfqd's once", count_of(out, 'B'), 10u);
        check_leaf_empty(tap, port.stats(kBeside));
        check_root_empty(tap, port);
    }
    delete_qdisc(port.end());
}

void test_beside(Tap& tap) {
    for (const Root& root : roots()) beside(tap, root, {}, false);
}

void test_beside_dropping(Tap& tap) {
    for (const Root& root : roots()) beside(tap, root, {.limit = 1, .flows = 1}, true);
}

// 1:1 netem that doubles, pfqd below it: a duplicate comes while netem's own enqueue,
// and so pfqd's parent, is at work.
void below(Tap& tap, const Root& root, const PfqdOptions& options, bool drops) {
    tap.section(root.name);
    if (root.needs_work) return;  // below netem these qdiscs would only complain
    Port port;
    delete_qdisc(port.end());
    root.make(port.end());
    set_qdisc(port.end(), "netem", netem_options(kAlways), {kClass, kMiddle});
    set_qdisc(port.end(), "pfqd", pfqd_options(options), {kMiddleClass, kLeaf});
    port.socket().set_priority(kClass);
    for (uint32_t round = 0; round < 2; round++) {
        port.hold();
        send_to(port, kClass, 'A', 0, 12);
        tap.is("the root counts what netem has", qdisc_stats(port.end()).qlen,
               qdisc_stats(port.end(), kClass).qlen);
        const std::vector<std::string> out = port.drain();
        if (drops)
            // two fit, and one of them may be the second of hold()'s
            tap.between("some come, within pfqd's limit", out.size(), size_t{1}, size_t{2});
        else
            tap.is("all come twice", count_of(out, 'A'), 24u);
        check_leaf_empty(tap, port.stats(kMiddleClass));
        tap.is("netem has none left", qdisc_stats(port.end(), kClass).qlen, 0u);
        check_root_empty(tap, port);
    }
    delete_qdisc(port.end());
}

void test_below(Tap& tap) {
    for (const Root& root : roots()) below(tap, root, {}, false);
}

void test_below_dropping(Tap& tap) {
    for (const Root& root : roots()) below(tap, root, {.limit = 1, .flows = 1}, true);
}

// The class that netem is in goes while duplicates are queued, then pfqd's.
void test_deletion(Tap& tap) {
    for (const Root& root : roots()) {
        tap.section(root.name);
        Port port;
        delete_qdisc(port.end());
        root.make(port.end());
        root.second(port.end());
        set_qdisc(port.end(), "netem", netem_options(kAlways), {kClass, kMiddle});
        set_qdisc(port.end(), "pfqd", pfqd_options({.limit = 5000}), {kBeside, kLeaf});
        port.socket().set_priority(kBeside);
        port.hold();
        send_to(port, kClass, 'A', 0, 10);
        send_to(port, kBeside, 'B', 0, 10);
        set_qdisc(port.end(), "pfqd", pfqd_options({}), {kClass, kLeaf * 2});
        tap.is("pfqd takes netem's place: the root counts the other's", qdisc_stats(port.end()).qlen,
               port.stats(kBeside).qdisc.qlen);
        send_to(port, kClass, 'A', 20, 3);
        set_qdisc(port.end(), "pfifo", fifo_options(100), {kBeside, kLeaf * 3});
        tap.is("and then the first one's", qdisc_stats(port.end()).qlen, port.stats(kClass).qdisc.qlen);
        send_to(port, kBeside, 'B', 20, 3);
        tap.is("the successors work", port.drain().size(), 6u);
        check_root_empty(tap, port);
    }
}

}  // namespace

int main() {
    return run_tests({{"bug 8 (netem duplicate beside pfqd)", test_beside},
                      {"bug 8 (netem duplicate beside pfqd that drops)", test_beside_dropping},
                      {"bug 8 (netem duplicate above pfqd)", test_below},
                      {"bug 8 (netem duplicate above pfqd that drops)", test_below_dropping},
                      {"bug 8 (children replaced amid duplicates)", test_deletion}});
}
