// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
//
// The network under test: N hosts and a top-of-rack switch, each a network
// namespace; the switch is a bridge, every link a wire.
#pragma once

#include <cstdint>
#include <vector>

#include "lab/common/netlink.hpp"
#include "lab/common/netns.hpp"
#include "lab/common/qdisc.hpp"
#include "lab/common/spec.hpp"

namespace pfqd::lab {

struct Host {
    nl::Netns netns;
    uint32_t ip;     // host byte order
    int port_index;  // of its port in the switch's namespace
};

// Sums over the wires' and qdiscs' counters of one side of the links.
struct SideCounters {
    QdiscCounters qdiscs;
    uint64_t wire_drops = 0;
    uint64_t data_packets = 0;
    uint64_t tx_frames = 0;
    uint64_t rx_frames = 0;

    SideCounters& operator+=(const SideCounters& other);
    SideCounters operator-(const SideCounters& before) const;
};

class Fabric {
  public:
    // Builds everything and waits for nothing: links are up when it returns.
    explicit Fabric(const NetworkSpec& spec, uint64_t seed);

    const std::vector<Host>& hosts() const { return hosts_; }
    // Stock hosts, each behind a slow link with a long delay on a port "i0", "i1", ... of
    // the same switch. What they count is in none of the sums below.
    const std::vector<Host>& internet() const { return internet_; }
    // Index of the host with that address; throws for a stranger.
    uint32_t host_of(uint32_t ip) const;
    const nl::Netns& tor() const { return tor_; }

    SideCounters host_counters() const;
    SideCounters tor_counters() const;

  private:
    Host add_host(const NetworkSpec& spec, uint64_t wire_seed, uint32_t ip, const std::string& port);

    nl::Netns tor_;
    std::vector<Host> hosts_, internet_;
};

}  // namespace pfqd::lab
