// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
//
// TCP through the edge, over IPv4 and IPv6, at a host, a bridge and a router, with GRO
// in front of the edge and without. All senders sum their packets in software, so every
// receiver checks every packet: no checksum may be wrong, nothing be sent twice, and
// what leaves a forwarding host carries the edge's stamp in each segment.
#include "selftests/edge/stream.hpp"
#include "selftests/edge/command.hpp"
#include "selftests/edge/packets.hpp"
#include "selftests/lib/debug_kernel.hpp"
#include "selftests/lib/packet_socket.hpp"
#include "selftests/lib/tap.hpp"

using namespace pfqd::selftest;
namespace nl = pfqd::nl;

namespace {

enum class Middle { none, bridge, router };

constexpr uint32_t kNotSummed = 8;  // TP_STATUS_CSUMNOTREADY

uint64_t bytes_each_way() {
    return debug_kernel() ? 300'000 : 3'000'000;
}

// Hosts a and b, with the edge where a's packets enter: b itself or a host in between.
class Path {
  public:
    Path(Middle middle, bool gro) : middle_(middle) {
        // Addresses are good at once: no test of duplicates, during which nothing is sent.
        for (const nl::Netns* netns : {&a_, &m_, &b_}) {
            In inside(*netns);
            set_sysctl("net/ipv6/conf/all/accept_dad", "0");
            set_sysctl("net/ipv6/conf/default/accept_dad", "0");
        }
        if (middle == Middle::none) {
            wire(a_, "a0", b_, "b0", gro);
        } else {
            wire(a_, "a0", m_, "m0", gro);
            wire(m_, "m1", b_, "b0", gro);
        }
        addresses();
        In inside(edge_host());
        edge_json("attach " + edge_device());
    }

    const nl::Netns& a() const { return a_; }
    const nl::Netns& b() const { return b_; }
    std::string b_address(bool ipv6) const {
        if (middle_ == Middle::router) return ipv6 ? "fd02::2" : "10.0.2.2";
        return ipv6 ? "fd01::2" : "10.0.1.2";
    }
    const nl::Netns& edge_host() const { return middle_ == Middle::none ? b_ : m_; }
    std::string edge_device() const { return middle_ == Middle::none ? "b0" : "m0"; }
    const End& end(const std::string& name) const {
        for (const End& one : ends_)
            if (one.name() == name) return one;
        throw std::logic_error("no end " + name);
    }

  private:
    void wire(const nl::Netns& left, const char* left_name, const nl::Netns& right, const char* right_name,
              bool gro) {
        const uint8_t on = gro;
        auto [one, other] =
            make_wire(left, {.name = left_name, .gro = on}, right, {.name = right_name, .gro = on});
        for (const End& end : {one, other}) {
            In inside(end.netns());
            must("ethtool -K " + end.name() + " tx off");
            ends_.push_back(end);
        }
    }

    void add(const char* device, const char* v4, const char* v6) const {
        must(fmt::format("ip addr add {}/24 dev {}", v4, device));
        must(fmt::format("ip addr add {}/64 dev {} nodad", v6, device));
    }

    void addresses() const {
        {
            In inside(a_);
            add("a0", "10.0.1.1", "fd01::1");
            if (middle_ == Middle::router) routes("10.0.2.0/24", "10.0.1.9", "fd02::/64", "fd01::9");
        }
        {
            In inside(b_);
            if (middle_ == Middle::router) {
                add("b0", "10.0.2.2", "fd02::2");
                routes("10.0.1.0/24", "10.0.2.9", "fd01::/64", "fd02::9");
            } else {
                add("b0", "10.0.1.2", "fd01::2");
            }
        }
        In inside(m_);
        if (middle_ == Middle::bridge) make_bridge(m_, {&end("m0"), &end("m1")});
        if (middle_ != Middle::router) return;
        add("m0", "10.0.1.9", "fd01::9");
        add("m1", "10.0.2.9", "fd02::9");
        set_sysctl("net/ipv4/ip_forward", "1");
        set_sysctl("net/ipv6/conf/all/forwarding", "1");
    }

    static void routes(const char* v4, const char* v4_via, const char* v6, const char* v6_via) {
        must(fmt::format("ip route add {} via {}", v4, v4_via));
        must(fmt::format("ip -6 route add {} via {}", v6, v6_via));
    }

