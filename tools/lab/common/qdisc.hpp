// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
//
// Setting the qdisc under test on a port, and reading its counters back.
#pragma once

#include <cstdint>
#include <string>

#include "lab/common/netlink.hpp"
#include "lab/common/spec.hpp"

namespace pfqd::lab {

void set_root_qdisc(nl::Socket& socket, int ifindex, const QdiscSpec& spec);

struct QdiscCounters {
    uint64_t drops = 0;
    uint64_t marks = 0;
};

// Sums over all root qdiscs of the socket's network namespace.
QdiscCounters read_qdiscs(nl::Socket& socket);

}  // namespace pfqd::lab
