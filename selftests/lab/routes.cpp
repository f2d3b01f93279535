// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
//
// The first flight and ECN of the configurations ct40 and ctecn, set as the lab sets
// them, by the metrics of a host's route: what really leaves for an address that has
// such a route, and what does not when it has not.
#include "lab/common/route.hpp"

#include <linux/lab_wire.h>
#include <sys/socket.h>

#include <cstring>
#include <vector>

#include "selftests/lib/inet.hpp"
#include "selftests/lib/kernel.hpp"
#include "selftests/lib/link.hpp"
#include "selftests/lib/packet_socket.hpp"
#include "selftests/lib/tap.hpp"

using namespace pfqd::selftest;
using pfqd::Fd;
using pfqd::lab::RouteMetrics;
namespace nl = pfqd::nl;

namespace {

constexpr uint32_t kLeft = 0x0a000001, kRight = 0x0a000002;  // 10.0.0.1, 10.0.0.2
constexpr int kPrefix = 24;
constexpr uint64_t kDelay = 1'000'000;  // ns: a flight is over long before it is acknowledged
constexpr size_t kHeaders = 14 + 20 + 20;
constexpr uint8_t kEct0 = 2;
constexpr uint8_t kEce = 0x40, kCwr = 0x80;  // TCP flags

// Two hosts that are a millisecond apart, routes with those metrics on both.
struct Hosts {
    nl::Netns a = quiet_netns(), b = quiet_netns();
    std::pair<End, End> ends;

    explicit Hosts(uint32_t mtu, const RouteMetrics& metrics)
        : ends(make_wire(a, options(mtu), b, options(mtu))) {
        prepare(ends.first, "10.0.0.1", kLeft, metrics);
        prepare(ends.second, "10.0.0.2", kRight, metrics);
    }

    static EndOptions options(uint32_t mtu) {
        return {.delay = kDelay, .ring = 1 << 20, .mtu = mtu, .gso_max_segs = 1};
    }

    static void prepare(const End& end, const std::string& address, uint32_t ip,
                        const RouteMetrics& metrics) {
        const In in(end.netns());
        set_sysctl("net/ipv4/tcp_timestamps", "0");
        set_sysctl("net/ipv4/tcp_wmem", "4096 16777216 16777216");
        end.add_address(address, kPrefix);
        end.wait_running();
        nl::Socket socket;
        pfqd::lab::set_route_metrics(socket, end.ifindex(), ip, kPrefix, metrics);
    }
};

uint8_t tcp_flags(const Received& received) {
    return received.frame.at(14 + 20 + 13);
}

uint8_t ecn_bits(const Received& received) {
    return received.frame.at(15) & 3;
}

bool is_tcp(const Received& received) {
    return received.frame.size() >= kHeaders && received.frame.at(23) == IPPROTO_TCP;
}

// What the server's side sees of a connection that sends a megabyte in one call.
struct Transfer {
    std::vector<Received> frames;

    explicit Transfer(const Hosts& hosts) {
        PacketSocket receiver(hosts.ends.second);
        const auto [client, server] = tcp_connection(hosts.ends.first, hosts.ends.second, "10.0.0.2");
        sleep_ns(100'000'000);  // the handshake's last ACK, and whatever else is delayed
        const std::vector<char> message(1'000'000);
        pfqd::check(static_cast<int>(send(client.get(), message.data(), message.size(), 0)), "send");
        frames = receiver.receive_all(10'000'000);
    }

    // Data frames that arrived before the sender can have learnt of the first one's arrival.
    std::vector<Received> flight() const {
        std::vector<Received> found;
        for (const Received& received : frames) {
            if (!is_tcp(received) || received.frame.size() <= kHeaders + 20) continue;
            if (!found.empty() && received.at - found.front().at >= 2 * kDelay) break;
            found.push_back(received);
        }
        return found;
    }

