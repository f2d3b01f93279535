// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
//
// Network devices of this namespace, by name.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "lab/common/netlink.hpp"

namespace pfqd::ctl {

struct Device {
    int ifindex = 0;
    std::string name;
    uint16_t type = 0;  // ARPHRD_*
};

std::vector<Device> all_devices(nl::Socket& socket);

// By its name or an alternative name. Throws Failure that lists the devices there are.
Device find_device(nl::Socket& socket, const std::string& name);

}  // namespace pfqd::ctl
