// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
//
// Whose packets are stamped: those of a full socket with the header's own ports,
// bridged containers' too. Not those of requests, listeners, TIME_WAIT, nobody, packet
// sockets, a tunnel's outer header or what is routed; and no other copy of a packet.
#include <set>

#include "selftests/pfqd/host.hpp"

using namespace pfqd::selftest;
using pfqd::Fd;
namespace nl = pfqd::nl;

namespace {

const Segment* first_with(const std::vector<Segment>& segments, uint8_t flags, uint8_t mask) {
    for (const Segment& segment : segments)
        if ((segment.flags & mask) == flags) return &segment;
    return nullptr;
}

// --- sockets that know nothing ------------------------------------------------------

void test_cookie(Tap& tap) {
    for (const bool ipv6 : {false, true}) {
        Hosts hosts;
        {
            const In inside(hosts.b().netns());
            set_sysctl("net/ipv4/tcp_syncookies", "2");  // for every SYN
        }
        auto [client, server] = hosts.connect(ipv6);
        send_whole(server.get(), 100);
        const std::vector<Segment> segments = tcp_segments(hosts.seen_at_a());
        const Segment* reply = first_with(segments, kSyn, kSyn);
        tap.ok(reply, "a listener's SYN-ACK was seen");
        if (reply) tap.is("it has no stamp", int{reply->dscp()}, 0);
        tap.is("the connection that comes of it has", int{segments.back().dscp()}, int{dscp_of(0)});
    }
}

void test_reset(Tap& tap) {
    Hosts hosts;
    // A reset has the DS field of what it answers: here 0.
    change_qdisc(hosts.a(), "pfqd", pfqd_options({.stamp = PFQD_SWITCH_OFF}));
    bool refused = false;
    try {
        const In inside(hosts.a().netns());
        const Fd fd(pfqd::check(socket(AF_INET, SOCK_STREAM, 0), "socket"));
        const sockaddr_in address = inet_address("10.0.0.2", 9);
        refused = connect(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)) < 0;
    } catch (const std::exception&) {
    }
    tap.ok(refused, "nobody listens");
    const std::vector<Segment> segments = tcp_segments(hosts.seen_at_a());
    const Segment* reset = first_with(segments, kRst, kRst);
    tap.ok(reset, "the reset was seen");
    if (reset) tap.is("nobody's packet has no stamp", int{reset->dscp()}, 0);
}

// a is in TIME_WAIT; b's FIN comes once more and is acknowledged once more.
void test_time_wait(Tap& tap) {
    Hosts hosts;
    {
        const In inside(hosts.b().netns());
        must("ethtool -K wire0 tx off");  // what is seen is complete, and can be sent again
    }
    auto [client, server] = hosts.connect();
    hosts.seen_at_a();
    client = Fd();
    sleep_ns(1'000'000);
    server = Fd();
    sleep_ns(1'000'000);
    const std::vector<Segment> to_a = tcp_segments(hosts.seen_at_a());
    const Segment* fin = first_with(to_a, kFin, kFin);
    tap.ok(fin, "b's FIN was seen");
    if (!fin) return;
    hosts.seen_at_b();
    PacketSocket again(hosts.b());
    again.send(fin->received.frame);
    const std::vector<Segment> to_b = tcp_segments(hosts.seen_at_b());
    tap.is("it is acknowledged", to_b.size(), 1u);
    if (!to_b.empty()) tap.is("by a TIME_WAIT socket, without a stamp", int{to_b.front().dscp()}, 0);
}

// A packet socket's frame looks as it was made, whatever TCP ports are in it.
void test_packet_socket(Tap& tap) {
    Hosts hosts;
    auto [client, server] = hosts.connect();
    hosts.seen_at_b();
    PacketSocket socket(hosts.a());
    FrameOptions options;
    options.payload = 500;
    for (const uint8_t field : {0, 0xb8}) {
        options.dsfield = field;
        const Bytes frame = make_frame(options);
        socket.send(frame);
        size_t same = 0;
        for (const Received& received : hosts.seen_at_b()) same += received.frame == frame;
        tap.is(fmt::format("DS field {}: as it was sent", field), same, 1u);
    }
}

// --- tunnels ------------------------------------------------------------------------

struct Tunnel {
    const char* name;
    std::string (*command)(const std::string& local, const std::string& remote);
    size_t inner;  // offset of the inner IP header in a frame
    uint8_t protocol;
};

const Tunnel kTunnels[] = {{"VXLAN",
                            [](const std::string& local, const std::string& remote) {
                                return "ip link add tunnel type vxlan id 7 dstport 4789 dev wire0 local " +
                                       local + " remote " + remote;
                            },
                            14 + 20 + 8 + 8 + 14, IPPROTO_UDP},
                           {"GRE",
                            [](const std::string& local, const std::string& remote) {
                                return "ip link add tunnel type gre local " + local + " remote " + remote;
                            },
                            14 + 20 + 4, IPPROTO_GRE}};

