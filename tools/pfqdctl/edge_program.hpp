// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
//
// The edge's BPF program: loading it, knowing it again on a device, reading what it
// has counted.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "pfqdctl/edge_counters.h"

struct edge_bpf;

namespace pfqd::ctl {

enum class EdgeMode {
    stamp,  // all that enters
    trust,  // all but what carries a valid stamp
};

std::string_view mode_name(EdgeMode mode);

// Where a device has the IP header when the hook runs.
enum class LinkLayer { ethernet, none };

// Of the device type ARPHRD_*, or nothing when we do not know.
std::optional<LinkLayer> link_layer(uint16_t type);

// The mode of a program on a device by the name that its loader gave it, or nothing
// when that is no name of ours: "pfqd_edge_trust" or "pfqd_edge_trust:[17]".
std::optional<EdgeMode> mode_of_program(std::string_view name);

class EdgeProgram {
  public:
    // Loads it; throws Failure.
    EdgeProgram(EdgeMode mode, LinkLayer layer);

    int fd() const { return fd_; }
    const std::string& name() const { return name_; }
    // The kernel's digest of the instructions: equal for equal programs.
    const std::string& tag() const { return tag_; }
    uint32_t id() const { return id_; }

  private:
    struct Destroy {
        void operator()(edge_bpf* skeleton) const;
    };
    std::unique_ptr<edge_bpf, Destroy> skeleton_;
    int fd_ = -1;
    std::string name_, tag_;
    uint32_t id_ = 0;
};

using EdgeCounts = std::array<uint64_t, EDGE_COUNTERS>;

// What the kernel itself says about a loaded program.
struct LoadedProgram {
    bool permitted = false;  // the kernel lets us look: CAP_SYS_ADMIN
    bool found = false;      // it is still loaded
    bool ours = false;
    std::optional<EdgeCounts> counts{};  // over all CPUs
};

LoadedProgram inspect_program(uint32_t id);

}  // namespace pfqd::ctl
