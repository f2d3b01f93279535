// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
//
// Numbers that have locked up other schedulers: quantum 2^31, a limit of nothing, an MTU
// of 68 or 65,535 that changes under load, a size table that makes a packet of 60 bytes
// two gigabytes long. Whatever is set, packets leave, in bounded virtual time, and the
// books are right.
#include <linux/pkt_sched.h>

#include "selftests/bugs/trees.hpp"

using namespace pfqd::selftest;
namespace nl = pfqd::nl;

namespace {

struct Parameter {
    const char* name;
    int attr;
    uint32_t min, max;
    bool zero;  // 0 means something
};

constexpr Parameter kParameters[] = {
    {"limit", TCA_PFQD_LIMIT, PFQD_LIMIT_MIN, PFQD_LIMIT_MAX, false},
    {"memlimit", TCA_PFQD_MEMLIMIT, PFQD_MEMLIMIT_MIN, PFQD_MEMLIMIT_MAX, false},
    {"flows", TCA_PFQD_FLOWS, PFQD_FLOWS_MIN, PFQD_FLOWS_MAX, false},
    {"quantum", TCA_PFQD_QUANTUM, PFQD_QUANTUM_MIN, PFQD_QUANTUM_MAX, true},
    {"demote", TCA_PFQD_DEMOTE, PFQD_DEMOTE_MIN, PFQD_DEMOTE_MAX, false},
    {"control", TCA_PFQD_CONTROL, PFQD_CONTROL_MIN, PFQD_CONTROL_MAX, false},
    {"budget", TCA_PFQD_BUDGET, PFQD_BUDGET_MIN, PFQD_BUDGET_MAX, false},
    {"short", TCA_PFQD_BUDGET_SHORT, PFQD_BUDGET_MIN, PFQD_BUDGET_MAX, false},
    {"long", TCA_PFQD_BUDGET_LONG, PFQD_BUDGET_MIN, PFQD_BUDGET_MAX, false},
};

QdiscOptions with(const Parameter& parameter, uint32_t value) {
    return nested([=](nl::Message& message) { message.put_u32(parameter.attr, value); });
}

void load(Port& port, size_t payload = kFull, uint32_t first = 0) {
    port.hold(60);
    for (uint32_t i = first; i < first + 20; i++) {
        port.queue(data('A', i, payload));
        port.queue(data('B', i, 10));
        port.queue(pure_ack('C'));
    }
}

bool in_order(const std::vector<std::string>& labels) {
    int last[2] = {-1, -1};
    for (const std::string& text : labels) {
        if (text[0] != 'A' && text[0] != 'B') continue;
        const int number = std::stoi(text.substr(1));
        if (number <= last[text[0] - 'A']) return false;
        last[text[0] - 'A'] = number;
    }
    return true;
}

// Everything that is not dropped leaves, and nothing stays.
void check_drains(Tap& tap, Port& port, const std::string& what, size_t offered = 60) {
    const uint64_t before = port.stats().qdisc.drops;
    const uint64_t start = monotonic_ns();
    const std::vector<std::string> out = port.drain();
    const PfqdStats stats = port.stats();
    tap.ok(stats.qdisc.drops == before && !out.empty() && out.size() <= offered && in_order(out),
           what + ": packets leave, each flow in order");
    tap.ok(stats.qdisc.qlen == 0 && stats.qdisc.backlog == 0 && stats.memory == 0 && stats.flows_active == 0,
           what + ": nothing stays");
    // 100 ms is how long drain() waits for more
    tap.ok(monotonic_ns() - start < offered * 70'000 * 80 + 110'000'000, what + ": in bounded time");
}

void test_edges(Tap& tap) {
    for (const Parameter& parameter : kParameters) {
        Port port;
        for (const uint32_t value : {0u, 1u, 1u << 31, UINT32_MAX, parameter.min, parameter.max}) {
            const bool good =
                (value == 0 && parameter.zero) || (value >= parameter.min && value <= parameter.max);
            bool accepted = true;
            load(port);
            try {
                change_qdisc(port.end(), "pfqd", with(parameter, value));
            } catch (const nl::NetlinkError&) {
                accepted = false;
            }
            tap.is(fmt::format("{} {} is {}", parameter.name, value, good ? "accepted" : "refused"), accepted,
                   good);
            check_drains(tap, port, fmt::format("{} {} with packets queued", parameter.name, value));
        }
    }
}

// All at their smallest, then all at their largest, from one to the other under load.
void test_together(Tap& tap) {
    Port port;
    for (int round = 0; round < 10; round++) {
        load(port);
        change_qdisc(port.end(), "pfqd", nested([&](nl::Message& message) {
                         for (const Parameter& one : kParameters)
                             message.put_u32(one.attr, round % 2 ? one.max : one.min);
                     }));
        load(port, kFull, 20);
        check_drains(tap, port, round % 2 ? "all largest" : "all smallest", 120);
    }
}

void test_mtu(Tap& tap) {
    Port port;
    port.end().change({.rate = 10'000'000'000});
    for (const uint32_t mtu : {68u, 65'535u, 1500u, 9000u, 68u}) {
        load(port, 14);
        port.end().change({.mtu = mtu});
        const uint32_t quantum = std::max(mtu + 14, 256u);
        uint32_t dumped = 0;
        std::memcpy(&dumped, nla_data(find_in(port.stats().qdisc.options, TCA_PFQD_QUANTUM)), sizeof(dumped));
        tap.is(fmt::format("MTU {}: the quantum follows", mtu), dumped, quantum);
        for (uint32_t i = 20; i < 24; i++) port.queue(data('A', i, mtu - 40));
        check_drains(tap, port, fmt::format("MTU {}", mtu), 64);
    }
    // under load, back and forth
    for (uint32_t i = 0; i < 100; i++) {
        port.queue(data('A', i, 20));
        port.queue(data('B', i, 28));
        port.end().change({.mtu = i % 2 ? 68u : 65'535u});
    }
    port.drain_frames();
    check_empty(tap, port.stats());
}

// A size table: the 16-bit sizes that a length is looked up in, and an overhead.
struct Table {
    const char* name;
    int overhead;
    unsigned char size_log;  // sizes are shifted left by that
    std::vector<uint16_t> sizes;

    // Behind the qdisc's own options.
    QdiscOptions behind(const QdiscOptions& own) const {
        return [=, *this](nl::Message& message) {
            tc_sizespec spec{};
            spec.overhead = overhead;
            spec.size_log = size_log;
            spec.cell_log = 11;  // a size for each 2 KB, and sums of them beyond the table
            spec.tsize = static_cast<unsigned>(sizes.size());
            if (own) own(message);
            auto nest = message.nest(TCA_STAB);
            message.put(TCA_STAB_BASE, &spec, sizeof(spec));
            if (!sizes.empty()) message.put(TCA_STAB_DATA, sizes.data(), sizes.size() * sizeof(uint16_t));
        };
    }
};

// pkt_len is as the table says; whatever that is, a turn must be bounded.
const std::vector<Table>& tables() {
    static const std::vector<Table> list = {
        {"overhead 1000", 1000, 0, {}},
        {"overhead 2^20", 1 << 20, 0, {}},
        {"overhead 2^30", 1 << 30, 0, {}},
        {"overhead 2^31 - 1", INT32_MAX, 0, {}},
        {"overhead -1000", -1000, 0, {}},
        {"overhead -2^31", INT32_MIN, 0, {}},
        {"all sizes 65,535", 0, 0, {65535, 65535}},
        {"sizes of 2^31", 0, 15, {65535, 65535}},
        {"sizes 0", 0, 8, {0, 0, 0, 0}},
    };
    return list;
}

void test_size_tables(Tap& tap) {
    for (const Table& table : tables()) {
        tap.section(table.name);
        Port port;
        set_qdisc(port.end(), "pfqd", table.behind(pfqd_options({.limit = 1 << 30})), {TC_H_ROOT, 0x20000});
        load(port);
        const PfqdStats stats = port.stats();
        uint32_t bytes = 0, packets = 0;
        for (const TierStats& tier : stats.tier) bytes += tier.backlog_bytes, packets += tier.backlog_packets;
        tap.is("bytes in tiers and qdisc agree", bytes, stats.qdisc.backlog);
        tap.is("packets too", packets, stats.qdisc.qlen);
        check_drains(tap, port, table.name);
        // who owes many turns is not forgotten, and does not stand in anybody's way
        load(port);
        check_drains(tap, port, "again");
    }
}

// The root has the table (the kernel takes none elsewhere), and pfqd gets the lengths.
void test_size_table_above(Tap& tap) {
    for (const Table& table : tables()) {
        for (const char* kind : {"prio", "drr"}) {
            tap.section(std::string(kind) + ", " + table.name);
            Port port;
            const bool prio = std::string(kind) == "prio";
            set_qdisc(port.end(), kind, table.behind(prio ? prio_options() : QdiscOptions()),
                      {TC_H_ROOT, kMiddle});
            if (!prio)
                add_class(port.end(), kMiddleClass, kMiddle, "drr",
                          [](nl::Message& message) { message.put_u32(TCA_DRR_QUANTUM, 1 << 30); });
            set_qdisc(port.end(), "pfqd", pfqd_options({}), {kMiddleClass, kLeaf});
            port.socket().set_priority(kMiddleClass);
            load(port);
            const PfqdStats stats = port.stats(kMiddleClass);
            const QdiscStats above = qdisc_stats(port.end());
            tap.ok(above.qlen == stats.qdisc.qlen && above.backlog == stats.qdisc.backlog,
                   "the root counts what pfqd has");
            tap.ok(!port.drain().empty(), "packets leave");
            tap.ok(port.stats(kMiddleClass).qdisc.qlen == 0 && qdisc_stats(port.end()).qlen == 0 &&
                       port.stats(kMiddleClass).qdisc.backlog == 0 && qdisc_stats(port.end()).backlog == 0,
                   "nothing stays");
        }
    }
}

}  // namespace

int main() {
    return run_tests({{"bug 21 c (0, 1, 2^31, 2^32 - 1)", test_edges},
                      {"bug 21 25 27 (all at once, under load)", test_together},
                      {"bug 21 66 (MTU 68 to 65,535 under load)", test_mtu},
                      {"bug 22 28 (size tables)", test_size_tables},
                      {"bug 22 11 (size tables of a parent)", test_size_table_above}});
}
