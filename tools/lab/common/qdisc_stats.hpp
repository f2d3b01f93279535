// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
//
// What qdiscs count, out of the attributes in which they say it.
#pragma once

#include <string>

#include "lab/common/counter_set.hpp"
#include "lab/common/netlink.hpp"

namespace pfqd::lab {

// Packets marked CE, from TCA_STATS_APP of a qdisc of that kind; 0 for one that does not
// mark, or no attribute.
uint64_t marks_of(const std::string& kind, const nlattr* app);

// All counters of a pfqd; those that its version does not have are left out.
//   tiers.control|high|low.packets|bytes|sojourn
//   bands.0|..|5|none.packets|bytes|sojourn
//   classes.short|long|none.packets|bytes|marks|drops
//   stamps, stamp_failures, serves_banded, serves_ordinary, demotions, drops_limit, ...
CounterSet pfqd_counters(const nlattr* app);

}  // namespace pfqd::lab