// The socket is that of the packet inside, and the header outside none of its business.
void test_tunnels(Tap& tap) {
    for (const Tunnel& tunnel : kTunnels) {
        for (const bool inside_too : {false, true}) {
            tap.section(fmt::format("{}{}", tunnel.name, inside_too ? ", pfqd on it" : ""));
            Hosts hosts;
            for (const End* end : {&hosts.a(), &hosts.b()}) {
                const bool a = end == &hosts.a();
                const In here(end->netns());
                must(tunnel.command(a ? "10.0.0.1" : "10.0.0.2", a ? "10.0.0.2" : "10.0.0.1"));
                must(std::string("ip address add 10.5.0.") + (a ? "1" : "2") + "/24 dev tunnel");
                must("ip link set tunnel up mtu 1400 gso_max_segs 1");
                if (inside_too) set_qdisc(End(end->netns(), "tunnel"), "pfqd", pfqd_options({.stamp = 1}));
            }
            auto [client, server] = tcp_connection(hosts.a(), hosts.b(), "10.5.0.2");
            hosts.seen_at_b();
            send_whole(client.get(), 30'000);
            size_t count = 0, outer = 0, inner = 0, inner_sum = 0;
            for (const Received& received : hosts.seen_at_b()) {
                const Bytes& frame = received.frame;
                if (frame.size() < tunnel.inner + 40 || frame[23] != tunnel.protocol) continue;
                const auto segment = tcp_segment(received, tunnel.inner);
                if (!segment || !segment->payload) continue;
                count++;
                outer += frame[15] != 0;
                inner += segment->dscp() != 0;
                uint32_t sum = 0;
                for (size_t i = 0; i < 20; i += 2)
                    sum += static_cast<uint32_t>(frame[tunnel.inner + i] << 8 | frame[tunnel.inner + i + 1]);
                inner_sum += sum % 0xffff == 0;
            }
            tap.ok(count >= 22, "segments were seen");
            tap.is("outer headers that changed", outer, 0u);
            tap.is("inner headers with a stamp", inner, inside_too ? count : 0u);
            tap.is("inner headers with a right sum", inner_sum, count);
        }
    }
}

// --- other namespaces ---------------------------------------------------------------

// A container behind a veth, bridged or routed:  peer --- out [pfqd] host veth --- container
struct Container {
    nl::Netns host = loaded(), inner = quiet_netns(), peer = quiet_netns();
    std::pair<End, End> out, veth;
    std::optional<End> bridge;
    std::optional<PacketSocket> at_peer;

    Container(bool routed, const PfqdOptions& pfqd)
        : out(make_wire(host, {.rate = 1'000'000'000, .delay = 100'000, .ring = 0}, peer, {})),
          veth(make_veth(inner, "eth0", host, "veth")) {
        veth.first.limit_gso(1);
        set_qdisc(out.first, "pfqd", pfqd_options(pfqd));
        out.second.add_address("10.0.0.2");
        veth.first.set_up(true);
        veth.second.set_up(true);
        if (routed)
            route();
        else
            bridge.emplace(make_bridge(host, {&out.first, &veth.second}));
        if (!routed) veth.first.add_address("10.0.0.1");
        for (const End* end : {&out.first, &out.second, &veth.first, &veth.second}) end->wait_running();
        sleep_ns(1'000'000);
        at_peer.emplace(out.second);
    }

    static nl::Netns loaded() {
        load_module("wire");
        load_module("sch_pfqd");
        return quiet_netns();
    }
    void route() const {
        out.first.add_address("10.0.0.254");
        veth.second.add_address("10.7.0.254");
        veth.first.add_address("10.7.0.1");
        run_in(host, "");
        run_in(inner, "ip route add 10.0.0.0/24 via 10.7.0.254");
        run_in(peer, "ip route add 10.7.0.0/24 via 10.0.0.254");
    }
    static void run_in(const nl::Netns& netns, const std::string& command) {
        const In inside(netns);
        set_sysctl("net/ipv4/ip_forward", "1");
        if (!command.empty()) must(command);
    }
};

void test_containers(Tap& tap) {
    for (const bool routed : {false, true}) {
        tap.section(routed ? "routed" : "bridged");
        Container container(routed, {.completion = PFQD_SWITCH_ON, .stamp = PFQD_SWITCH_ON});
        auto [client, server] = tcp_connection(container.veth.first, container.out.second, "10.0.0.2");
        container.at_peer->receive_all(50'000'000);
        send_whole(client.get(), 40'000);
        size_t stamped = 0, count = 0;
        std::set<int> bands;
        for (const Segment& segment : data_segments(container.at_peer->receive_all(50'000'000))) {
            count++;
            stamped += (segment.dscp() & 3) == 3;
            bands.insert(segment.dscp() >> 2 & 7);
        }
        const PfqdStats stats = pfqd_stats(container.out.first);
        tap.ok(count >= 28, "segments were seen");
        tap.is("the wire has its socket's stamp", stamped, routed ? 0u : count);
        tap.is("of more than one band", bands.size() > 1, !routed);
        tap.is("stamps are counted", stats.stamps > 0, !routed);
        tap.is("served for its band", stats.serves_banded > 0, !routed);
    }
}

// --- copies -------------------------------------------------------------------------

// A bridge floods clones, and the packet itself, which alone has the socket, to the port
// that it got first: what that one's pfqd writes is not in the clone of the other port.
void test_flood(Tap& tap) {
    const nl::Netns host = Container::loaded(), inner = quiet_netns(), peer = quiet_netns(),
                    other = quiet_netns();
    const auto out = make_wire(host, {.name = "out", .rate = 100'000'000'000, .delay = 100'000}, peer, {});
    const auto copy = make_wire(host, {.name = "copy", .rate = 100'000'000'000, .delay = 100'000}, other, {});
    const auto veth = make_veth(inner, "eth0", host, "veth");
    veth.first.limit_gso(1);
    for (const End* end : {&veth.first, &veth.second}) end->set_up(true);
    const End bridge = make_bridge(host, {&out.first, &copy.first, &veth.second});
    veth.first.add_address("10.0.0.1");
    out.second.add_address("10.0.0.2");
    set_qdisc(out.first, "pfqd", pfqd_options({.stamp = PFQD_SWITCH_ON}));
    for (const End* end : {&out.first, &copy.first, &veth.first, &veth.second}) end->wait_running();
    {
        const In inside(host);
        for (const char* port : {"out", "copy", "veth"})
            must(fmt::format("ip link set {} type bridge_slave learning off", port));
    }
    sleep_ns(1'000'000);
    PacketSocket at_peer(out.second), at_other(copy.second);
    auto [client, server] = tcp_connection(veth.first, out.second, "10.0.0.2");
    send_whole(client.get(), 20'000);
    size_t stamped = 0, changed = 0;
    const std::vector<Segment> to_peer = data_segments(at_peer.receive_all(50'000'000));
    const std::vector<Segment> to_other = data_segments(at_other.receive_all(50'000'000));
    for (const Segment& segment : to_peer) stamped += segment.dscp() != 0;
    for (const Segment& segment : to_other) changed += segment.dscp() != 0;
    tap.ok(to_peer.size() >= 14 && to_other.size() >= 14, "both ports have all");
    tap.is("stamped on the one", stamped, to_peer.size());
    tap.is("not on the other", changed, 0u);
}

// What a filter in front of the qdisc mirrors is the packet as it was.
void test_mirror(Tap& tap) {
    Hosts hosts;
    const In inside(hosts.a().netns());
    must("ip link add mirror type dummy");
    must("ip link set mirror up");
    must("tc qdisc add dev wire0 clsact");
    must("tc filter add dev wire0 egress matchall action mirred egress mirror dev mirror");
    PacketSocket mirror(End(hosts.a().netns(), "mirror"), true);
    auto [client, server] = hosts.connect();
    hosts.seen_at_b();
    mirror.receive_all(1000);
    hosts.hold();
    send_whole(client.get(), 20'000);
    const std::vector<Segment> sent = data_segments(hosts.seen_at_b()),
                               mirrored = data_segments(mirror.receive_all(1000));
    size_t stamped = 0, changed = 0;
    for (const Segment& segment : sent) stamped += segment.dscp() != 0;
    for (const Segment& segment : mirrored) changed += segment.dscp() != 0;
    tap.is("the mirror has all", mirrored.size(), sent.size());
    tap.is("stamped on the wire", stamped, sent.size());
    tap.is("not in the mirror", changed, 0u);
}

// A tap on the device itself sees what goes out on the wire.
void test_tap(Tap& tap) {
    Hosts hosts;
    auto [client, server] = hosts.connect();
    hosts.seen_at_b();
    PacketSocket outgoing(hosts.a(), true);
    send_whole(client.get(), 5000);
    const std::vector<Segment> sent = data_segments(hosts.seen_at_b());
    std::vector<Segment> seen;
    for (const Segment& segment : data_segments(outgoing.receive_all(1000)))
        if (segment.received.pkttype == 4 /* PACKET_OUTGOING */) seen.push_back(segment);
    tap.is("all of it", seen.size(), sent.size());
    for (size_t i = 0; i < std::min(sent.size(), seen.size()); i++)
        tap.is("the same DS field", int{seen[i].dsfield}, int{sent[i].dsfield});
}

}  // namespace

int main() {
    return run_tests({{"listener", test_cookie},
                      {"nobody", test_reset},
                      {"TIME_WAIT", test_time_wait},
                      {"packet socket", test_packet_socket},
                      {"tunnels", test_tunnels},
                      {"containers", test_containers},
                      {"flooded", test_flood},
                      {"mirrored", test_mirror},
                      {"tapped", test_tap}});
}
