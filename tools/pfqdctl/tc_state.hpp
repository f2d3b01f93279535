// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
//
// What is on the ingress and egress hooks, asked over netlink: also by users who may
// change nothing.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "lab/common/netlink.hpp"

namespace pfqd::ctl {

// The qdisc that carries the hooks: "clsact", or "ingress" with that hook alone.
struct HookQdisc {
    int ifindex = 0;
    std::string kind;
};

struct Filter {
    std::string kind;
    uint16_t priority = 0;
    uint16_t protocol = 0;  // ETH_P_*, host order
    uint32_t handle = 0;
    uint32_t chain = 0;
    uint32_t parent = 0;  // by which the hook was named when a filter was last added
    // of kind "bpf":
    std::string program{};  // as its loader called it
    uint32_t program_id = 0;
    std::string tag{};  // hex
};

enum class Hook { ingress, egress };

std::vector<HookQdisc> hook_qdiscs(nl::Socket& socket);

// In the order in which they run. An `ingress` qdisc has no egress: do not ask.
std::vector<Filter> filters(nl::Socket& socket, int ifindex, Hook hook);

// Chains of filters, also those that are empty but were made by someone.
size_t chain_count(nl::Socket& socket, int ifindex, Hook hook);

}  // namespace pfqd::ctl
