// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
//
// The stamp on every kind of packet of a connection, what it leaves alone, the class,
// and the switches.
#include "selftests/lib/exact_stream.hpp"
#include "selftests/pfqd/host.hpp"

using namespace pfqd::selftest;
using pfqd::Fd;

namespace {

constexpr uint8_t kBand0 = 3;  // DSCP of band 0, short

const Segment* find(const std::vector<Segment>& segments, uint8_t flags, uint8_t mask, bool data = false) {
    for (const Segment& segment : segments)
        if ((segment.flags & mask) == flags && (segment.payload > 0) == data) return &segment;
    return nullptr;
}

void test_life(Tap& tap) {
    for (const bool ipv6 : {false, true}) {
        tap.section(ipv6 ? "IPv6" : "IPv4");
        Hosts hosts;
        auto [client, server] = hosts.connect(ipv6);
        send_whole(client.get(), 100);
        read_whole(server.get(), 100);
        sleep_ns(100'000'000);
        client = Fd();
        sleep_ns(100'000'000);
        server = Fd();
        const std::vector<Segment> to_b = tcp_segments(hosts.seen_at_b()),
                                   to_a = tcp_segments(hosts.seen_at_a());
        const std::tuple<const char*, const Segment*, int> wanted[] = {
            {"SYN", find(to_b, kSyn, kSyn), kBand0},
            {"SYN-ACK, of a request", find(to_a, kSyn, kSyn), 0},
            {"pure ACK that ends the handshake", find(to_b, kAck, kAck | kSyn), kBand0},
            {"data", find(to_b, kAck, kAck, true), kBand0},
            {"pure ACK", find(to_a, kAck, kAck | kSyn | kFin), kBand0},
            {"FIN", find(to_b, kFin, kFin), kBand0},
            {"the other FIN", find(to_a, kFin, kFin), kBand0}};
        for (const auto& [name, segment, dscp] : wanted) {
            tap.ok(segment, std::string(name) + " was seen");
            if (segment) tap.is(name, int{segment->dscp()}, dscp);
        }
    }
}

// Data with a FIN: the FIN counts as one, and is not left.
void test_data_and_fin(Tap& tap) {
    Hosts hosts;
    auto [client, server] = hosts.connect();
    hosts.seen_at_b();
    hosts.hold();
    send_whole(client.get(), 1460 + 3000);
    pfqd::check(shutdown(client.get(), SHUT_WR), "shutdown");
    const std::vector<Segment> segments = tcp_segments(hosts.seen_at_b());
    tap.is("3000 B and a FIN are above the first edge", int{segments.at(0).dscp()}, int{dscp_of(1)});
    const Segment* last = find(segments, kFin, kFin);
    if (!last) last = find(segments, kFin, kFin, true);
    tap.ok(last, "the FIN was seen");
    if (last) tap.is("it has nothing behind it", int{last->dscp()}, int{kBand0});
}

// A pure ACK says how much its sender still has to send.
void test_ack_of_a_sender(Tap& tap) {
    Hosts hosts({.delay = 10'000'000});  // long before the window opens again
    auto [client, server] = hosts.connect();
    hosts.seen_at_b();
    send_whole(client.get(), 1460 * 10 + 100'000);
    sleep_ns(1'000'000);
    send_whole(server.get(), 1460 * 2);  // acknowledged at once
    const std::vector<Segment> segments = tcp_segments(hosts.seen_at_b());
    const Segment* ack = find(segments, kAck, kAck | kSyn);
    tap.ok(ack, "it was seen");
    if (ack) tap.is("100,000 B are unsent", int{ack->dscp()}, int{dscp_of(3, PFQD_RTT_LONG)});
}

void test_application(Tap& tap) {
    for (const bool ipv6 : {false, true}) {
        for (const int dscp : {46, 10, 1, 63, 3}) {
            Hosts hosts;
            auto [client, server] = hosts.connect(ipv6);
            const int field = dscp << 2;
            pfqd::check(setsockopt(client.get(), ipv6 ? IPPROTO_IPV6 : IPPROTO_IP,
                                   ipv6 ? IPV6_TCLASS : IP_TOS, &field, sizeof(field)),
                        "set the DS field");
            hosts.seen_at_b();
            const uint64_t stamps = hosts.stats().stamps;
            hosts.hold(ipv6);
            send_whole(client.get(), 50'000);
            size_t other = 0, count = 0;
            for (const Segment& segment : tcp_segments(hosts.seen_at_b())) {
                other += segment.dsfield != field;
                count++;
            }
            tap.ok(count >= 35, "segments were seen");
            tap.is(fmt::format("IPv{}, DSCP {} of the application: changed", ipv6 ? 6 : 4, dscp), other, 0u);
            tap.is("not even counted", hosts.stats().stamps, stamps);
        }
    }
}

void test_ecn(Tap& tap) {
    for (const bool ipv6 : {false, true}) {
        Hosts hosts;
        for (const End* end : {&hosts.a(), &hosts.b()}) {
            const In inside(end->netns());
            set_sysctl("net/ipv4/tcp_ecn", "1");
        }
        auto [client, server] = hosts.connect(ipv6);
        tap.ok(tcp_state(client.get()).ecn, "ECN was negotiated");
        hosts.seen_at_b();
        hosts.hold(ipv6);
        send_whole(client.get(), 50'000);
        size_t stamped = 0, ect = 0, count = 0;
        for (const Segment& segment : data_segments(hosts.seen_at_b())) {
            stamped += (segment.dscp() & 3) == 3;
            ect += segment.ecn() == 2;
            count++;
        }
        tap.is("all are stamped", stamped, count);
        tap.is("all are still ECN-capable", ect, count);
    }
}

// --- class ------------------------------------------------------------------------

// A round trip of exactly so many microseconds, as TCP measures it.
void test_class(Tap& tap) {
    for (const auto& [rtt_us, rtt_class] :
         {std::pair{999u, PFQD_RTT_SHORT}, {1000u, PFQD_RTT_LONG}, {1001u, PFQD_RTT_LONG}}) {
        Hosts hosts({.delay = rtt_us * 500 + 100});  // and the wire's own time, far below 1 us
        hosts.connect(false, 5000);  // finds the neighbours, whose search is no round trip of TCP's
        hosts.seen_at_b();
        auto [client, server] = hosts.connect();
        const std::vector<Segment> first = tcp_segments(hosts.seen_at_b());
        tap.is(fmt::format("RTT {} us: as measured", rtt_us), tcp_state(client.get()).min_rtt_us, rtt_us);
        tap.is(fmt::format("RTT {} us: the SYN, without a sample", rtt_us), int{first.at(0).dscp()},
               int{kBand0});
        send_whole(client.get(), 100);
        const std::vector<Segment> segments = data_segments(hosts.seen_at_b());
        tap.is(fmt::format("RTT {} us: data", rtt_us), int{segments.at(0).dscp()},
               int{dscp_of(0, rtt_class)});
    }
}

// The class follows the minimum of the last minutes: short once, short for now.
void test_class_changes(Tap& tap) {
    Hosts hosts({.delay = 2'000'000});
    auto [client, server] = hosts.connect();
    const std::pair<uint64_t, uint8_t> steps[] = {
        {2'000'000, PFQD_RTT_LONG}, {100'000, PFQD_RTT_SHORT}, {2'000'000, PFQD_RTT_SHORT}};
    for (const auto& [delay, rtt_class] : steps) {
        for (const End* end : {&hosts.a(), &hosts.b()}) end->change({.delay = delay});
        for (int i = 0; i < 2; i++) {  // the first one takes the sample
            hosts.seen_at_b();
            send_whole(client.get(), 100);
            read_whole(server.get(), 100);
        }
        const std::vector<Segment> segments = data_segments(hosts.seen_at_b());
        tap.is(fmt::format("delay {} us", delay / 1000), int{segments.back().dscp()},
               int{dscp_of(0, rtt_class)});
    }
}

// --- switches ---------------------------------------------------------------------

size_t stamped_of(Hosts& hosts, std::pair<Fd, Fd>& connection) {
    hosts.seen_at_b();
    send_whole(connection.first.get(), 20'000);
    read_whole(connection.second.get(), 20'000);
    size_t stamped = 0;
    for (const Segment& segment : data_segments(hosts.seen_at_b())) stamped += segment.dscp() != 0;
    return stamped;
}

constexpr size_t kSegments = 14;  // of 20,000 B

void test_off(Tap& tap) {
    Hosts hosts({.pfqd = {.completion = PFQD_SWITCH_ON, .stamp = PFQD_SWITCH_OFF}});
    auto connection = hosts.connect();
    tap.is("nothing on the wire", stamped_of(hosts, connection), 0u);
    tap.is("nothing counted", hosts.stats().stamps, 0u);
    tap.is("nothing in a band", hosts.stats().serves_banded, 0u);
}

void test_local(Tap& tap) {
    Hosts hosts({.pfqd = {.completion = PFQD_SWITCH_ON, .stamp = PFQD_SWITCH_LOCAL}});
    auto connection = hosts.connect();
    tap.is("nothing on the wire", stamped_of(hosts, connection), 0u);
    const PfqdStats stats = hosts.stats();
    tap.ok(stats.stamps > kSegments, "counted");
    tap.is("served for its bands", stats.serves_banded > 5, true);
    tap.is("the effective setting", stats.stamp, uint32_t{PFQD_SWITCH_LOCAL});
}

// Stamps for others, and serves without them.
void test_no_completion(Tap& tap) {
    Hosts hosts({.pfqd = {.completion = PFQD_SWITCH_OFF, .stamp = PFQD_SWITCH_ON}});
    auto connection = hosts.connect();
    tap.is("all on the wire", stamped_of(hosts, connection), kSegments);
    tap.is("nothing served for a band", hosts.stats().serves_banded, 0u);
    tap.is("nothing counted under a class", hosts.stats().rtt[PFQD_RTT_SHORT].packets, 0u);
}

void test_parameter(Tap& tap) {
    constexpr const char* kParameter = "/sys/module/sch_pfqd/parameters/stamp";
    Hosts inherits({.pfqd = {}}), says_off({.pfqd = {.stamp = PFQD_SWITCH_OFF}});
    auto connection = inherits.connect(), other = says_off.connect();
    for (const bool on : {false, true, false}) {
        write_text(kParameter, on ? "1" : "0");
        tap.is("the effective setting", inherits.stats().stamp,
               on ? PFQD_SWITCH_ON + 0u : PFQD_SWITCH_OFF + 0u);
        tap.is("where it is from", inherits.stats().stamp_source, uint32_t{PFQD_SWITCH_INHERIT});
        tap.is("on the wire", stamped_of(inherits, connection), on ? kSegments : 0);
        tap.is("an interface's own word stands", stamped_of(says_off, other), 0u);
    }
}

// By tc, on a connection that runs.
void test_change(Tap& tap) {
    Hosts hosts;
    auto connection = hosts.connect();
    for (const uint8_t word : {PFQD_SWITCH_ON, PFQD_SWITCH_OFF, PFQD_SWITCH_LOCAL, PFQD_SWITCH_ON}) {
        change_qdisc(hosts.a(), "pfqd", pfqd_options({.stamp = word}));
        tap.is(fmt::format("stamp {}", word), stamped_of(hosts, connection),
               word == PFQD_SWITCH_ON ? kSegments : 0);
    }
}

// --- checksums --------------------------------------------------------------------

// Neither side leaves a sum to its card: every receiver checks every packet.
void test_sums(Tap& tap) {
    for (const bool ipv6 : {false, true}) {
        Hosts hosts;
        for (const End* end : {&hosts.a(), &hosts.b()}) {
            const In inside(end->netns());
            must("ethtool -K " + end->name() + " rx off tx off");
        }
        auto [client, server] = hosts.connect(ipv6);
        hosts.seen_at_b();
        hosts.hold(ipv6);
        send_whole(client.get(), 300'000);
        size_t wrong = 0, unsummed = 0;
        const std::vector<Segment> segments = data_segments(hosts.seen_at_b());
        for (const Segment& segment : segments) {
            uint32_t sum = 0;
            for (size_t i = 14; i < 34; i += 2)
                sum += static_cast<uint32_t>(segment.received.frame[i] << 8 | segment.received.frame[i + 1]);
            while (sum >> 16) sum = (sum & 0xffff) + (sum >> 16);
            wrong += !ipv6 && sum != 0xffff;
            unsummed += (segment.received.status & 8) != 0;  // TP_STATUS_CSUMNOTREADY
        }
        read_whole(server.get(), 300'000);
        tap.section(ipv6 ? "IPv6" : "IPv4");
        tap.ok(segments.size() > 200, "all arrive");
        tap.is("headers with a wrong sum", wrong, 0u);
        tap.is("packets without a sum", unsummed, 0u);
        const In inside(hosts.b().netns());
        tap.is("sums that TCP found wrong", net_counter("Tcp", "InCsumErrors"), 0u);
        tap.is("packets that IP found wrong", net_counter("Ip", "InHdrErrors"), 0u);
        tap.is("nothing was sent twice", tcp_state(client.get()).retransmits, 0u);
    }
}

}  // namespace

int main() {
    return run_tests({{"a connection's life", test_life},
                      {"data and FIN", test_data_and_fin},
                      {"ACK of a sender", test_ack_of_a_sender},
                      {"application's DSCP", test_application},
                      {"ECN", test_ecn},
                      {"class", test_class},
                      {"class changes", test_class_changes},
                      {"off", test_off},
                      {"local", test_local},
                      {"without completion", test_no_completion},
                      {"parameter", test_parameter},
                      {"change", test_change},
                      {"sums", test_sums}});
}
