// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
//
// The links of the fabric: a bridge, wires whose two ends differ, addresses.
#pragma once

#include <cstdint>
#include <string>

#include "lab/common/netlink.hpp"
#include "lab/common/netns.hpp"
#include "lab/common/spec.hpp"

namespace pfqd::lab {

// Of an interface of this thread's namespace; throws when there is none.
int index_of(const std::string& name);

// A bridge without STP and multicast snooping, up; its interface number.
int make_bridge(nl::Socket& socket, const std::string& name);

// A wire whose one end is a switch's port, here, and whose other is a host's card "eth0" in
// that namespace with so many transmit queues. Both are down and as a new wire is.
void make_wire(nl::Socket& socket, const NetworkSpec& spec, const std::string& port, const nl::Netns& host);

// What a wire's end does, as a host's card or as a switch's port.
enum class EndKind { host, port };
void set_end(nl::Socket& socket, int index, const NetworkSpec& spec, uint64_t seed, EndKind kind);

// Up, and below a bridge (its interface number) if not 0.
void set_up(nl::Socket& socket, int index, int master = 0);
void add_address(nl::Socket& socket, int index, uint32_t ip, int prefix);

}  // namespace pfqd::lab