    const Received& syn() const {
        for (const Received& received : frames)
            if (is_tcp(received) && tcp_flags(received) & kSyn) return received;
        throw std::runtime_error("no SYN was seen");
    }
};

void test_flight(Tap& tap) {
    struct Case {
        uint32_t mtu, initcwnd, want;
    };
    for (const Case& one : {Case{3000, 0, 10}, Case{3000, 14, 14}, Case{1500, 29, 29}}) {
        const Hosts hosts(one.mtu, {.initcwnd = one.initcwnd});
        const std::vector<Received> flight = Transfer(hosts).flight();
        const std::string name = fmt::format("MTU {}, initcwnd {}: ", one.mtu, one.initcwnd);
        tap.is(name + "segments of the first flight", flight.size(), one.want);
        size_t full = 0, ect = 0;
        for (const Received& received : flight) {
            full += received.frame.size() == one.mtu + 14;
            ect += ecn_bits(received) != 0;
        }
        tap.is(name + "all of them full", full, flight.size());
        tap.is(name + "none is ECN-capable", ect, 0u);
    }
}

// The connection idles between messages: it begins anew with the same flight.
void test_restart(Tap& tap) {
    const Hosts hosts(3000, {.initcwnd = 14});
    PacketSocket receiver(hosts.ends.second);
    const auto [client, server] = tcp_connection(hosts.ends.first, hosts.ends.second, "10.0.0.2");
    std::vector<char> message(200'000);
    for (int round = 0; round < 2; round++) {
        receiver.receive_all(10'000'000);
        pfqd::check(static_cast<int>(send(client.get(), message.data(), message.size(), 0)), "send");
        size_t flight = 0;
        uint64_t first = 0;
        for (const Received& received : receiver.receive_all(10'000'000)) {
            if (!first) first = received.at;
            flight += received.at - first < 2 * kDelay;
        }
        tap.is(fmt::format("message {}: segments of the first flight", round + 1), flight, 14u);
        pfqd::check(static_cast<int>(recv(server.get(), message.data(), message.size(), MSG_WAITALL)),
                    "recv");
        sleep_ns(2'000'000'000);
    }
}

void test_ecn(Tap& tap) {
    for (const bool ecn : {false, true}) {
        const Hosts hosts(3000, {.ecn = ecn});
        const Transfer transfer(hosts);
        const std::string name = ecn ? "with the feature: " : "without: ";
        tap.is(name + "the SYN asks for ECN", tcp_flags(transfer.syn()) & (kEce | kCwr),
               ecn ? kEce | kCwr : 0);
        const std::vector<Received> flight = transfer.flight();
        size_t ect = 0;
        for (const Received& received : flight) ect += ecn_bits(received) == kEct0;
        tap.is(name + "data packets that are ECN-capable", ect, ecn ? flight.size() : 0);
        tap.is(name + "the first flight is the kernel's", flight.size(), 10u);
    }
}

void test_both(Tap& tap) {
    const Hosts hosts(3000, {.initcwnd = 14, .ecn = true});
    size_t ect = 0;
    for (const Received& received : Transfer(hosts).flight()) ect += ecn_bits(received) == kEct0;
    tap.is("fourteen segments, all of them ECN-capable", ect, 14u);
}

void test_stranger(Tap& tap) {
    const Hosts hosts(3000, {});
    const In in(hosts.a);
    nl::Socket socket;
    int code = 0;
    try {
        pfqd::lab::set_route_metrics(socket, hosts.ends.first.ifindex(), 0xc0a80001, kPrefix,
                                     {.initcwnd = 14});
    } catch (const nl::NetlinkError& error) {
        code = error.code();
    }
    tap.ok(code != 0, "a route that the kernel did not make is not made up");
}

}  // namespace

int main() {
    load_module("wire");
    return run_tests({{"first flight", test_flight},
                      {"after a pause", test_restart},
                      {"ECN", test_ecn},
                      {"both", test_both},
                      {"stranger", test_stranger}});
}
