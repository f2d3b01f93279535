// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
//
// One wire per host: the host's end with a transmit ring and receive moderation,
// the switch's end with room for one frame and none, as a port whose buffer is
// its qdisc. The ends are made in their namespaces by one request each.
#include "lab/guest/fabric.hpp"

#include <linux/if_link.h>
#include <linux/lab_wire.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <netlink/attr.h>

#include <cstdio>
#include <cstring>
#include <stdexcept>

#include "lab/common/qdisc.hpp"
#include "lab/guest/mounts.hpp"

namespace pfqd::lab {

namespace {

constexpr uint32_t kFirstIp = (10u << 24) + 1;  // 10.0.0.1
constexpr int kPrefix = 16;
constexpr uint32_t kSendBuffer = 32 << 20;  // at least 4 MB (design.md 4); only what is queued is used
constexpr uint32_t kTcpMemoryPages = 1 << 20;

ifinfomsg link_header(int index, bool up) {
    ifinfomsg header{};
    header.ifi_family = AF_UNSPEC;
    header.ifi_index = index;
    header.ifi_flags = up ? IFF_UP : 0;
    header.ifi_change = up ? IFF_UP : 0;
    return header;
}

void set_sysctl(const std::string& name, const std::string& value) {
    write_file("/proc/sys/net/" + name, value);
}

// What must be set before the namespace's links come up or sockets are made.
void prepare_namespace() {
    set_sysctl("ipv6/conf/all/disable_ipv6", "1");
    set_sysctl("ipv6/conf/default/disable_ipv6", "1");
}

void prepare_host(const NetworkSpec& spec) {
    prepare_namespace();
    set_sysctl("ipv4/tcp_timestamps", spec.timestamps ? "1" : "0");
    set_sysctl("ipv4/tcp_ecn", std::to_string(spec.ecn));
    set_sysctl("ipv4/tcp_congestion_control", spec.cc);
    set_sysctl("ipv4/tcp_wmem", "4096 " + std::to_string(kSendBuffer) + " " + std::to_string(kSendBuffer));
    set_sysctl("ipv4/tcp_max_syn_backlog", "4096");
    set_sysctl("core/somaxconn", "4096");
}

int index_of(const std::string& name) {
    const unsigned index = if_nametoindex(name.c_str());
    if (index == 0) throw_errno("interface " + name);
    return static_cast<int>(index);
}

int make_bridge(nl::Socket& socket) {
    nl::Message message(RTM_NEWLINK, NLM_F_CREATE | NLM_F_EXCL);
    message.raw(link_header(0, true));
    message.put_string(IFLA_IFNAME, "br0");
    {
        auto info = message.nest(IFLA_LINKINFO);
        message.put_string(IFLA_INFO_KIND, "bridge");
        auto data = message.nest(IFLA_INFO_DATA);
        message.put_u32(IFLA_BR_STP_STATE, 0);
        message.put_u32(IFLA_BR_FORWARD_DELAY, 0);
        message.put_u8(IFLA_BR_MCAST_SNOOPING, 0);
    }
    socket.request(message);
    return index_of("br0");
}

uint8_t moderation_mode(const std::string& name) {
    if (name == "psh") return LAB_WIRE_MODERATION_PSH;
    if (name == "all") return LAB_WIRE_MODERATION_ALL;
    if (name == "off") return LAB_WIRE_MODERATION_OFF;
    throw std::runtime_error("moderation '" + name + "' is none of psh, all, off");
}

// The attributes of one end of a wire, for the host's side or the switch's.
void put_end(nl::Message& message, const NetworkSpec& spec, uint64_t seed, bool host_side) {
    auto info = message.nest(IFLA_LINKINFO);
    message.put_string(IFLA_INFO_KIND, "wire");
    auto data = message.nest(IFLA_INFO_DATA);
    message.put_u64(IFLA_LAB_WIRE_RATE, spec.rate_bps);
    message.put_u64(IFLA_LAB_WIRE_DELAY, spec.delay_ns);
    message.put_u64(IFLA_LAB_WIRE_RING, host_side ? spec.ring_ns * spec.rate_bps / 8'000'000'000 : 0);
    message.put_u32(IFLA_LAB_WIRE_LOSS, static_cast<uint32_t>(spec.loss_ppm));
    message.put_u32(IFLA_LAB_WIRE_SEED, static_cast<uint32_t>(seed));
    message.put_u32(IFLA_LAB_WIRE_MODERATION, host_side ? spec.moderation_ns : 0);
    message.put_u8(IFLA_LAB_WIRE_MODERATION_MODE, moderation_mode(host_side ? spec.moderation : "off"));
    message.put_u32(IFLA_LAB_WIRE_LATENESS, host_side ? spec.lateness_ns : 0);
    message.put_u8(IFLA_LAB_WIRE_GRO, host_side);
}

void put_link(nl::Message& message, const NetworkSpec& spec, const std::string& name) {
    message.put_string(IFLA_IFNAME, name);
    message.put_u32(IFLA_MTU, spec.mtu);
    // Without this the stack hands the qdisc units of up to 64 KB (`ethtool -K gso
    // off` only moves segmentation behind the qdisc).
    if (!spec.gso) message.put_u32(IFLA_GSO_MAX_SEGS, 1);
}

void set_link(nl::Socket& socket, int index, bool up, int master) {
    nl::Message message(RTM_NEWLINK, 0);
    message.raw(link_header(index, up));
    if (master) message.put_u32(IFLA_MASTER, static_cast<uint32_t>(master));
    socket.request(message);
}

void add_address(nl::Socket& socket, int index, uint32_t ip) {
    nl::Message message(RTM_NEWADDR, NLM_F_CREATE | NLM_F_EXCL);
    ifaddrmsg header{};
    header.ifa_family = AF_INET;
    header.ifa_prefixlen = kPrefix;
    header.ifa_index = static_cast<uint32_t>(index);
    message.raw(header);
    message.put_u32(IFA_LOCAL, htonl(ip));
    message.put_u32(IFA_ADDRESS, htonl(ip));
    socket.request(message);
}

// Sums the wires' own counters over the socket's namespace.
void add_wires(nl::Socket& socket, SideCounters& sum) {
    nl::Message message(RTM_GETLINK, 0);
    message.raw(link_header(0, false));
    socket.dump(message, [&](const nlmsghdr& header) {
        const nlattr* info = nl::find_attr(header, sizeof(ifinfomsg), IFLA_LINKINFO);
        const nlattr* kind = nl::find_nested(info, IFLA_INFO_KIND);
        if (!kind || nl::attr_string(kind) != "wire") return;
        const nlattr* stats = nl::find_nested(info, IFLA_INFO_XSTATS);
        sum.data_packets += nl::attr_u64(nl::find_nested(stats, LAB_WIRE_STAT_TX_DATA));
        sum.tx_frames += nl::attr_u64(nl::find_nested(stats, LAB_WIRE_STAT_TX_FRAMES));
        sum.rx_frames += nl::attr_u64(nl::find_nested(stats, LAB_WIRE_STAT_RX_FRAMES));
        for (int drop : {LAB_WIRE_STAT_LOST, LAB_WIRE_STAT_PEER_DOWN, LAB_WIRE_STAT_REFUSED,
                         LAB_WIRE_STAT_PURGED, LAB_WIRE_STAT_OVERSIZE, LAB_WIRE_STAT_NO_MEMORY})
            sum.wire_drops += nl::attr_u64(nl::find_nested(stats, drop));
    });
}

SideCounters side_counters(const nl::Netns& netns) {
    netns.enter();
    nl::Socket socket;
    SideCounters sum;
    const QdiscCounters qdiscs = read_qdiscs(socket);
    sum.qdisc_drops = qdiscs.drops;
    sum.marks = qdiscs.marks;
    add_wires(socket, sum);
    return sum;
}

}  // namespace

SideCounters& SideCounters::operator+=(const SideCounters& other) {
    qdisc_drops += other.qdisc_drops;
    wire_drops += other.wire_drops;
    marks += other.marks;
    data_packets += other.data_packets;
    tx_frames += other.tx_frames;
    rx_frames += other.rx_frames;
    return *this;
}

SideCounters SideCounters::operator-(const SideCounters& before) const {
    return {qdisc_drops - before.qdisc_drops,   wire_drops - before.wire_drops, marks - before.marks,
            data_packets - before.data_packets, tx_frames - before.tx_frames,   rx_frames - before.rx_frames};
}

Fabric::Fabric(const NetworkSpec& spec, uint64_t seed) : tor_(nl::Netns::create()) {
    const std::string memory = std::to_string(kTcpMemoryPages);
    set_sysctl("ipv4/tcp_mem", memory + " " + memory + " " + memory);
    // A restricted congestion control (dctcp) can only be chosen here; the
    // namespaces made from now on inherit it.
    set_sysctl("ipv4/tcp_congestion_control", spec.cc);

    tor_.enter();
    prepare_namespace();
    nl::Socket socket;
    const int bridge = make_bridge(socket);
    for (uint32_t n = 0; n < spec.hosts; n++) add_host(spec, seed, bridge);
}

void Fabric::add_host(const NetworkSpec& spec, uint64_t seed, int bridge) {
    const size_t number = hosts_.size();
    const std::string port = "p" + std::to_string(number);
    hosts_.push_back({nl::Netns::create(), kFirstIp + static_cast<uint32_t>(number)});
    const Host& host = hosts_.back();

    tor_.enter();
    nl::Socket tor;
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
        message.put_u32(IFLA_NET_NS_FD, static_cast<uint32_t>(host.netns.fd()));
        auto peer_info = message.nest(IFLA_LINKINFO);
        message.put_string(IFLA_INFO_KIND, "wire");
        auto peer_data = message.nest(IFLA_INFO_DATA);
        message.put_u8(IFLA_LAB_WIRE_BUS, 1);
    }
    tor.request(message);

