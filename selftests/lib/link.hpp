// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
//
// Networks of a test: wires between namespaces, addresses, bridges.
//
//   const nl::Netns a = quiet_netns(), b = quiet_netns();
//   auto [left, right] = make_wire(a, {.ring = 15625}, b, {.moderation_ns = 8000, ...});
//   left.add_address("10.0.0.1");
//
// An End keeps a reference to its namespace: the Netns must live longer.
#pragma once

#include <linux/if_link.h>
#include <linux/lab_wire.h>

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "lab/common/netlink.hpp"
#include "lab/common/netns.hpp"

namespace pfqd::selftest {

// Enters a namespace for the life of a block.
class In {
  public:
    explicit In(const nl::Netns& netns) : before_(nl::Netns::current()) { netns.enter(); }
    ~In() { before_.enter(); }
    In(const In&) = delete;
    In& operator=(const In&) = delete;

  private:
    nl::Netns before_;
};

// A new namespace without IPv6: none of its random neighbour traffic.
nl::Netns quiet_netns();

// What is absent stays at the kernel's (or the end's present) value.
struct EndOptions {
    std::optional<std::string> name{};
    std::optional<uint64_t> rate{};   // bit/s
    std::optional<uint64_t> delay{};  // ns
    std::optional<uint64_t> ring{};   // wire bytes
    std::optional<uint32_t> loss{};   // parts per million
    std::optional<uint32_t> seed{};
    std::optional<uint32_t> moderation{};  // ns
    std::optional<uint8_t> mode{};         // LAB_WIRE_MODERATION_*
    std::optional<uint32_t> lateness{};    // ns
    std::optional<uint8_t> gro{};
    std::optional<uint32_t> mtu{};
    std::optional<uint8_t> bus{};            // at creation only
    std::optional<uint32_t> queues{};        // at creation only
    std::optional<uint32_t> gso_max_segs{};  // at creation, or by change()
};

class End {
  public:
    End(const nl::Netns& netns, std::string name);

    const nl::Netns& netns() const { return *netns_; }
    int ifindex() const { return ifindex_; }
    const std::string& name() const { return name_; }

    void change(const EndOptions& options) const;
    // gso_max_segs of a link of any kind: 1 for no GSO packets.
    void limit_gso(uint32_t segments) const;
    void set_up(bool up) const;
    // Until its carrier is there and its qdisc runs: sent before, a packet is lost.
    void wait_running() const;
    void set_master(int ifindex) const;
    void add_address(const std::string& ipv4, unsigned prefix = 24) const;
    void remove() const;

    // IFLA_INFO_XSTATS of a wire: LAB_WIRE_STAT_*
    uint64_t counter(int stat) const;
    // IFLA_INFO_DATA of a wire, of any width: IFLA_LAB_WIRE_*
    uint64_t option(int attr) const;
    bool carrier() const;
    // What `ip -s link` shows.
    rtnl_link_stats64 statistics() const;
    // Ethernet address, 6 bytes
    std::vector<uint8_t> address() const;

  private:
    const nl::Netns* netns_;
    std::string name_;
    int ifindex_;
};

// Both ends up, unless told otherwise.
std::pair<End, End> make_wire(const nl::Netns& left, const EndOptions& left_options, const nl::Netns& right,
                              const EndOptions& right_options, bool up = true);

// The RTM_NEWLINK that makes a wire, not sent yet: for tests of refusals.
nl::Message wire_request(const EndOptions& left_options, const nl::Netns& right,
                         const EndOptions& right_options);
// IFLA_* and IFLA_LINKINFO of these options, appended to a link request.
void put_end(nl::Message& message, const EndOptions& options);

// A pair of virtual links, which pass GSO packets and their sockets on as they are. Down.
std::pair<End, End> make_veth(const nl::Netns& left, const std::string& left_name, const nl::Netns& right,
                              const std::string& right_name);

// A bridge with those ports, up.
End make_bridge(const nl::Netns& netns, const std::vector<const End*>& ports);

}  // namespace pfqd::selftest
