// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
//
// One wire per host: the host's end with a transmit ring and receive moderation,
// the switch's end with room for one frame and none, as a port whose buffer is
// its qdisc. The ends are made in their namespaces by one request each.
#include "lab/guest/fabric.hpp"

#include <linux/if_link.h>
#include <linux/lab_wire.h>
#include <linux/rtnetlink.h>

#include <stdexcept>
#include <string>

#include "lab/common/route.hpp"
#include "lab/guest/links.hpp"
#include "lab/guest/mounts.hpp"

namespace pfqd::lab {

namespace {

constexpr const char* kBridge = "br0";
constexpr uint32_t kFirstIp = (10u << 24) + 1;  // 10.0.0.1
constexpr int kPrefix = 16;
constexpr uint32_t kSendBuffer = 32 << 20;  // at least 4 MB (design.md 4); only what is queued is used
constexpr uint32_t kTcpMemoryPages = 1 << 20;

// The paper's internet hosts, 6.3: a port of 10 Gbit/s, a round trip of 4 ms.
constexpr uint64_t kInternetBps = 10'000'000'000;
constexpr uint64_t kInternetDelayNs = 2'000'000;
constexpr uint32_t kFirstInternetIp = kFirstIp + 0x8000;  // 10.0.128.1

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

// Sums the wires' own counters over the socket's namespace.
void add_wires(nl::Socket& socket, SideCounters& sum) {
    nl::Message message(RTM_GETLINK, 0);
    message.raw(ifinfomsg{});
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
    sum.qdiscs = read_qdiscs(socket);
    add_wires(socket, sum);
    return sum;
}

// Stock, whatever runs in the rack: nothing of ours on it, and ECN only for who asks.
NetworkSpec internet_spec(NetworkSpec spec) {
    spec.rate_bps = kInternetBps;
    spec.delay_ns = kInternetDelayNs;
    spec.host_qdisc = {"fq_codel", nlohmann::json::object()};
    spec.cc = "cubic";
    spec.ecn = 2;
    spec.route_ecn = false;
    spec.initcwnd = 0;
    spec.queues = 1;
    return spec;
}

}  // namespace

SideCounters& SideCounters::operator+=(const SideCounters& other) {
    qdiscs += other.qdiscs;
    wire_drops += other.wire_drops;
    data_packets += other.data_packets;
    tx_frames += other.tx_frames;
    rx_frames += other.rx_frames;
    return *this;
}

SideCounters SideCounters::operator-(const SideCounters& before) const {
    return {qdiscs - before.qdiscs, wire_drops - before.wire_drops, data_packets - before.data_packets,
            tx_frames - before.tx_frames, rx_frames - before.rx_frames};
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
    make_bridge(socket, kBridge);
    for (uint32_t n = 0; n < spec.hosts; n++)
        hosts_.push_back(add_host(spec, seed * 4096 + n * 2, kFirstIp + n, "p" + std::to_string(n)));
    const NetworkSpec far = internet_spec(spec);
    for (uint32_t n = 0; n < spec.internet; n++)
        internet_.push_back(
            add_host(far, seed * 4096 + (spec.hosts + n) * 2, kFirstInternetIp + n, "i" + std::to_string(n)));
}

// The thread is in the switch's namespace, before and after.
Host Fabric::add_host(const NetworkSpec& spec, uint64_t wire_seed, uint32_t ip, const std::string& port) {
    nl::Socket tor;
    nl::Netns netns = nl::Netns::create();
    make_wire(tor, spec, port, netns);
    const int port_index = index_of(port);
    set_end(tor, port_index, spec, wire_seed, EndKind::port);
    set_root_qdisc(tor, port_index, spec.port_qdisc);
    set_up(tor, port_index, index_of(kBridge));

    netns.enter();
    prepare_host(spec);
    nl::Socket socket;
    const int eth = index_of("eth0");
    set_end(socket, eth, spec, wire_seed + 1, EndKind::host);
    set_root_qdisc(socket, eth, spec.host_qdisc, spec.queues);
    add_address(socket, eth, ip, kPrefix);
    set_up(socket, eth);
    set_route_metrics(socket, eth, ip, kPrefix, {spec.initcwnd, spec.route_ecn});
    tor_.enter();
    return {std::move(netns), ip, port_index};
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