    Middle middle_;
    nl::Netns a_ = nl::Netns::create(), m_ = nl::Netns::create(), b_ = nl::Netns::create();
    std::vector<End> ends_;
};

// Errors that a host has found in what it received, of whatever layer.
uint64_t checksum_errors(const nl::Netns& netns) {
    In inside(netns);
    uint64_t errors = net_counter("Tcp", "InCsumErrors") + net_counter("Ip", "InHdrErrors") +
                      net_counter("IpExt", "InCsumErrors");
    const std::string six = read_text("/proc/thread-self/net/snmp6");
    const size_t at = six.find("Ip6InHdrErrors");
    if (at == std::string::npos) throw std::runtime_error("no Ip6InHdrErrors");
    return errors + std::stoull(six.substr(at + sizeof("Ip6InHdrErrors") - 1));
}

uint64_t retransmissions(const nl::Netns& netns) {
    In inside(netns);
    return net_counter("Tcp", "RetransSegs");
}

bool is_data(const Bytes& frame, bool ipv6) {
    return frame.size() > 200 && frame[12] == (ipv6 ? 0x86 : 0x08) && frame[ipv6 ? 20 : 23] == IPPROTO_TCP;
}

uint8_t class_of(const Bytes& frame, bool ipv6) {
    return ipv6 ? static_cast<uint8_t>(frame[14] << 4 | frame[15] >> 4) : frame[15];
}

// What b's device received of the connection.
void check_arrived(Tap& tap, PacketSocket& socket, bool ipv6, uint8_t want) {
    unsigned data = 0, wrong_class = 0, wrong_sum = 0, not_summed = 0;
    for (const Received& received : socket.receive_all(1'000'000)) {
        if (!is_data(received.frame, ipv6)) continue;
        data++;
        // GRO has verified what it put together.
        not_summed += received.full_size <= 1514 && (received.status & kNotSummed);
        wrong_class += class_of(received.frame, ipv6) >> 2 != want;
        wrong_sum += !ipv6 && header_sum(received.frame, ETH_HLEN, 20) != 0xffff;
    }
    tap.ok(data > 50, "a packet socket saw the data");
    tap.is("all of it summed", not_summed, 0u);
    tap.is(fmt::format("all with DSCP {}", want), wrong_class, 0u);
    tap.is("all with right IP checksums", wrong_sum, 0u);
}

// A segment with a wrong checksum, so that "no errors" is not "nobody looked".
void check_that_errors_show(Tap& tap, const Path& path) {
    const End& from = path.end("a0");
    FrameOptions options;
    const auto to = path.end("b0").address();
    std::copy(to.begin(), to.end(), options.to.begin());
    options.source = 0x0a000101;
    options.destination = 0x0a000102;
    options.payload = 10;
    Bytes frame = make_frame(options);
    frame.back() ^= 1;
    PacketSocket socket(from);
    const uint64_t before = checksum_errors(path.b());
    socket.send(frame);
    sleep_ns(10'000'000);
    tap.is("a wrong checksum is noticed", checksum_errors(path.b()) - before, 1u);
}

void check_path(Tap& tap, Middle middle, bool gro) {
    const Path path(middle, gro);
    const bool forwards = middle != Middle::none;
    for (const bool ipv6 : {false, true}) {
        PacketSocket socket(path.end("b0"));
        Stream stream(path.a(), path.b(), path.b_address(ipv6));
        tap.ok(stream.exchange(bytes_each_way(), 20'000'000'000),
               ipv6 ? "IPv6: all bytes arrive, both ways" : "IPv4: all bytes arrive, both ways");
        // A host's own taps come before its edge.
        check_arrived(tap, socket, ipv6, forwards ? 63 : 0);
    }
    tap.is("checksum errors", checksum_errors(path.a()) + checksum_errors(path.b()), 0u);
    tap.is("retransmissions", retransmissions(path.a()) + retransmissions(path.b()), 0u);
    In inside(path.edge_host());
    const auto packets = edge_packets(path.edge_device());
    tap.ok(packets.at("stamped") > 100, "the edge stamped it");
    tap.is("failures", packets.at("failed").get<uint64_t>(), 0u);
    if (middle == Middle::none) check_that_errors_show(tap, path);
}

void test_host(Tap& tap) {
    check_path(tap, Middle::none, false);
}
void test_host_gro(Tap& tap) {
    check_path(tap, Middle::none, true);
}
void test_bridge(Tap& tap) {
    check_path(tap, Middle::bridge, false);
}
void test_bridge_gro(Tap& tap) {
    check_path(tap, Middle::bridge, true);
}
void test_router(Tap& tap) {
    check_path(tap, Middle::router, false);
}
void test_router_gro(Tap& tap) {
    check_path(tap, Middle::router, true);
}

}  // namespace

int main() {
    load_module("wire");
    return run_tests({{"host", test_host},
                      {"host, GRO", test_host_gro},
                      {"bridge", test_bridge},
                      {"bridge, GRO", test_bridge_gro},
                      {"router", test_router},
                      {"router, GRO", test_router_gro}});
}
