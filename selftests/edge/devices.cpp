// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
//
// Devices other than Ethernet: those that carry plain IP, those that the edge refuses,
// VLAN devices; and that a namespace sees its own devices alone.
#include "selftests/edge/gate.hpp"
#include "selftests/edge/packets.hpp"
#include "selftests/lib/tap.hpp"

using namespace pfqd::selftest;
namespace nl = pfqd::nl;

namespace {

Bytes without_ethernet(const Bytes& frame) {
    return {frame.begin() + ETH_HLEN, frame.end()};
}

bool has(const std::string& text, const std::string& part) {
    return text.find(part) != std::string::npos;
}

// A tun device whose packets, after the edge, leave by another one: a filter behind the
// edge sends them there, so this also shows that later filters run.
struct Tunnel {
    nl::Netns netns = quiet_netns();
    In inside{netns};
    TunTap in{"tun0", IFF_TUN}, out{"tun1", IFF_TUN};

    Tunnel() {
        must("ip link set tun0 up mtu 9100");
        must("ip link set tun1 up mtu 9100");
        must("tc qdisc add dev tun0 clsact");
        must("tc filter add dev tun0 ingress prio 100 matchall action mirred egress redirect dev tun1");
    }

    std::optional<Bytes> pass(const Bytes& packet) const {
        in.write(packet);
        return out.read();
    }
};

void check_tun(Tap& tap, bool trust) {
    const Tunnel tunnel;
    edge_json(trust ? "attach tun0 --trust" : "attach tun0");
    const PacketKind kinds[] = {{"IPv4", packet::v4},
                                {"IPv6", packet::v6},
                                {"IPv4 with options", packet::v4_options},
                                {"IPv6 hop-by-hop", packet::v6_hop_by_hop},
                                {"IPv4 fragment", packet::v4_middle},
                                {"IPv6 jumbo packet", packet::v6_jumbo}};
    for (const PacketKind& kind : kinds) {
        unsigned wrong = 0;
        for (unsigned value = 0; value < 256; value++) {
            const auto before = static_cast<uint8_t>(value);
            const auto left = tunnel.pass(without_ethernet(kind.make(before)));
            wrong += left != without_ethernet(kind.make(class_after(before, trust)));
        }
        tap.is(fmt::format("{}: of 256 classes none leaves wrong", kind.name), wrong, 0u);
    }
    const auto packets = edge_packets("tun0");
    tap.is("stamped and kept", packets.at("stamped").get<uint64_t>() + packets.at("kept").get<uint64_t>(),
           256 * std::size(kinds));
    tap.is("failed", packets.at("failed").get<uint64_t>(), 0u);
}

void test_tun(Tap& tap) {
    check_tun(tap, false);
}
void test_tun_trust(Tap& tap) {
    check_tun(tap, true);
}

void test_tun_short(Tap& tap) {
    const Tunnel tunnel;
    std::vector<Bytes> packets;
    for (size_t size = 1; size < 40; size++)
        for (const Bytes& whole : {packet::v4(0), packet::v6(0)})
            if (size < 20 || whole[ETH_HLEN] != 0x45)
                packets.emplace_back(whole.begin() + ETH_HLEN,
                                     whole.begin() + ETH_HLEN + static_cast<std::ptrdiff_t>(size));
    unsigned changed = 0;
    edge_json("attach tun0");
    for (const Bytes& packet : packets) changed += tunnel.pass(packet) != packet;
    tap.is("headers that are cut pass as they are", changed, 0u);
    const auto counts = edge_packets("tun0");
    tap.is("all of them count as malformed", counts.at("malformed").get<uint64_t>(), packets.size());
}

// The kernel has taken the outer header off; the inner one is stamped, the outer is gone.
void test_ipip(Tap& tap) {
    Gate gate;
    TunTap out("tun1", IFF_TUN);
    must("ip link set tun1 up");
    must("ip link set out0 nomaster");
    must("ip addr add 10.0.0.2/24 dev out0");
    must("ip link add ipip1 type ipip local 10.0.0.2 remote 10.0.0.1");
    must("ip link set ipip1 up");
    must("tc qdisc add dev ipip1 clsact");
    must("tc filter add dev ipip1 ingress prio 100 matchall action mirred egress redirect dev tun1");
    edge_json("attach ipip1");
    FrameOptions outer;
    const auto to = gate.outer_end().address();
    std::copy(to.begin(), to.end(), outer.to.begin());
    outer.protocol = IPPROTO_IPIP;
    outer.dsfield = 0x0c;
    const Bytes inner = without_ethernet(packet::v4(0x0e));
    outer.payload = inner.size();
    Bytes frame = make_frame(outer);
    std::copy(inner.rbegin(), inner.rend(), frame.rbegin());
    gate.enter(frame);
    tap.ok(out.read() == without_ethernet(packet::v4(0xfe)), "the inner packet is stamped");
    tap.is("counted", edge_packets("ipip1").at("stamped").get<uint64_t>(), 1u);
}

// On a VLAN device the kernel has taken the tag away before the hook.
void test_vlan_device(Tap& tap) {
    const Gate gate;
    must("ip link set in0 nomaster");
    must("ip link add link out0 name out0.5 type vlan id 5");
    must("ip link set out0.5 up");
    must("ip link set out0 nomaster");
    must("tc qdisc add dev out0.5 clsact");
    must("tc filter add dev out0.5 ingress prio 100 matchall action mirred egress redirect dev in0");
    edge_json("attach out0.5");
    // tagged() makes the VLAN 0x2005, which is number 5 with a priority; in QinQ the
    // inner one is number 6.
    tap.ok(gate.pass(packet::v4_vlan(0x0d)) == packet::v4(0xfd), "IPv4 is stamped");
    tap.ok(gate.pass(packet::v6_vlan(0x0d)) == packet::v6(0xfd), "IPv6 is stamped");
    const auto inner = gate.pass(packet::v4_two_vlans(0x0d));
    tap.ok(inner && inner->at(12) == 0x81 && inner->at(19) == 0xfd, "behind a second tag too");
    tap.is("counted", edge_packets("out0.5").at("stamped").get<uint64_t>(), 3u);
}

void test_refused(Tap& tap) {
    const nl::Netns netns = quiet_netns();
    In inside(netns);
    must("ip link add gre1 type gre local 192.0.2.1 remote 192.0.2.2");
    const std::string before = must("tc qdisc show dev gre1");
    const Outcome outcome = edge("attach gre1");
    tap.ok(outcome.status == 1 && has(outcome.text, "type 778") && has(outcome.text, "it knows Ethernet"),
           "a GRE device is refused, with what is accepted");
    tap.ok(must("tc qdisc show dev gre1") == before && !has(before, "clsact"), "and gets no qdisc");
    must("ip link add ipip1 type ipip local 192.0.2.1 remote 192.0.2.2");
    tap.is("an ipip device is accepted", edge("attach ipip1").status, 0);
    must("ip link add dummy1 type dummy");
    tap.is("a dummy device is accepted", edge("attach dummy1").status, 0);
    tap.is("loopback is accepted", edge("attach lo").status, 0);
}

void test_namespaces(Tap& tap) {
    const nl::Netns one = quiet_netns(), two = quiet_netns();
    {
        In inside(one);
        must("ip link add dummy1 type dummy");
        must("ip link add dummy2 type dummy");
        edge_json("attach dummy1");
        edge_json("attach dummy2 --trust");
    }
    {
        In inside(two);
        must("ip link add dummy1 type dummy");
        tap.is("another namespace has none", edge_json("show").size(), 0u);
        tap.is("nor on a device of the same name", edge("show dummy1").status, 3);
        tap.is("and its detach changes nothing", edge("detach dummy1").status, 0);
    }
    In inside(one);
    const auto shown = edge_json("show");
    tap.is("the first has two", shown.size(), 2u);
    tap.is("with their modes",
           shown.at(0).at("mode").get<std::string>() + shown.at(1).at("mode").get<std::string>(),
           std::string("stamptrust"));
}

}  // namespace

int main() {
    return run_tests({{"tun", test_tun},
                      {"tun, trust", test_tun_trust},
                      {"tun, short packets", test_tun_short},
                      {"ipip", test_ipip},
                      {"VLAN device", test_vlan_device},
                      {"other types", test_refused},
                      {"namespaces", test_namespaces}});
}
