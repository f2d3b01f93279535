// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
//
// The module leaves and comes back under load, a hundred times: qdisc deleted with
// packets of many flows in it, module unloaded, loaded, qdisc added; a TCP connection
// lives through all of it. Afterwards nothing of it may be left in memory.
#include <sstream>

#include "selftests/lib/debug_kernel.hpp"
#include "selftests/lib/exact_stream.hpp"
#include "selftests/lib/slab.hpp"
#include "selftests/lib/tuple_flood.hpp"
#include "selftests/pfqd/port.hpp"

using namespace pfqd::selftest;

namespace {

constexpr int kRounds = 100;
constexpr int kWarmUp = 20;  // rounds until the caches of kernel and program are full
constexpr uint32_t kTuples = 600;
constexpr uint64_t kSecond = 1'000'000'000;  // ns

uint64_t free_kib() {
    std::istringstream lines(read_text("/proc/meminfo"));
    std::string name;
    uint64_t value = 0;
    while (lines >> name >> value) {
        if (name == "MemFree:") return value;
        lines.ignore(100, '\n');
    }
    throw std::runtime_error("/proc/meminfo does not say what is free");
}

// With nothing queued, and no cache of the file system's.
uint64_t free_at_rest(Port& port) {
    port.drain_frames();
    write_text("/proc/sys/vm/drop_caches", "3");
    sleep_ns(kSecond);
    return free_kib();
}

void unload(const char* name) {
    for (int tries = 0;; tries++) {
        try {
            unload_module(name);
            return;
        } catch (const std::exception&) {
            if (tries == 100) throw;
            sleep_ns(1'000'000);  // the last reader of the old qdisc
        }
    }
}

// The qdisc goes with packets in it, the module too; what is still there of them?
struct Left {
    int modules = 0, slabs = 0;
};

void reload(Port& port, Left& left) {
    delete_qdisc(port.end());
    unload("sch_pfqd");
    left.modules += module_loaded("sch_pfqd");
    left.slabs += slab_use("pfqd_flow").present;
    load_module("sch_pfqd");
    set_qdisc(port.end(), "pfqd", pfqd_options({.flows = 512}));
}

void check_gone(Tap& tap, const Left& left) {
    tap.is("each time the module was gone", left.modules, 0);
    tap.is("and the memory of its flows", left.slabs, 0);
}

void test_reload(Tap& tap) {
    Port port({.pfqd = {.flows = 512}, .rate = 1'000'000'000});
    port.end().add_address("10.8.0.1");
    port.far_end().add_address("10.8.0.2");
    ExactStream stream(port.end(), port.far_end(), "10.8.0.2", {});
    TupleFlood flood(port.end(), 1);
    Left left;
    int silent = 0, no_flows = 0;
    for (int round = 0; round < kRounds; round++) {
        stream.send_until(UINT64_MAX);
        flood.send(kTuples);
        no_flows += port.stats().flows_allocated < 500;
        reload(port, left);
        sleep_ns(5'000'000);
        const uint64_t had = stream.received();
        // What was deleted comes again after a retransmission timeout of 200 ms.
        for (int wait = 0; wait < 1000 && stream.received() == had; wait++) {
            sleep_ns(1'000'000);
            stream.receive();
        }
        silent += stream.received() == had;
    }
    check_gone(tap, left);
    tap.is("each time hundreds of flows were there", no_flows, 0);
    tap.is("each time the connection went on", silent, 0);
    const uint64_t total = stream.sent();
    tap.ok(stream.finish(total, 30 * kSecond), "all bytes arrived, in order");
}

// Without TCP, whose buffers come and go: to the page.
void test_memory(Tap& tap) {
    Port port({.pfqd = {.flows = 512}, .rate = 1'000'000'000});
    TupleFlood flood(port.end(), 2);
    Left left;
    uint64_t before = 0;
    for (int round = 0; round < kRounds; round++) {
        if (round == kWarmUp) before = free_at_rest(port);
        flood.send(kTuples);
        reload(port, left);
        port.drain_frames();  // else the port's packet socket keeps them, and then our heap
    }
    const uint64_t after = free_at_rest(port);
    check_gone(tap, left);
    // The least that a round could leave is a page: 80 of them are 320 KiB. Half of that
    // is slack for partly used slabs; there are none when nothing leaks.
    const auto lost = static_cast<int64_t>(before) - static_cast<int64_t>(after);
    const auto say = fmt::format("free: {} KiB after {} rounds, {} KiB after {}: {} KiB less", before,
                                 kWarmUp, after, kRounds, lost);
    tap.diag(say);
    if (debug_kernel())
        tap.skip("no memory is lost",
                 "KASAN keeps freed memory for a while; it reports leaks of a cache itself");
    else
        tap.ok(lost < 160, "no memory is lost");
}

// The other order: what is attached keeps the module.
void test_pinned(Tap& tap) {
    Port port;
    std::string error;
    try {
        unload_module("sch_pfqd");
    } catch (const std::exception& failure) {
        error = failure.what();
    }
    tap.ok(!error.empty(), "a module in use does not unload");
    tap.ok(module_loaded("sch_pfqd"), "and is still there");
    port.hold();
    port.queue_data('A', 0, 3);
    tap.is("and works", joined(port.drain()), "A0 A1 A2");
}

}  // namespace

int main() {
    return run_tests({{"bug 20 (reload under load)", test_reload},
                      {"bug 20 (memory after reloads)", test_memory},
                      {"bug 20 (pinned while attached)", test_pinned}});
}
