// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
//
// What PFQD-DC sets on routes: the first flight, and ECN for what takes this route.
#pragma once

#include <cstdint>

#include "lab/common/netlink.hpp"

namespace pfqd::lab {

struct RouteMetrics {
    uint32_t initcwnd = 0;  // segments; 0: the kernel's own
    bool ecn = false;       // what ECN feature the route has, whatever net.ipv4.tcp_ecn says
};

// The IPv4 route that the kernel made for the address `ip`/prefix (host byte order) of
// that interface, replaced by itself with these metrics. Sockets made before keep the
// route as it was; does nothing when no metric is asked for.
void set_route_metrics(nl::Socket& socket, int ifindex, uint32_t ip, int prefix, const RouteMetrics& metrics);

}  // namespace pfqd::lab
