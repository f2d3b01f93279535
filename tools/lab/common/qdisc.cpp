// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
#include "lab/common/qdisc.hpp"

#include <linux/gen_stats.h>
#include <linux/pkt_sch_pfqd.h>
#include <linux/pkt_sched.h>
#include <linux/rtnetlink.h>
#include <netlink/attr.h>
#include <netlink/msg.h>

#include <array>
#include <cstring>

namespace pfqd::lab {

namespace {

void put_bfifo(nl::Message& message, const nlohmann::json& options) {
    const tc_fifo_qopt qopt{.limit = options.at("limit").get<uint32_t>()};
    message.put(TCA_OPTIONS, &qopt, sizeof(qopt));
}

// A step on the instantaneous queue, as DCTCP wants it, out of the stock RED:
// averaging weight 2^-0, both thresholds at the step, and a table that forgets
// the queue at once when the port was idle. NODROP: what is not ECN-capable
// passes and only the byte limit drops it.
void put_red_step(nl::Message& message, const nlohmann::json& options) {
    constexpr uint8_t kForgetAtOnce = 31;  // shift of the average after any idle time
    const auto threshold = options.at("threshold").get<uint32_t>();
    tc_red_qopt qopt{};
    qopt.limit = options.at("limit").get<uint32_t>();
    qopt.qth_min = threshold;
    qopt.qth_max = threshold;
    qopt.Wlog = 0;
    qopt.Plog = 1;
    qopt.Scell_log = 10;
    std::array<uint8_t, 256> stab;
    stab.fill(kForgetAtOnce);
    constexpr uint32_t kFlags = TC_RED_ECN | TC_RED_NODROP;
    const nla_bitfield32 flags{.value = kFlags, .selector = kFlags};

    auto nest = message.nest(TCA_OPTIONS);
    message.put(TCA_RED_PARMS, &qopt, sizeof(qopt));
    message.put(TCA_RED_STAB, stab.data(), stab.size());
    message.put_u32(TCA_RED_MAX_P, 0xffffffff);
    message.put(TCA_RED_FLAGS, &flags, sizeof(flags));
}

void put_fq_codel(nl::Message& message, const nlohmann::json& options) {
    auto nest = message.nest(TCA_OPTIONS | NLA_F_NESTED);
    if (options.contains("memlimit"))
        message.put_u32(TCA_FQ_CODEL_MEMORY_LIMIT, options["memlimit"].get<uint32_t>());
}

struct PfqdOption {
    const char* name;
    int attr;
    size_t bytes;
};

constexpr PfqdOption kPfqdOptions[] = {
    {"limit", TCA_PFQD_LIMIT, 4},         {"memlimit", TCA_PFQD_MEMLIMIT, 4},
    {"flows", TCA_PFQD_FLOWS, 4},         {"quantum", TCA_PFQD_QUANTUM, 4},
    {"demote_us", TCA_PFQD_DEMOTE, 4},    {"control", TCA_PFQD_CONTROL, 4},
    {"budget_us", TCA_PFQD_BUDGET, 4},    {"short_us", TCA_PFQD_BUDGET_SHORT, 4},
    {"long_us", TCA_PFQD_BUDGET_LONG, 4}, {"ecn", TCA_PFQD_ECN, 1},
    {"split_gso", TCA_PFQD_SPLIT_GSO, 1}};

void put_pfqd(nl::Message& message, const nlohmann::json& options) {
    auto nest = message.nest(TCA_OPTIONS | NLA_F_NESTED);
    for (const PfqdOption& option : kPfqdOptions) {
        if (!options.contains(option.name)) continue;
        const auto value = options[option.name].get<uint32_t>();
        message.put(option.attr, &value, option.bytes);  // the guest is little-endian
    }
}

uint64_t u64_of(const nlattr* attr) {
    return attr && nla_len(attr) == sizeof(uint64_t) ? nl::attr_u64(attr) : 0;
}

uint64_t xstats_marks(const std::string& kind, const nlattr* app) {
    if (!app) return 0;
    if (kind == "pfqd") return u64_of(nl::find_nested(app, TCA_PFQD_STATS_MARKS));
    if (kind == "red") {
        tc_red_xstats stats;
        if (nla_len(app) < static_cast<int>(sizeof(stats))) return 0;
        std::memcpy(&stats, nla_data(app), sizeof(stats));
        return stats.marked;
    }
    if (kind == "fq_codel") {
        tc_fq_codel_xstats stats;
        if (nla_len(app) < static_cast<int>(sizeof(stats))) return 0;
        std::memcpy(&stats, nla_data(app), sizeof(stats));
        if (stats.type != TCA_FQ_CODEL_XSTATS_QDISC) return 0;
        return stats.qdisc_stats.ecn_mark + stats.qdisc_stats.ce_mark;
    }
    return 0;
}

}  // namespace

void set_root_qdisc(nl::Socket& socket, int ifindex, const QdiscSpec& spec) {
    const bool red = spec.kind == "red_step";
    nl::Message message(RTM_NEWQDISC, NLM_F_CREATE | NLM_F_REPLACE);
    tcmsg tc{};
    tc.tcm_family = AF_UNSPEC;
    tc.tcm_ifindex = ifindex;
    tc.tcm_parent = TC_H_ROOT;
    message.raw(tc);
    message.put_string(TCA_KIND, red ? "red" : spec.kind);
    if (red)
        put_red_step(message, spec.options);
    else if (spec.kind == "bfifo")
        put_bfifo(message, spec.options);
    else if (spec.kind == "pfqd")
        put_pfqd(message, spec.options);
    else if (spec.kind == "fq_codel")
        put_fq_codel(message, spec.options);
    else
        throw std::runtime_error("qdisc kind '" + spec.kind + "' is none of bfifo, fq_codel, red_step, pfqd");
    socket.request(message);
}

QdiscCounters read_qdiscs(nl::Socket& socket) {
    QdiscCounters sum;
    nl::Message message(RTM_GETQDISC, 0);
    message.raw(tcmsg{});
    socket.dump(message, [&](const nlmsghdr& header) {
        tcmsg tc;
        std::memcpy(&tc, nlmsg_data(&header), sizeof(tc));
        const nlattr* stats = nl::find_attr(header, sizeof(tc), TCA_STATS2);
        const nlattr* queue = nl::find_nested(stats, TCA_STATS_QUEUE);
        if (tc.tcm_parent != TC_H_ROOT || !queue) return;
        gnet_stats_queue counters{};
        std::memcpy(&counters, nla_data(queue), std::min<size_t>(sizeof(counters), nla_len(queue)));
        sum.drops += counters.drops;
        sum.marks += xstats_marks(nl::attr_string(nl::find_attr(header, sizeof(tc), TCA_KIND)),
                                  nl::find_nested(stats, TCA_STATS_APP));
    });
    return sum;
}

}  // namespace pfqd::lab
