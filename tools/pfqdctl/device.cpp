// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
#include "pfqdctl/device.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <linux/if.h>
#include <linux/if_link.h>
#include <linux/rtnetlink.h>
#include <netlink/msg.h>

#include <cerrno>
#include <cstring>

#include "pfqdctl/failure.hpp"

namespace pfqd::ctl {

namespace {

Device device_of(const nlmsghdr& message) {
    ifinfomsg header;
    std::memcpy(&header, nlmsg_data(&message), sizeof(header));
    return {header.ifi_index, nl::attr_string(nl::find_attr(message, sizeof(header), IFLA_IFNAME)),
            header.ifi_type};
}

bool is_link(const nlmsghdr& message) {
    return message.nlmsg_type == RTM_NEWLINK && nlmsg_datalen(&message) >= int(sizeof(ifinfomsg));
}

Failure no_device(nl::Socket& socket, const std::string& name) {
    std::vector<std::string> names;
    for (const Device& device : all_devices(socket)) names.push_back(device.name);
    return Failure(fmt::format("there is no device '{}' in this network namespace; its devices: {}", name,
                               fmt::join(names, ", ")));
}

}  // namespace

std::vector<Device> all_devices(nl::Socket& socket) {
    std::vector<Device> devices;
    nl::Message message(RTM_GETLINK, 0);
    message.raw(ifinfomsg{});
    socket.dump(message, [&](const nlmsghdr& answer) {
        if (is_link(answer)) devices.push_back(device_of(answer));
    });
    return devices;
}

Device find_device(nl::Socket& socket, const std::string& name) {
    Device device;
    if (name.empty()) throw no_device(socket, name);
    nl::Message message(RTM_GETLINK, 0);
    message.raw(ifinfomsg{});
    message.put_string(name.size() < IFNAMSIZ ? IFLA_IFNAME : IFLA_ALT_IFNAME, name);
    try {
        socket.query(message, [&](const nlmsghdr& answer) {
            if (is_link(answer)) device = device_of(answer);
        });
    } catch (const nl::NetlinkError& error) {
        // A name that is too long to be one is not there either.
        if (error.code() != ENODEV && error.code() != EINVAL && error.code() != ERANGE) throw;
    }
    if (!device.ifindex) throw no_device(socket, name);
    return device;
}

}  // namespace pfqd::ctl
