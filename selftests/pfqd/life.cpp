// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
//
// Birth, death and accidents: link flaps, replacement, deletion and the end of a
// namespace with packets queued and under load; afterwards the module unloads,
// which it does only when nothing of it is left.
#include "selftests/pfqd/port.hpp"

using namespace pfqd::selftest;
namespace nl = pfqd::nl;

namespace {

void load(Port& port) {
    port.hold();
    for (uint32_t i = 0; i < 20; i++) {
        port.queue(data('A', i));
        port.queue(data('B', i, 300));
        port.queue(pure_ack('C'));
    }
}

void test_link_down(Tap& tap) {
    Port port({.pfqd = {.demote = 1000}});
    load(port);
    sleep_ns(20 * kFrameNs);
    tap.ok(port.stats().tier[PFQD_TIER_LOW].backlog_packets > 0, "packets wait, in the low tier too");
    port.set_up(false);
    check_empty(tap, port.stats());
    tap.is("no flow is kept", port.stats().flows_allocated, 0u);
    port.set_up(true);
    port.drain_frames();
    load(port);
    tap.is("afterwards it works as before", port.drain().size(), 60u);
    check_empty(tap, port.stats());
    port.set_up(false);
    port.set_up(false);
    check_empty(tap, port.stats());
}

void test_counters_survive(Tap& tap) {
    Port port({.pfqd = {.limit = 5000}});
    load(port);
    const PfqdStats before = port.stats();
    port.set_up(false);
    const PfqdStats after = port.stats();
    tap.is("drops stay counted over a reset", after.drops_limit, before.drops_limit);
    tap.is("packets too", after.tier[PFQD_TIER_HIGH].packets, before.tier[PFQD_TIER_HIGH].packets);
}

void test_replace_and_delete(Tap& tap) {
    Port port;
    for (int round = 0; round < 20; round++) {
        load(port);
        if (round % 2) delete_qdisc(port.end());
        const bool other = round % 4 < 2;
        set_qdisc(port.end(), other ? "pfifo" : "pfqd",
                  other ? fifo_options(100) : pfqd_options({.flows = 1u << (round % 20)}),
                  {TC_H_ROOT, 0x20000u + 0x10000u * static_cast<uint32_t>(round)});
    }
    set_qdisc(port.end(), "pfqd", pfqd_options({}));
    port.drain_frames();
    load(port);
    tap.is("after twenty replacements it works", port.drain().size(), 60u);
    check_empty(tap, port.stats());
}

// Every qdisc request and link flap while frames of many flows are on their way.
void test_changes_under_load(Tap& tap) {
    Port port({.rate = 10'000'000'000});
    for (uint32_t round = 0; round < 200; round++) {
        for (uint32_t i = 0; i < 10; i++) {
            FrameOptions frame;
            frame.sport = static_cast<uint16_t>(round * 10 + i);
            frame.source = round;
            frame.payload = i % 3 ? 1400 : 0;
            port.queue(make_frame(frame));
        }
        switch (round % 5) {
            case 0:
                change_qdisc(port.end(), "pfqd", pfqd_options({.limit = 1u << (round % 20)}));
                break;
            case 1:
                change_qdisc(port.end(), "pfqd", pfqd_options({.flows = 1u << (round % 15)}));
                break;
            case 2:
                change_qdisc(port.end(), "pfqd",
                             pfqd_options({.quantum = 256u + round, .demote = 1 + round}));
                break;
            case 3:
                change_qdisc(port.end(), "pfqd",
                             pfqd_options({.memlimit = 1u << (round % 22), .control = 1 + round}));
                break;
            default:
                port.set_up(round % 2);
                port.set_up(true);
        }
    }
    change_qdisc(port.end(), "pfqd", pfqd_options({.limit = 1 << 20, .memlimit = 1 << 22}));
    port.drain_frames();
    check_empty(tap, port.stats());
    load(port);
    tap.is("after 200 changes it works", port.drain().size(), 60u);
}

void test_failed_creation(Tap& tap) {
    Port port;
    delete_qdisc(port.end());
    size_t refused = 0;
    for (int round = 0; round < 20; round++) {
        try {
            set_qdisc(port.end(), "pfqd", pfqd_options({.limit = 5000, .control = 0}));
        } catch (const nl::NetlinkError&) {
            refused++;
        }
    }
    tap.is("a creation that fails leaves nothing", refused, 20u);
    set_qdisc(port.end(), "pfqd", pfqd_options({}));
    load(port);
    tap.is("the next one works", port.drain().size(), 60u);
}

void test_namespace_ends(Tap& tap) {
    for (int round = 0; round < 10; round++) {
        Port port;
        load(port);
        // both namespaces go with it, packets queued
    }
    sleep_ns(200'000'000);
    Port port;
    load(port);
    tap.is("ten namespaces ended with packets queued", port.drain().size(), 60u);
}

// Runs last: the module goes only if no qdisc and no flow of it is left.
void test_unload(Tap& tap) {
    std::string error;
    for (int tries = 0; tries < 50; tries++) {
        error.clear();
        try {
            unload_module("sch_pfqd");
            break;
        } catch (const std::exception& failure) {
            error = failure.what();
            sleep_ns(100'000'000);  // a namespace is still being taken down
        }
    }
    tap.is("the module unloads", error, "");
    tap.ok(!module_loaded("sch_pfqd"), "and is gone");
    Port port;
    load(port);
    tap.is("loaded again it works", port.drain().size(), 60u);
}

}  // namespace

int main() {
    return run_tests({{"link down", test_link_down},
                      {"counters survive", test_counters_survive},
                      {"replace and delete", test_replace_and_delete},
                      {"changes under load", test_changes_under_load},
                      {"failed creation", test_failed_creation},
                      {"namespace ends", test_namespace_ends},
                      {"unload", test_unload}});
}
