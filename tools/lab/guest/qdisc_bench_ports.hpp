// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
//
// The contenders of the qdisc bench: each qdisc on a device of its own.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "lab/common/netlink.hpp"

namespace pfqd::lab {

struct BenchPort {
    std::string name;  // of the contender
    int ifindex = 0;
    uint64_t setup_bytes = 0;  // memory of the qdisc before its first packet
};

// A qdisc without a past.
void renew_qdisc(nl::Socket& socket, const BenchPort& port);

// Makes all of them, up. The first one gets the address that sockets are bound to.
std::vector<BenchPort> make_bench_ports(nl::Socket& socket);

// Free memory of the guest, bytes.
uint64_t free_memory();

}  // namespace pfqd::lab
