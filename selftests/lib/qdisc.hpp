// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
//
// Queueing disciplines of a test: set, removed, their counters read.
#pragma once

#include <linux/pkt_sched.h>

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "selftests/lib/link.hpp"

namespace pfqd::selftest {

// Appends TCA_OPTIONS to the request.
using QdiscOptions = std::function<void(nl::Message&)>;

struct QdiscPlace {
    uint32_t parent = TC_H_ROOT;
    uint32_t handle = 0x10000;  // 1:
};

// `tc qdisc replace`; throws NetlinkError with the kernel's reason.
void set_qdisc(const End& end, const std::string& kind, const QdiscOptions& options = {},
               QdiscPlace place = {});
// `tc qdisc change`
void change_qdisc(const End& end, const std::string& kind, const QdiscOptions& options,
                  QdiscPlace place = {});
void delete_qdisc(const End& end, uint32_t parent = TC_H_ROOT);

// `limit` in packets (pfifo) or bytes (bfifo).
QdiscOptions fifo_options(uint32_t limit);
// Three bands by skb->priority: 7 and 6 first, 1 and 2 last, as tc-prio(8).
QdiscOptions prio_options();

struct QdiscStats {
    std::string kind;
    uint64_t packets = 0;
    uint64_t bytes = 0;
    uint64_t drops = 0;
    uint64_t overlimits = 0;
    uint64_t requeues = 0;
    uint32_t qlen = 0;
    uint32_t backlog = 0;
    std::vector<uint8_t> app;      // TCA_STATS_APP's payload
    std::vector<uint8_t> options;  // TCA_OPTIONS' payload
};

// Of the qdisc there; throws when there is none.
QdiscStats qdisc_stats(const End& end, uint32_t parent = TC_H_ROOT);

}  // namespace pfqd::selftest
