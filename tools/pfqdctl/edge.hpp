// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
//
// The edge on a device: what attach, detach and show do, without their words.
//
// The filter on the device is all the state there is. It has a fixed priority, and
// its handle says whether attach had to add the qdisc that carries the hook, so
// detach knows whether to take that away again: nothing to keep in files, nothing to
// lose in a crash, and right in every network namespace.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "pfqdctl/device.hpp"
#include "pfqdctl/edge_program.hpp"

namespace pfqd::ctl {

// Before tc's automatic priorities (49152 and down) and after the lowest numbers,
// which others give their own filters.
inline constexpr uint16_t kEdgePriority = 63;
inline constexpr uint32_t kEdgeHandleAdded = 0x70667101;  // "pfq": attach added the qdisc
inline constexpr uint32_t kEdgeHandleFound = 0x70667102;  // it was there before

struct Edge {
    Device device;
    EdgeMode mode = EdgeMode::stamp;
    uint32_t handle = 0;
    std::string program{};
    uint32_t program_id = 0;
    std::string tag{};
    std::string qdisc{};        // "clsact" or "ingress"
    size_t filters_before = 0;  // that run earlier and may end a packet's way
    bool may_count = false;     // the kernel lets us look at the program
    std::optional<EdgeCounts> counts{};

    bool added_qdisc() const { return handle == kEdgeHandleAdded; }
};

enum class AttachChange {
    none,      // it was attached in that mode
    attached,  // new
    mode,      // it was attached in the other mode
    program,   // it was another version's program
};

struct AttachResult {
    Edge edge;
    AttachChange change = AttachChange::none;
};

enum class QdiscFate {
    removed,   // attach had added it and nobody else uses it
    used,      // attach had added it, and others have filters on it now
    not_ours,  // it was there before
};

struct DetachResult {
    Device device;
    bool was_attached = false;
    QdiscFate qdisc = QdiscFate::not_ours;
    std::string qdisc_kind{};
};

// All throw Failure, with the device's state as before.
AttachResult attach_edge(const std::string& device, EdgeMode mode);
DetachResult detach_edge(const std::string& device);
// Nothing when it is not attached there.
std::optional<Edge> find_edge(const Device& device);
std::vector<Edge> all_edges();

}  // namespace pfqd::ctl
