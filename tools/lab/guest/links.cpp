// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
#include "lab/guest/links.hpp"

#include <arpa/inet.h>
#include <linux/if_link.h>
#include <linux/lab_wire.h>
#include <linux/rtnetlink.h>
#include <net/if.h>

#include <stdexcept>

#include "lab/common/fd.hpp"

namespace pfqd::lab {

namespace {

ifinfomsg link_header(int index, bool up) {
    ifinfomsg header{};
    header.ifi_family = AF_UNSPEC;
    header.ifi_index = index;
    header.ifi_flags = up ? IFF_UP : 0;
    header.ifi_change = up ? IFF_UP : 0;
    return header;
}

uint8_t moderation_mode(const std::string& name) {
    if (name == "psh") return LAB_WIRE_MODERATION_PSH;
    if (name == "all") return LAB_WIRE_MODERATION_ALL;
    if (name == "off") return LAB_WIRE_MODERATION_OFF;
    throw std::runtime_error("moderation '" + name + "' is none of psh, all, off");
}

void put_link(nl::Message& message, const NetworkSpec& spec, const std::string& name) {
    message.put_string(IFLA_IFNAME, name);
    message.put_u32(IFLA_MTU, spec.mtu);
    // Without this the stack hands the qdisc units of up to 64 KB (`ethtool -K gso
    // off` only moves segmentation behind the qdisc).
    if (!spec.gso) message.put_u32(IFLA_GSO_MAX_SEGS, 1);
}

}  // namespace

int index_of(const std::string& name) {
    const unsigned index = if_nametoindex(name.c_str());
    if (index == 0) throw_errno("interface " + name);
    return static_cast<int>(index);
}

int make_bridge(nl::Socket& socket, const std::string& name) {
    nl::Message message(RTM_NEWLINK, NLM_F_CREATE | NLM_F_EXCL);
    message.raw(link_header(0, true));
    message.put_string(IFLA_IFNAME, name);
    {
        auto info = message.nest(IFLA_LINKINFO);
        message.put_string(IFLA_INFO_KIND, "bridge");
        auto data = message.nest(IFLA_INFO_DATA);
        message.put_u32(IFLA_BR_STP_STATE, 0);
        message.put_u32(IFLA_BR_FORWARD_DELAY, 0);
        message.put_u8(IFLA_BR_MCAST_SNOOPING, 0);
    }
    socket.request(message);
    return index_of(name);
}

void make_wire(nl::Socket& socket, const NetworkSpec& spec, const std::string& port, const nl::Netns& host) {
    nl::Message message(RTM_NEWLINK, NLM_F_CREATE | NLM_F_EXCL);
    message.raw(link_header(0, false));
    put_link(message, spec, port);
    {
        auto info = message.nest(IFLA_LINKINFO);
        message.put_string(IFLA_INFO_KIND, "wire");
        auto data = message.nest(IFLA_INFO_DATA);
        // Ports and cards are hardware: a qdisc may believe the speed they tell.
        message.put_u8(IFLA_LAB_WIRE_BUS, 1);
        auto peer = message.nest(IFLA_LAB_WIRE_PEER);
        message.raw(link_header(0, false));
        put_link(message, spec, "eth0");
        if (spec.queues > 1) message.put_u32(IFLA_NUM_TX_QUEUES, spec.queues);
        message.put_u32(IFLA_NET_NS_FD, static_cast<uint32_t>(host.fd()));
        auto peer_info = message.nest(IFLA_LINKINFO);
        message.put_string(IFLA_INFO_KIND, "wire");
        auto peer_data = message.nest(IFLA_INFO_DATA);
        message.put_u8(IFLA_LAB_WIRE_BUS, 1);
    }
    socket.request(message);
}

void set_end(nl::Socket& socket, int index, const NetworkSpec& spec, uint64_t seed, EndKind kind) {
    const bool host = kind == EndKind::host;
    nl::Message message(RTM_NEWLINK, 0);
    message.raw(link_header(index, false));
    {
        auto info = message.nest(IFLA_LINKINFO);
        message.put_string(IFLA_INFO_KIND, "wire");
        auto data = message.nest(IFLA_INFO_DATA);
        message.put_u64(IFLA_LAB_WIRE_RATE, spec.rate_bps);
        message.put_u64(IFLA_LAB_WIRE_DELAY, spec.delay_ns);
        message.put_u64(IFLA_LAB_WIRE_RING, host ? spec.ring_ns * spec.rate_bps / 8'000'000'000 : 0);
        message.put_u32(IFLA_LAB_WIRE_LOSS, static_cast<uint32_t>(spec.loss_ppm));
        message.put_u32(IFLA_LAB_WIRE_SEED, static_cast<uint32_t>(seed));
        message.put_u32(IFLA_LAB_WIRE_MODERATION, host ? spec.moderation_ns : 0);
        message.put_u8(IFLA_LAB_WIRE_MODERATION_MODE, moderation_mode(host ? spec.moderation : "off"));
        message.put_u32(IFLA_LAB_WIRE_LATENESS, host ? spec.lateness_ns : 0);
        message.put_u8(IFLA_LAB_WIRE_GRO, host);
    }
    socket.request(message);
}

void set_up(nl::Socket& socket, int index, int master) {
    nl::Message message(RTM_NEWLINK, 0);
    message.raw(link_header(index, true));
    if (master) message.put_u32(IFLA_MASTER, static_cast<uint32_t>(master));
    socket.request(message);
}

void add_address(nl::Socket& socket, int index, uint32_t ip, int prefix) {
    nl::Message message(RTM_NEWADDR, NLM_F_CREATE | NLM_F_EXCL);
    ifaddrmsg header{};
    header.ifa_family = AF_INET;
    header.ifa_prefixlen = static_cast<unsigned char>(prefix);
    header.ifa_index = static_cast<uint32_t>(index);
    message.raw(header);
    message.put_u32(IFA_LOCAL, htonl(ip));
    message.put_u32(IFA_ADDRESS, htonl(ip));
    socket.request(message);
}

}  // namespace pfqd::lab