    const uint64_t wire_seed = seed * 4096 + number * 2;
    const int port_index = index_of(port);
    nl::Message port_end(RTM_NEWLINK, 0);
    port_end.raw(link_header(port_index, false));
    put_end(port_end, spec, wire_seed, false);
    tor.request(port_end);
    set_root_qdisc(tor, port_index, spec.port_qdisc);
    set_link(tor, port_index, true, bridge);

    host.netns.enter();
    prepare_host(spec);
    nl::Socket socket;
    const int eth = index_of("eth0");
    nl::Message host_end(RTM_NEWLINK, 0);
    host_end.raw(link_header(eth, false));
    put_end(host_end, spec, wire_seed + 1, true);
    socket.request(host_end);
    set_root_qdisc(socket, eth, spec.host_qdisc);
    add_address(socket, eth, host.ip);
    set_link(socket, eth, true, 0);
    tor_.enter();
}

uint32_t Fabric::host_of(uint32_t ip) const {
    if (ip < kFirstIp || ip - kFirstIp >= hosts_.size())
        throw std::runtime_error("a connection from an address that no host has");
    return ip - kFirstIp;
}

SideCounters Fabric::host_counters() const {
    SideCounters sum;
    for (const Host& host : hosts_) sum += side_counters(host.netns);
    return sum;
}

SideCounters Fabric::tor_counters() const {
    return side_counters(tor_);
}

}  // namespace pfqd::lab
