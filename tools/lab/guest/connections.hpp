// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
//
// Opening the connection pool: so many established TCP connections per ordered
// pair of hosts, all owned by this process.
#pragma once

#include <vector>

#include "lab/common/fd.hpp"
#include "lab/guest/fabric.hpp"

namespace pfqd::lab {

struct Connection {
    Fd tx;  // the end at host src, which sends messages
    Fd rx;  // the end at host dst
    uint16_t src;
    uint16_t dst;
};

// Returns per_pair connections for every ordered pair, grouped by pair.
std::vector<Connection> open_connections(const Fabric& fabric, uint32_t per_pair);

// What configurations set by sysctl and route is only what sockets run if they took it
// over: throws when one has another first window than asked for, or ECN when it should
// not, or the other way round.
void check_connections(const NetworkSpec& spec, const std::vector<Connection>& connections);

}  // namespace pfqd::lab
