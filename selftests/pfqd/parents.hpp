// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
//
// pfqd below every kind of parent: how each is made, and a port whose traffic goes
// through it.
#pragma once

#include <linux/pkt_sched.h>

#include <functional>

#include "selftests/pfqd/port.hpp"

namespace pfqd::selftest {

inline constexpr uint32_t kRoot = 0x10000;    // 1:
inline constexpr uint32_t kClass = 0x10001;   // 1:1
inline constexpr uint32_t kMiddle = 0x20000;  // 2:
inline constexpr uint32_t kMiddleClass = 0x20001;
inline constexpr uint32_t kLeaf = 0x100000;  // 10:

inline void add_class(const End& end, uint32_t classid, uint32_t parent, const std::string& kind,
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

inline QdiscOptions nested(const std::function<void(nl::Message&)>& options) {
    return [=](nl::Message& message) {
        auto nest = message.nest(TCA_OPTIONS);
        options(message);
    };
}

// --- the parents: each offers class 1:1 -------------------------------------

// One packet at a time: peeks, then takes.
inline QdiscOptions tbf_options(uint32_t bytes_per_second) {
    return nested([=](nl::Message& message) {
        tc_tbf_qopt qopt{};
        qopt.rate.rate = bytes_per_second;
        qopt.rate.linklayer = TC_LINKLAYER_ETHERNET;
        message.put(TCA_TBF_PARMS, &qopt, sizeof(qopt));
        message.put_u32(TCA_TBF_BURST, 1600);
    });
}

inline QdiscOptions red_options() {
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

inline void make_tbf(const End& end) {
    set_qdisc(end, "tbf", tbf_options(5'000'000));
}

inline void make_red(const End& end) {
    set_qdisc(end, "red", red_options());
}

inline void make_prio(const End& end) {
    set_qdisc(end, "prio", prio_options());
}

inline void make_drr(const End& end) {
    set_qdisc(end, "drr");
    add_class(end, kClass, kRoot, "drr",
              [](nl::Message& message) { message.put_u32(TCA_DRR_QUANTUM, 1514); });
}

inline void make_qfq(const End& end) {
    set_qdisc(end, "qfq");
    add_class(end, kClass, kRoot, "qfq", [](nl::Message& message) {
        message.put_u32(TCA_QFQ_WEIGHT, 1);
        message.put_u32(TCA_QFQ_LMAX, 65536);
    });
}

inline void make_htb(const End& end) {
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

inline void make_hfsc(const End& end) {
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

inline void make_ets(const End& end) {
    set_qdisc(end, "ets", nested([](nl::Message& message) {
                  message.put_u8(TCA_ETS_NBANDS, 2);
                  auto quanta = message.nest(TCA_ETS_QUANTA);
                  message.put_u32(TCA_ETS_QUANTA_BAND, 1514);
                  message.put_u32(TCA_ETS_QUANTA_BAND, 1514);
              }));
}

// tbf peeks at red, which asks pfqd: the peeked packet must not be left behind.
inline void make_tbf_red(const End& end) {
    set_qdisc(end, "tbf", tbf_options(5'000'000));
    set_qdisc(end, "red", red_options(), {kClass, kMiddle});
}

inline void make_prio_tbf(const End& end) {
    set_qdisc(end, "prio", prio_options());
    set_qdisc(end, "tbf", tbf_options(5'000'000), {kClass, kMiddle});
}

struct Parent {
    const char* name;
    void (*make)(const End& end);
    uint32_t leaf;                // pfqd's parent
    std::vector<uint32_t> above;  // parents of all qdiscs above pfqd
};

inline const std::vector<Parent>& parents() {
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

}  // namespace pfqd::selftest
