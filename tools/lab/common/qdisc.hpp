// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
//
// Setting the qdisc under test on a port, and reading its counters back.
#pragma once

#include <cstdint>
#include <string>

#include "lab/common/counter_set.hpp"
#include "lab/common/netlink.hpp"
#include "lab/common/spec.hpp"

namespace pfqd::lab {

// As the root; on an interface with several hardware queues below an mq root, one for
// each queue.
void set_root_qdisc(nl::Socket& socket, int ifindex, const QdiscSpec& spec, uint32_t queues = 1);

struct QdiscCounters {
    uint64_t drops = 0;
    uint64_t marks = 0;
    CounterSet pfqd;    // what pfqd says more of itself
    CounterSet queues;  // "packets": sent by each hardware queue, where there is an mq

    QdiscCounters& operator+=(const QdiscCounters& other);
    QdiscCounters operator-(const QdiscCounters& before) const;
};

// Sums over all interfaces of the socket's network namespace: of their root qdiscs, and
// of the qdiscs below one that is an mq.
QdiscCounters read_qdiscs(nl::Socket& socket);

}  // namespace pfqd::lab
