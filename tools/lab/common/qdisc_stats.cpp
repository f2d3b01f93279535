// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
#include "lab/common/qdisc_stats.hpp"

#include <linux/pfqd_stamp.h>
#include <linux/pkt_sch_pfqd.h>
#include <linux/pkt_sched.h>
#include <netlink/attr.h>

#include <array>
#include <cstring>
#include <vector>

namespace pfqd::lab {

namespace {

struct Named {
    const char* name;
    int attr;
};

constexpr Named kTotals[] = {{"stamps", TCA_PFQD_STATS_STAMPS},
                             {"stamp_failures", TCA_PFQD_STATS_STAMP_FAILURES},
                             {"serves_banded", TCA_PFQD_STATS_SERVES_BANDED},
                             {"serves_ordinary", TCA_PFQD_STATS_SERVES_ORDINARY},
                             {"demotions", TCA_PFQD_STATS_DEMOTIONS},
                             {"cycles", TCA_PFQD_STATS_CYCLES},
                             {"drops_limit", TCA_PFQD_STATS_DROPS_LIMIT},
                             {"drops_memlimit", TCA_PFQD_STATS_DROPS_MEMLIMIT},
                             {"drops_budget", TCA_PFQD_STATS_DROPS_BUDGET},
                             {"unmarkable", TCA_PFQD_STATS_UNMARKABLE},
                             {"overflow_packets", TCA_PFQD_STATS_OVERFLOW_PACKETS},
                             {"alloc_failures", TCA_PFQD_STATS_ALLOC_FAILURES}};

constexpr Named kServed[] = {
    {"packets", TCA_PFQD_TIER_PACKETS}, {"bytes", TCA_PFQD_TIER_BYTES}, {"sojourn", TCA_PFQD_TIER_SOJOURN}};

constexpr Named kClass[] = {{"packets", TCA_PFQD_CLASS_PACKETS},
                            {"bytes", TCA_PFQD_CLASS_BYTES},
                            {"marks", TCA_PFQD_CLASS_MARKS},
                            {"drops", TCA_PFQD_CLASS_DROPS}};

constexpr Named kTiers[] = {
    {"control", 1 + PFQD_TIER_CONTROL}, {"high", 1 + PFQD_TIER_HIGH}, {"low", 1 + PFQD_TIER_LOW}};

constexpr Named kClasses[] = {
    {"short", 1 + PFQD_RTT_SHORT}, {"long", 1 + PFQD_RTT_LONG}, {"none", 1 + PFQD_RTT_NONE}};

static_assert(PFQD_BANDS == 6);
constexpr Named kBands[] = {{"0", 1}, {"1", 2}, {"2", 3}, {"3", 4}, {"4", 5}, {"5", 6}, {"none", 7}};

// The attributes with those names below `parent`, as counters `prefix` + name.
void add_named(CounterSet& counters, const std::string& prefix, const nlattr* parent,
               std::span<const Named> names) {
    for (const Named& one : names) {
        const nlattr* attr = nl::find_nested(parent, one.attr);
        if (!attr || nla_len(attr) < static_cast<int>(sizeof(uint64_t))) continue;
        std::vector<uint64_t> values(static_cast<size_t>(nla_len(attr)) / sizeof(uint64_t));
        std::memcpy(values.data(), nla_data(attr), values.size() * sizeof(uint64_t));
        counters.add(prefix + one.name, values);
    }
}

void add_group(CounterSet& counters, const std::string& group, const nlattr* parent,
               std::span<const Named> members, std::span<const Named> names) {
    for (const Named& member : members)
        add_named(counters, group + "." + member.name + ".", nl::find_nested(parent, member.attr), names);
}

template <class T>
bool read_struct(const nlattr* app, T& out) {
    if (nla_len(app) < static_cast<int>(sizeof(out))) return false;
    std::memcpy(&out, nla_data(app), sizeof(out));
    return true;
}

}  // namespace

uint64_t marks_of(const std::string& kind, const nlattr* app) {
    if (!app) return 0;
    if (kind == "pfqd") {
        const nlattr* marks = nl::find_nested(app, TCA_PFQD_STATS_MARKS);
        return marks ? nl::attr_u64(marks) : 0;
    }
    if (kind == "red") {
        tc_red_xstats stats;
        return read_struct(app, stats) ? stats.marked : 0;
    }
    if (kind == "fq_codel") {
        tc_fq_codel_xstats stats;
        if (!read_struct(app, stats) || stats.type != TCA_FQ_CODEL_XSTATS_QDISC) return 0;
        return uint64_t{stats.qdisc_stats.ecn_mark} + stats.qdisc_stats.ce_mark;
    }
    return 0;
}

CounterSet pfqd_counters(const nlattr* app) {
    CounterSet counters;
    add_named(counters, "", app, kTotals);
    add_group(counters, "tiers", nl::find_nested(app, TCA_PFQD_STATS_TIERS), kTiers, kServed);
    add_group(counters, "bands", nl::find_nested(app, TCA_PFQD_STATS_BANDS), kBands, kServed);
    add_group(counters, "classes", nl::find_nested(app, TCA_PFQD_STATS_CLASSES), kClasses, kClass);
    return counters;
}

}  // namespace pfqd::lab
