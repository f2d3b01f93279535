// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
#include "lab/common/qdisc.hpp"

#include <linux/gen_stats.h>
#include <linux/pkt_sch_pfqd.h>
#include <linux/pkt_sched.h>
#include <linux/rtnetlink.h>
#include <netlink/attr.h>
#include <netlink/msg.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <set>
#include <utility>
#include <vector>

#include "lab/common/qdisc_stats.hpp"

namespace pfqd::lab {

namespace {

constexpr uint32_t kMqHandle = 0x10000;  // 1:, its queues are 1:1, 1:2, ...

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
    {"split_gso", TCA_PFQD_SPLIT_GSO, 1}, {"completion", TCA_PFQD_COMPLETION, 1},
    {"stamp", TCA_PFQD_STAMP, 1}};

void put_pfqd(nl::Message& message, const nlohmann::json& options) {
    auto nest = message.nest(TCA_OPTIONS | NLA_F_NESTED);
    for (const PfqdOption& option : kPfqdOptions) {
        if (!options.contains(option.name)) continue;
        const auto value = options[option.name].get<uint32_t>();
        message.put(option.attr, &value, option.bytes);  // the guest is little-endian
    }
}

void replace_qdisc(nl::Socket& socket, int ifindex, uint32_t parent, uint32_t handle, const QdiscSpec& spec) {
    const bool red = spec.kind == "red_step";
    nl::Message message(RTM_NEWQDISC, NLM_F_CREATE | NLM_F_REPLACE);
    tcmsg tc{};
    tc.tcm_family = AF_UNSPEC;
    tc.tcm_ifindex = ifindex;
    tc.tcm_parent = parent;
    tc.tcm_handle = handle;
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
    else if (spec.kind != "mq")
        throw std::runtime_error("qdisc kind '" + spec.kind + "' is none of bfifo, fq_codel, red_step, pfqd");
    socket.request(message);
}

// One qdisc of a dump, what of it is counted.
struct Entry {
    int ifindex;
    uint32_t handle, parent;
    std::string kind;
    uint64_t packets = 0;
    QdiscCounters counters;
};

Entry entry_of(const nlmsghdr& header) {
    tcmsg tc;
    std::memcpy(&tc, nlmsg_data(&header), sizeof(tc));
    Entry entry{tc.tcm_ifindex,
                tc.tcm_handle,
                tc.tcm_parent,
                nl::attr_string(nl::find_attr(header, sizeof(tc), TCA_KIND)),
                0,
                {}};
    const nlattr* stats = nl::find_attr(header, sizeof(tc), TCA_STATS2);
    const nlattr* app = nl::find_nested(stats, TCA_STATS_APP);
    if (const nlattr* queue = nl::find_nested(stats, TCA_STATS_QUEUE)) {
        gnet_stats_queue counters{};
        std::memcpy(&counters, nla_data(queue), std::min<size_t>(sizeof(counters), nla_len(queue)));
        entry.counters.drops = counters.drops;
    }
    if (const nlattr* basic = nl::find_nested(stats, TCA_STATS_BASIC)) {
        gnet_stats_basic counters{};
        std::memcpy(&counters, nla_data(basic), std::min<size_t>(sizeof(counters), nla_len(basic)));
        entry.packets = counters.packets;
    }
    entry.counters.marks = marks_of(entry.kind, app);
    if (entry.kind == "pfqd" && app) entry.counters.pfqd = pfqd_counters(app);
    return entry;
}

// Counts what the mq's queue behind `parent` sent.
void add_queue(CounterSet& queues, uint32_t parent, uint64_t packets) {
    std::vector<uint64_t> sent(TC_H_MIN(parent));  // queues are 1 ..
    sent.back() = packets;
    queues.add("packets", sent);
}

}  // namespace

void set_root_qdisc(nl::Socket& socket, int ifindex, const QdiscSpec& spec, uint32_t queues) {
    if (queues == 1) return replace_qdisc(socket, ifindex, TC_H_ROOT, 0, spec);
    replace_qdisc(socket, ifindex, TC_H_ROOT, kMqHandle, {"mq", {}});
    for (uint32_t queue = 1; queue <= queues; queue++)
        replace_qdisc(socket, ifindex, kMqHandle | queue, 0, spec);
}

QdiscCounters& QdiscCounters::operator+=(const QdiscCounters& other) {
    drops += other.drops;
    marks += other.marks;
    pfqd += other.pfqd;
    queues += other.queues;
    return *this;
}

QdiscCounters QdiscCounters::operator-(const QdiscCounters& before) const {
    return {drops - before.drops, marks - before.marks, pfqd - before.pfqd, queues - before.queues};
}

QdiscCounters read_qdiscs(nl::Socket& socket) {
    std::vector<Entry> entries;
    nl::Message message(RTM_GETQDISC, 0);
    message.raw(tcmsg{});
    socket.dump(message, [&](const nlmsghdr& header) { entries.push_back(entry_of(header)); });

    std::set<std::pair<int, uint32_t>> mqs;
    for (const Entry& entry : entries)
        if (entry.kind == "mq") mqs.emplace(entry.ifindex, entry.handle);
    QdiscCounters sum;
    for (const Entry& entry : entries) {
        const bool below_mq = mqs.contains({entry.ifindex, TC_H_MAJ(entry.parent)});
        if (entry.kind == "mq" || (entry.parent != TC_H_ROOT && !below_mq)) continue;
        sum += entry.counters;
        if (below_mq) add_queue(sum.queues, entry.parent, entry.packets);
    }
    return sum;
}

}  // namespace pfqd::lab
