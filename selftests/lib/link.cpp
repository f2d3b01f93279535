// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
#include "selftests/lib/link.hpp"

#include <arpa/inet.h>
#include <net/if.h>
// After the C library's, which leaves out the states.
#include <linux/if.h>
#include <linux/if_link.h>
#include <linux/rtnetlink.h>
#include <linux/veth.h>
#include <netlink/attr.h>

#include <cstring>
#include <functional>
#include <stdexcept>

#include "selftests/lib/kernel.hpp"

namespace pfqd::selftest {

namespace {

// The kernel starts a link's qdisc from a work item, up to a second after its carrier.
constexpr uint64_t kRunningTimeout = 5'000'000'000;  // ns
constexpr uint64_t kRunningPoll = 1'000'000;         // ns, doubled each time

ifinfomsg link_header(int ifindex) {
    ifinfomsg header{};
    header.ifi_family = AF_UNSPEC;
    header.ifi_index = ifindex;
    return header;
}

void put_wire_data(nl::Message& message, const EndOptions& options) {
    if (options.rate) message.put_u64(IFLA_LAB_WIRE_RATE, *options.rate);
    if (options.delay) message.put_u64(IFLA_LAB_WIRE_DELAY, *options.delay);
    if (options.ring) message.put_u64(IFLA_LAB_WIRE_RING, *options.ring);
    if (options.loss) message.put_u32(IFLA_LAB_WIRE_LOSS, *options.loss);
    if (options.seed) message.put_u32(IFLA_LAB_WIRE_SEED, *options.seed);
    if (options.moderation) message.put_u32(IFLA_LAB_WIRE_MODERATION, *options.moderation);
    if (options.mode) message.put_u8(IFLA_LAB_WIRE_MODERATION_MODE, *options.mode);
    if (options.lateness) message.put_u32(IFLA_LAB_WIRE_LATENESS, *options.lateness);
    if (options.gro) message.put_u8(IFLA_LAB_WIRE_GRO, *options.gro);
    if (options.bus) message.put_u8(IFLA_LAB_WIRE_BUS, *options.bus);
}

void put_link(nl::Message& message, const EndOptions& options) {
    if (options.name) message.put_string(IFLA_IFNAME, *options.name);
    if (options.mtu) message.put_u32(IFLA_MTU, *options.mtu);
    if (options.queues) message.put_u32(IFLA_NUM_TX_QUEUES, *options.queues);
    if (options.gso_max_segs) message.put_u32(IFLA_GSO_MAX_SEGS, *options.gso_max_segs);
}

uint64_t any_width(const nlattr* attr, const std::string& what) {
    if (!attr) throw std::runtime_error("the link does not report " + what);
    if (nla_len(attr) == 1) return *static_cast<const uint8_t*>(nla_data(attr));
    return nla_len(attr) < 8 ? nl::attr_u32(attr) : nl::attr_u64(attr);
}

using Handler = std::function<void(const nlmsghdr&)>;

void query_link(const End& end, const Handler& handler) {
    In inside(end.netns());
    nl::Socket socket;
    nl::Message message(RTM_GETLINK, 0);
    message.raw(link_header(end.ifindex()));
    socket.query(message, handler);
}

uint64_t info_value(const End& end, int nest, int attr) {
    uint64_t value = 0;
    query_link(end, [&](const nlmsghdr& header) {
        const nlattr* info = nl::find_attr(header, sizeof(ifinfomsg), IFLA_LINKINFO);
        value = any_width(nl::find_nested(nl::find_nested(info, nest), attr),
                          "attribute " + std::to_string(attr) + " of " + std::to_string(nest));
    });
    return value;
}

}  // namespace

nl::Netns quiet_netns() {
    nl::Netns netns = nl::Netns::create();
    In inside(netns);
    set_sysctl("net/ipv6/conf/all/disable_ipv6", "1");
    set_sysctl("net/ipv6/conf/default/disable_ipv6", "1");
    return netns;
}

void put_end(nl::Message& message, const EndOptions& options) {
    put_link(message, options);
    auto info = message.nest(IFLA_LINKINFO);
    message.put_string(IFLA_INFO_KIND, "wire");
    auto data = message.nest(IFLA_INFO_DATA);
    put_wire_data(message, options);
}

nl::Message wire_request(const EndOptions& left_options, const nl::Netns& right,
                         const EndOptions& right_options) {
    nl::Message message(RTM_NEWLINK, NLM_F_CREATE | NLM_F_EXCL);
    message.raw(link_header(0));
    put_link(message, left_options);
    auto info = message.nest(IFLA_LINKINFO);
    message.put_string(IFLA_INFO_KIND, "wire");
    auto data = message.nest(IFLA_INFO_DATA);
    put_wire_data(message, left_options);
    auto peer = message.nest(IFLA_LAB_WIRE_PEER);
    message.raw(link_header(0));
    put_end(message, right_options);
    message.put_u32(IFLA_NET_NS_FD, static_cast<uint32_t>(right.fd()));
    return message;
}

std::pair<End, End> make_wire(const nl::Netns& left, const EndOptions& left_options, const nl::Netns& right,
                              const EndOptions& right_options, bool up) {
    EndOptions left_named = left_options, right_named = right_options;
    if (!left_named.name) left_named.name = "wire0";
    if (!right_named.name) right_named.name = "wire0";
    {
        In inside(left);
        nl::Socket socket;
        nl::Message message = wire_request(left_named, right, right_named);
        socket.request(message);
    }
    std::pair<End, End> ends{End(left, *left_named.name), End(right, *right_named.name)};
    if (up) {
        ends.first.set_up(true);
        ends.second.set_up(true);
        ends.first.wait_running();
        ends.second.wait_running();
    }
    return ends;
}

std::pair<End, End> make_veth(const nl::Netns& left, const std::string& left_name, const nl::Netns& right,
                              const std::string& right_name) {
    {
        In inside(left);
        nl::Socket socket;
        nl::Message message(RTM_NEWLINK, NLM_F_CREATE | NLM_F_EXCL);
        message.raw(link_header(0));
        message.put_string(IFLA_IFNAME, left_name);
        {
            auto info = message.nest(IFLA_LINKINFO);
            message.put_string(IFLA_INFO_KIND, "veth");
            auto data = message.nest(IFLA_INFO_DATA);
            auto peer = message.nest(VETH_INFO_PEER);
            message.raw(link_header(0));
            message.put_string(IFLA_IFNAME, right_name);
            message.put_u32(IFLA_NET_NS_FD, static_cast<uint32_t>(right.fd()));
        }
        socket.request(message);
    }
    return {End(left, left_name), End(right, right_name)};
}

End::End(const nl::Netns& netns, std::string name) : netns_(&netns), name_(std::move(name)) {
    In inside(netns);
    const unsigned index = if_nametoindex(name_.c_str());
    if (!index) throw_errno("interface " + name_);
    ifindex_ = static_cast<int>(index);
}

void End::change(const EndOptions& options) const {
    In inside(*netns_);
    nl::Socket socket;
    nl::Message message(RTM_NEWLINK, 0);
    message.raw(link_header(ifindex_));
    put_end(message, options);
    socket.request(message);
}

void End::limit_gso(uint32_t segments) const {
    In inside(*netns_);
    nl::Socket socket;
    nl::Message message(RTM_NEWLINK, 0);
    message.raw(link_header(ifindex_));
    message.put_u32(IFLA_GSO_MAX_SEGS, segments);
    socket.request(message);
}

void End::set_up(bool up) const {
    In inside(*netns_);
    nl::Socket socket;
    nl::Message message(RTM_NEWLINK, 0);
    ifinfomsg header = link_header(ifindex_);
    header.ifi_flags = up ? IFF_UP : 0;
    header.ifi_change = IFF_UP;
    message.raw(header);
    socket.request(message);
}

void End::wait_running() const {
    uint64_t waited = 0;
    for (uint64_t pause = kRunningPoll; waited < kRunningTimeout; waited += pause, pause *= 2) {
        uint64_t state = IF_OPER_UNKNOWN;
        query_link(*this, [&](const nlmsghdr& header) {
            state = any_width(nl::find_attr(header, sizeof(ifinfomsg), IFLA_OPERSTATE), "its state");
        });
        if (state == IF_OPER_UP) return;
        sleep_ns(pause);
    }
    throw std::runtime_error(name_ + " does not come up");
}

void End::set_master(int ifindex) const {
    In inside(*netns_);
    nl::Socket socket;
    nl::Message message(RTM_NEWLINK, 0);
    message.raw(link_header(ifindex_));
    message.put_u32(IFLA_MASTER, static_cast<uint32_t>(ifindex));
    socket.request(message);
}

void End::add_address(const std::string& ipv4, unsigned prefix) const {
    In inside(*netns_);
    nl::Socket socket;
    in_addr address;
    if (inet_pton(AF_INET, ipv4.c_str(), &address) != 1)
        throw std::invalid_argument("'" + ipv4 + "' is not an IPv4 address");
    nl::Message message(RTM_NEWADDR, NLM_F_CREATE | NLM_F_EXCL);
    ifaddrmsg header{};
    header.ifa_family = AF_INET;
    header.ifa_prefixlen = static_cast<unsigned char>(prefix);
    header.ifa_index = static_cast<uint32_t>(ifindex_);
    message.raw(header);
    message.put(IFA_LOCAL, &address, sizeof(address));
    message.put(IFA_ADDRESS, &address, sizeof(address));
    socket.request(message);
}

void End::remove() const {
    In inside(*netns_);
    nl::Socket socket;
    nl::Message message(RTM_DELLINK, 0);
    message.raw(link_header(ifindex_));
    socket.request(message);
}

uint64_t End::counter(int stat) const {
    return info_value(*this, IFLA_INFO_XSTATS, stat);
}

uint64_t End::option(int attr) const {
    return info_value(*this, IFLA_INFO_DATA, attr);
}

bool End::carrier() const {
    uint64_t value = 0;
    query_link(*this, [&](const nlmsghdr& header) {
        value = any_width(nl::find_attr(header, sizeof(ifinfomsg), IFLA_CARRIER), "its carrier");
    });
    return value != 0;
}

rtnl_link_stats64 End::statistics() const {
    rtnl_link_stats64 statistics{};
    query_link(*this, [&](const nlmsghdr& header) {
        const nlattr* attr = nl::find_attr(header, sizeof(ifinfomsg), IFLA_STATS64);
        if (!attr || nla_len(attr) < static_cast<int>(sizeof(statistics)))
            throw std::runtime_error("the link reports no statistics");
        std::memcpy(&statistics, nla_data(attr), sizeof(statistics));
    });
    return statistics;
}

std::vector<uint8_t> End::address() const {
    std::vector<uint8_t> address;
    query_link(*this, [&](const nlmsghdr& header) {
        const nlattr* attr = nl::find_attr(header, sizeof(ifinfomsg), IFLA_ADDRESS);
        if (!attr || nla_len(attr) != 6) throw std::runtime_error("the link has no Ethernet address");
        const auto* bytes = static_cast<const uint8_t*>(nla_data(attr));
        address.assign(bytes, bytes + 6);
    });
    return address;
}

End make_bridge(const nl::Netns& netns, const std::vector<const End*>& ports) {
    In inside(netns);
    nl::Socket socket;
    nl::Message message(RTM_NEWLINK, NLM_F_CREATE | NLM_F_EXCL);
    ifinfomsg header = link_header(0);
    header.ifi_flags = header.ifi_change = IFF_UP;
    message.raw(header);
    message.put_string(IFLA_IFNAME, "br0");
    {
        auto info = message.nest(IFLA_LINKINFO);
        message.put_string(IFLA_INFO_KIND, "bridge");
        auto data = message.nest(IFLA_INFO_DATA);
        message.put_u32(IFLA_BR_FORWARD_DELAY, 0);
        message.put_u8(IFLA_BR_MCAST_SNOOPING, 0);
    }
    socket.request(message);
    End bridge(netns, "br0");
    for (const End* port : ports) port->set_master(bridge.ifindex());
    return bridge;
}

}  // namespace pfqd::selftest
