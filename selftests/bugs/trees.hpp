// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
//
// Trees with more than one leaf: classes 1:1, 1:2, ... of a root qdisc, each with a
// qdisc of its own below it, so that one leaf's accidents can be seen from another.
#pragma once

#include <linux/pkt_sched.h>

#include <string>
#include <vector>

#include "selftests/pfqd/parents.hpp"

namespace pfqd::selftest {

// Roots that can have a second class, and how it is added.
struct Root {
    const char* name;
    void (*make)(const End& end);    // with class 1:1
    void (*second)(const End& end);  // adds class 1:2
    bool needs_work;                 // wants children that always have a packet to give
};

inline void no_class(const End&) {}  // bands are there from the start

inline void second_drr(const End& end) {
    add_class(end, kRoot + 2, kRoot, "drr",
              [](nl::Message& message) { message.put_u32(TCA_DRR_QUANTUM, 1514); });
}

inline void second_qfq(const End& end) {
    add_class(end, kRoot + 2, kRoot, "qfq", [](nl::Message& message) {
        message.put_u32(TCA_QFQ_WEIGHT, 1);
        message.put_u32(TCA_QFQ_LMAX, 65536);
    });
}

inline void second_htb(const End& end) {
    add_class(end, kRoot + 2, kRoot, "htb", [](nl::Message& message) {
        tc_htb_opt opt{};
        opt.rate.rate = opt.ceil.rate = 5'000'000;
        opt.rate.linklayer = opt.ceil.linklayer = TC_LINKLAYER_ETHERNET;
        opt.buffer = opt.cbuffer = 100'000;
        opt.quantum = 1514;
        message.put(TCA_HTB_PARMS, &opt, sizeof(opt));
    });
}

inline void second_hfsc(const End& end) {
    add_class(end, kRoot + 2, kRoot, "hfsc", [](nl::Message& message) {
        const tc_service_curve curve{.m1 = 0, .d = 0, .m2 = 5'000'000};
        message.put(TCA_HFSC_RSC, &curve, sizeof(curve));
        message.put(TCA_HFSC_FSC, &curve, sizeof(curve));
    });
}

inline const std::vector<Root>& roots() {
    static const std::vector<Root> list = {
        {"prio", make_prio, no_class, false},   {"drr", make_drr, second_drr, true},
        {"qfq", make_qfq, second_qfq, true},    {"htb", make_htb, second_htb, false},
        {"hfsc", make_hfsc, second_hfsc, true}, {"ets", make_ets, no_class, false},
    };
    return list;
}

// Every packet twice, and late by so much.
inline QdiscOptions netem_options(uint32_t duplicate, uint32_t latency_ticks = 0) {
    return [=](nl::Message& message) {
        tc_netem_qopt qopt{};
        qopt.limit = 10'000;
        qopt.latency = latency_ticks;
        qopt.duplicate = duplicate;
        message.put(TCA_OPTIONS, &qopt, sizeof(qopt));
    };
}
inline constexpr uint32_t kAlways = UINT32_MAX;

inline QdiscOptions codel_options(uint32_t limit) {
    return nested([=](nl::Message& message) { message.put_u32(TCA_CODEL_LIMIT, limit); });
}

}  // namespace pfqd::selftest
