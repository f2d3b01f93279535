// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
//
// Backlogged flows as classes: who they are, what they hold, and that nothing can
// be done to them.
#include <linux/gen_stats.h>
#include <linux/if_ether.h>
#include <netlink/msg.h>

#include <algorithm>
#include <cerrno>
#include <set>

#include "selftests/pfqd/port.hpp"

using namespace pfqd::selftest;
namespace nl = pfqd::nl;

namespace {

struct FlowClass {
    uint32_t handle = 0;
    uint32_t packets = 0, bytes = 0;
    uint16_t family = 0, sport = 0, dport = 0;
    Bytes saddr, daddr;
    uint8_t protocol = 0;
    bool fragment = false, shared = false;
    uint32_t tier = 0, memory = 0;
    uint64_t age = 0;
};

Bytes bytes_of(const nlattr* attr) {
    if (!attr) return {};
    const auto* data = static_cast<const uint8_t*>(nla_data(attr));
    return Bytes(data, data + nla_len(attr));
}

uint16_t u16_of(const nlattr* attr) {
    return attr ? nla_get_u16(attr) : uint16_t{0};
}

FlowClass flow_class(const nlmsghdr& header) {
    FlowClass found;
    tcmsg tc;
    std::memcpy(&tc, nlmsg_data(&header), sizeof(tc));
    found.handle = tc.tcm_handle;
    const nlattr* stats = nl::find_attr(header, sizeof(tc), TCA_STATS2);
    gnet_stats_queue queue{};
    std::memcpy(&queue, nla_data(nl::find_nested(stats, TCA_STATS_QUEUE)), sizeof(queue));
    found.packets = queue.qlen;
    found.bytes = queue.backlog;
    const nlattr* flow = nl::find_nested(nl::find_nested(stats, TCA_STATS_APP), TCA_PFQD_STATS_FLOW);
    if (!flow) throw std::runtime_error("a class without a flow");
    found.family = u16_of(nl::find_nested(flow, TCA_PFQD_FLOW_FAMILY));
    found.saddr = bytes_of(nl::find_nested(flow, TCA_PFQD_FLOW_SADDR));
    found.daddr = bytes_of(nl::find_nested(flow, TCA_PFQD_FLOW_DADDR));
    found.sport = u16_of(nl::find_nested(flow, TCA_PFQD_FLOW_SPORT));
    found.dport = u16_of(nl::find_nested(flow, TCA_PFQD_FLOW_DPORT));
    if (const nlattr* protocol = nl::find_nested(flow, TCA_PFQD_FLOW_PROTOCOL))
        found.protocol = nla_get_u8(protocol);
    found.fragment = nl::find_nested(flow, TCA_PFQD_FLOW_FRAGMENT);
    found.shared = nl::find_nested(flow, TCA_PFQD_FLOW_SHARED);
    found.tier = nl::attr_u32(nl::find_nested(flow, TCA_PFQD_FLOW_TIER));
    found.memory = nl::attr_u32(nl::find_nested(flow, TCA_PFQD_FLOW_MEMORY));
    found.age = nl::attr_u64(nl::find_nested(flow, TCA_PFQD_FLOW_AGE));
    return found;
}

std::vector<FlowClass> classes(const End& end) {
    In inside(end.netns());
    nl::Socket socket;
    nl::Message message(RTM_GETTCLASS, 0);
    tcmsg tc{};
    tc.tcm_ifindex = end.ifindex();
    message.raw(tc);
    std::vector<FlowClass> list;
    socket.dump(message, [&](const nlmsghdr& header) { list.push_back(flow_class(header)); });
    return list;
}

void test_what_is_shown(Tap& tap) {
    Port port;
    port.hold();
    port.queue_data('A', 0, 3);
    FrameOptions six;
    six.ipv6 = true;
    six.protocol = IPPROTO_UDP;
    six.sport = 5353;
    six.dport = 53;
    six.payload = 100;
    port.queue(make_frame(six));
    FrameOptions piece;
    piece.fragment = 0x2000;
    piece.payload = 200;
    port.queue(make_frame(piece));
    sleep_ns(50'000);
    const std::vector<FlowClass> list = classes(port.end());
    const auto of = [&](uint16_t family, uint8_t protocol, bool fragment) {
        for (const FlowClass& flow : list)
            if (flow.family == family && flow.protocol == protocol && flow.fragment == fragment) return flow;
        return FlowClass{};
    };
    tap.is("a class a backlogged flow", list.size(), size_t{3});
    const FlowClass tcp = of(ETH_P_IP, IPPROTO_TCP, false);
    tap.is("packets", tcp.packets, 3u);
    tap.is("bytes", tcp.bytes, 3u * 1514);
    tap.ok(tcp.saddr == Bytes{10, 0, 0, 1} && tcp.daddr == Bytes{10, 0, 0, 2}, "IPv4 addresses");
    tap.is("source port", tcp.sport, 1000 + 'A');
    tap.is("destination port", tcp.dport, 2000);
    tap.is("tier", tcp.tier, uint32_t{PFQD_TIER_HIGH});
    tap.between("age", tcp.age, uint64_t{50'000}, uint64_t{60'000});
    tap.ok(tcp.memory > tcp.bytes, "memory is truesize");
    const FlowClass udp = of(ETH_P_IPV6, IPPROTO_UDP, false);
    tap.is("IPv6: source port", udp.sport, 5353);
    tap.is("IPv6: address", udp.saddr.size(), size_t{16});
    tap.is("IPv6: bytes", udp.bytes, 14u + 40 + 8 + 100);
    tap.is("a fragment has no ports", of(ETH_P_IP, IPPROTO_TCP, true).sport, 0);
    tap.is("but is a flow", of(ETH_P_IP, IPPROTO_TCP, true).packets, 1u);
    port.drain();
    tap.is("none when nothing is queued", classes(port.end()).size(), size_t{0});
}

// A tunnel is looked into: the addresses and their family are those inside.
void test_tunnel(Tap& tap) {
    Port port;
    port.hold();
    FrameOptions inner;
    inner.ipv6 = true;
    inner.protocol = IPPROTO_UDP;
    const Bytes inside = make_frame(inner);
    FrameOptions outer;
    outer.protocol = IPPROTO_IPV6;
    outer.payload = inside.size() - ETH_HLEN;
    Bytes frame = make_frame(outer);
    std::copy(inside.begin() + ETH_HLEN, inside.end(), frame.begin() + ETH_HLEN + 20);
    port.queue(frame);
    const std::vector<FlowClass> list = classes(port.end());
    tap.is("IPv6 in IPv4: one flow", list.size(), size_t{1});
    tap.is("of IPv6", list.at(0).family, ETH_P_IPV6);
    tap.is("with its port", list.at(0).sport, inner.sport);
    tap.ok(list.at(0).saddr == Bytes(inside.begin() + ETH_HLEN + 8, inside.begin() + ETH_HLEN + 24),
           "and its source address");
    port.drain();
}

void test_tiers_and_shared(Tap& tap) {
    Port port({.pfqd = {.flows = 2, .demote = 1000}});
    port.hold();
    for (const char flow : std::string("ABCD")) port.queue_data(flow, 0, 10);
    sleep_ns(12 * kFrameNs);
    const std::vector<FlowClass> list = classes(port.end());
    tap.is("two flows, and one FIFO that the others share", list.size(), size_t{3});
    tap.is("which is shown as such",
           std::count_if(list.begin(), list.end(), [](const FlowClass& flow) { return flow.shared; }), 1L);
    tap.ok(std::all_of(list.begin(), list.end(),
                       [](const FlowClass& flow) { return flow.tier == PFQD_TIER_LOW; }),
           "all of them are low by now");
    uint32_t packets = 0;
    for (const FlowClass& flow : list) packets += flow.packets;
    tap.is("classes add up to the qdisc", packets, port.stats().qdisc.qlen);
}

// More rows than one message holds, and than numbers are allowed.
void test_many(Tap& tap) {
    Port port({.pfqd = {.limit = 1 << 30, .memlimit = 1 << 30, .flows = 100'000}, .rate = 1'000'000});
    port.hold();
    const auto queue_flows = [&](uint32_t first, uint32_t count) {
        for (uint32_t i = first; i < first + count; i++) {
            FrameOptions options;
            options.source = 0x0a000000u + i;
            options.payload = 10;
            port.queue(make_frame(options));
        }
    };
    queue_flows(0, 3000);
    std::vector<FlowClass> list = classes(port.end());
    tap.is("3,000 flows, 3,000 rows", list.size(), size_t{3000});
    std::set<Bytes> sources;
    std::set<uint32_t> handles;
    for (const FlowClass& flow : list) sources.insert(flow.saddr), handles.insert(flow.handle);
    tap.is("each flow once", sources.size(), size_t{3000});
    tap.is("each with a number of its own", handles.size(), size_t{3000});
    queue_flows(3000, 67'000);
    tap.is("70,000 are backlogged", port.stats().flows_active > 69'900, true);
    tap.is("65,535 are shown, no more", classes(port.end()).size(), size_t{PFQD_CLASSES_MAX});
}

// Requests about a class are refused, and harm nothing.
void test_nothing_to_do(Tap& tap) {
    Port port;
    port.hold();
    port.queue_data('A', 0, 5);
    const auto request = [&](int type, int flags, uint32_t handle, uint32_t parent) {
        In inside(port.end().netns());
        nl::Socket socket;
        nl::Message message(type, flags);
        tcmsg tc{};
        tc.tcm_ifindex = port.end().ifindex();
        tc.tcm_handle = handle;
        tc.tcm_parent = parent;
        message.raw(tc);
        message.put_string(TCA_KIND, "pfqd");
        try {
            socket.request(message);
        } catch (const nl::NetlinkError& error) {
            return error.code();
        }
        return 0;
    };
    tap.ok(request(RTM_NEWTCLASS, NLM_F_CREATE, 0x10005, 0x10000) != 0, "a class cannot be made");
    tap.ok(request(RTM_NEWTCLASS, 0, 0x10001, 0x10000) != 0, "nor changed");
    tap.ok(request(RTM_DELTCLASS, 0, 0x10001, 0) != 0, "nor deleted");
    tap.ok(request(RTM_GETTCLASS, 0, 0x10001, 0) != 0, "nor asked for by its number");
    tap.ok(request(RTM_NEWQDISC, NLM_F_CREATE, 0x20000, 0x10001) != 0, "no qdisc can be put into it");
    tap.ok(request(RTM_NEWTFILTER, NLM_F_CREATE, 0, 0x10000) != 0, "no filter can be attached");
    tap.is("the packets are still there", joined(port.drain()), "A0 A1 A2 A3 A4");
}

}  // namespace

int main() {
    return run_tests({{"what is shown", test_what_is_shown},
                      {"tunnel", test_tunnel},
                      {"tiers and shared", test_tiers_and_shared},
                      {"many", test_many},
                      {"nothing to do", test_nothing_to_do}});
}
