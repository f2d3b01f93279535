// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
//
// The stamp's band: how many bytes the flow has left, to the byte, in every segment,
// over IPv4 and IPv6, with GSO packets and without, behind VLAN tags, and for what is
// sent again.
#include "selftests/pfqd/host.hpp"

using namespace pfqd::selftest;
using pfqd::Fd;

namespace {

constexpr uint64_t kEdges[] = {3000, 12'000, 48'000, 192'000, 768'000};  // the design's

// Everything that a write of so many bytes sends, checked against what was left.
struct Message {
    std::vector<Segment> segments;
    uint32_t first = 0;  // its first byte's sequence number

    Message(Hosts& hosts, std::pair<Fd, Fd>& connection, size_t bytes, bool ipv6 = false) {
        hosts.seen_at_b();
        hosts.hold(ipv6);
        send_whole(connection.first.get(), bytes);
        segments = data_segments(hosts.seen_at_b());
        read_whole(connection.second.get(), bytes);
        if (segments.empty()) throw std::runtime_error("no data segment was seen");
        first = segments.front().seq;
    }

    size_t wrong(size_t bytes) const {
        size_t wrong = 0, sum = 0;
        for (const Segment& segment : segments) {
            const size_t end = segment.seq - first + segment.payload;
            wrong += segment.dscp() != dscp_of(band_of(bytes - end));
            sum += segment.payload;
        }
        return sum == bytes ? wrong : SIZE_MAX;
    }
};

void test_numbers(Tap& tap) {
    constexpr uint64_t edges[] = PFQD_BAND_EDGES;
    for (size_t i = 0; i < std::size(kEdges); i++) tap.is(fmt::format("edge {}", i), edges[i], kEdges[i]);
    const int codepoints[] = {3, 7, 11, 15, 19, 23};
    for (uint8_t band = 0; band < PFQD_BANDS; band++) {
        tap.is(fmt::format("DSCP of band {}", band), int{dscp_of(band)}, codepoints[band]);
        tap.is(fmt::format("DSCP of band {}, long", band), int{dscp_of(band, PFQD_RTT_LONG)},
               codepoints[band] + 32);
    }
}

// The first segment leaves an edge's bytes, one less, one more; all others are checked too.
void test_edges(Tap& tap) {
    for (const bool ipv6 : {false, true}) {
        Hosts hosts;
        auto connection = hosts.connect(ipv6);
        const size_t mss = ipv6 ? 1440 : 1460;
        for (size_t i = 0; i < std::size(kEdges); i++) {
            for (const int delta : {-1, 0, 1}) {
                const size_t bytes = mss + kEdges[i] + static_cast<size_t>(delta);
                const Message message(hosts, connection, bytes, ipv6);
                const std::string name =
                    fmt::format("IPv{}, {} B behind the first segment: ", ipv6 ? 6 : 4, bytes - mss);
                tap.is(name + "its payload", message.segments.front().payload, mss);
                tap.is(name + "its DSCP", int{message.segments.front().dscp()},
                       int{dscp_of(static_cast<uint8_t>(i + (delta > 0)))});
                tap.is(name + "segments with another DSCP than the bytes left say", message.wrong(bytes), 0u);
            }
        }
    }
}

void test_small(Tap& tap) {
    Hosts hosts;
    auto connection = hosts.connect();
    for (const size_t bytes : {1u, 100u, 1459u, 1460u, 1461u, 4459u, 4460u, 4461u}) {
        const Message message(hosts, connection, bytes);
        tap.is(fmt::format("a write of {} B", bytes), message.wrong(bytes), 0u);
    }
}

// TCP sends while it copies: what is behind a segment then is not there yet, and is
// taken to be twice what has been written. The last segment is pushed, and is exact; so
// is all that waited for the first flight's ACKs.
void test_while_writing(Tap& tap) {
    Hosts hosts;
    for (const size_t count : {2u, 5u, 10u, 30u}) {
        auto connection = hosts.connect(false, static_cast<uint16_t>(5000 + count));
        hosts.seen_at_b();
        const size_t bytes = count * 1460;
        send_whole(connection.first.get(), bytes);
        const std::vector<Segment> segments = data_segments(hosts.seen_at_b());
        tap.is(fmt::format("{} segments", count), segments.size(), count);
        size_t wrong = 0;
        for (size_t i = 0; i < segments.size(); i++) {
            const size_t written = (i + 1) * 1460;
            const bool midway = i < std::min<size_t>(count - 1, 10);
            wrong += segments[i].dscp() != dscp_of(band_of(midway ? 2 * written : bytes - written));
        }
        tap.is(fmt::format("{} segments: other stamps", count), wrong, 0u);
    }
}

// A small write that is not the last of a message says so with MSG_MORE.
void test_more(Tap& tap) {
    Hosts hosts;
    auto connection = hosts.connect();
    hosts.seen_at_b();
    const std::vector<char> part(14'600);
    pfqd::check(static_cast<int>(send(connection.first.get(), part.data(), part.size(), MSG_MORE)), "send");
    std::vector<Segment> segments = data_segments(hosts.seen_at_b());
    tap.is("so many bytes, so many more", int{segments.back().dscp()}, int{dscp_of(band_of(2 * 14'600))});
    send_whole(connection.first.get(), 1);
    segments = data_segments(hosts.seen_at_b());
    tap.is("the end", int{segments.back().dscp()}, int{dscp_of(0)});
}

// What is written later counts from the moment on when it is written.
void test_growing(Tap& tap) {
    Hosts hosts;
    auto connection = hosts.connect();
    hosts.seen_at_b();
    hosts.hold();
    for (int i = 0; i < 40; i++) send_whole(connection.first.get(), 1460);
    const std::vector<Segment> segments = data_segments(hosts.seen_at_b());
    tap.is("forty writes", segments.size(), 40u);
    size_t wrong = 0;
    for (const Segment& segment : segments)
        wrong += segment.dscp() !=
                 dscp_of(band_of(40 * 1460 - (segment.seq - segments.front().seq + segment.payload)));
    tap.is("are one horizon", wrong, 0u);
}

void test_vlan(Tap& tap) {
    for (const bool qinq : {false, true}) {
        Hosts hosts;
        for (const End* end : {&hosts.a(), &hosts.b()}) {
            const In inside(end->netns());
            const std::string lower = qinq ? "outer" : end->name();
            if (qinq) {
                must("ip link add link " + end->name() + " name outer type vlan proto 802.1ad id 7");
                must("ip link set outer up");
            }
            must("ip link add link " + lower + " name inner type vlan id 9");
            must(std::string("ip address add 10.9.0.") + (end == &hosts.a() ? "1" : "2") + "/24 dev inner");
            must("ip link set inner up mtu 1496 gso_max_segs 1");  // room for the inner tag
            set_sysctl("net/ipv4/neigh/inner/unres_qlen_bytes", "67108864");
        }
        auto connection = tcp_connection(hosts.a(), hosts.b(), "10.9.0.2");
        hosts.seen_at_b();
        {
            const In inside(hosts.a().netns());
            must("ip neigh del 10.9.0.2 dev inner");
        }
        constexpr size_t kBytes = 60'000;
        send_whole(connection.first.get(), kBytes);
        // A packet socket shows frames without their outermost tag.
        const std::vector<Segment> segments = tcp_segments(hosts.seen_at_b(), qinq ? 18 : 14);
        size_t wrong = 0, sum = 0;
        for (const Segment& segment : segments) {
            const size_t end = segment.seq - segments.front().seq + segment.payload;
            wrong += segment.dscp() != dscp_of(band_of(kBytes - end));
            sum += segment.payload;
        }
        tap.is(qinq ? "QinQ: all bytes" : "VLAN: all bytes", sum, kBytes);
        tap.is(qinq ? "QinQ: wrong stamps" : "VLAN: wrong stamps", wrong, 0u);
    }
}

// --- GSO --------------------------------------------------------------------------

// Split by us, every segment is stamped for itself.
void test_split_gso(Tap& tap) {
    for (const bool ipv6 : {false, true}) {
        Hosts hosts({.pfqd = {.split_gso = 1, .stamp = PFQD_SWITCH_ON}, .gso_max_segs = 65535});
        auto connection = hosts.connect(ipv6);
        constexpr size_t kBytes = 400'001;
        const Message message(hosts, connection, kBytes, ipv6);
        tap.ok(hosts.stats().segmented > 5, "GSO packets were split");
        tap.is("segments with another DSCP than the bytes left say", message.wrong(kBytes), 0u);
    }
}

std::string text_of(const std::vector<uint8_t>& mac) {
    return fmt::format("{:02x}", fmt::join(mac, ":"));
}

// A virtual link takes GSO packets as they are: their one header is the first segment's.
// No ARP, and no delay: a learns where b is when the test says so.
class VirtualLink {
  public:
    VirtualLink() : a_(loaded_netns()), b_(quiet_netns()), ends_(make_veth(a_, "v0", b_, "v1")) {
        for (const End* end : {&left(), &right()}) {
            const In inside(end->netns());
            set_sysctl("net/ipv4/tcp_wmem", "4096 16777216 16777216");
            set_sysctl("net/ipv4/tcp_rmem", "4096 16777216 16777216");
            set_sysctl("net/ipv4/tcp_timestamps", "0");
            set_sysctl("net/ipv4/tcp_early_retrans", "0");
            set_sysctl("net/ipv4/neigh/" + end->name() + "/unres_qlen_bytes", "67108864");
            end->add_address(end == &left() ? "10.0.0.1" : "10.0.0.2");
            must("ip link set " + end->name() + " up" + (end == &right() ? " arp off" : ""));
        }
        {
            const In inside(b_);
            must("ip neigh replace 10.0.0.1 lladdr " + text_of(left().address()) + " dev v1");
        }
        set_qdisc(left(), "pfqd", pfqd_options({.stamp = PFQD_SWITCH_ON}));
        release();
    }

    const End& left() const { return ends_.first; }
    const End& right() const { return ends_.second; }
    void hold() const {
        const In inside(a_);
        must("ip neigh del 10.0.0.2 dev v0");
    }
    void release() const {
        const In inside(a_);
        must("ip neigh replace 10.0.0.2 lladdr " + text_of(right().address()) + " dev v0");
    }

  private:
    static pfqd::nl::Netns loaded_netns() {
        load_module("sch_pfqd");
        return quiet_netns();
    }

    pfqd::nl::Netns a_, b_;
    std::pair<End, End> ends_;
};

void test_gso(Tap& tap) {
    const VirtualLink link;
    const std::pair<Fd, Fd> connection = tcp_connection(link.left(), link.right(), "10.0.0.2");
    PacketSocket socket(link.right());
    for (const size_t bytes : {200'000ul, 1460ul + 11'999, 1460ul + 12'000, 1460ul + 12'001, 900'000ul}) {
        socket.receive_all();
        link.hold();
        send_whole(connection.first.get(), bytes);
        link.release();
        const std::vector<Segment> segments = data_segments(socket.receive_all());
        read_whole(connection.second.get(), bytes);
        size_t wrong = 0, reached = 0, large = 0;
        for (const Segment& segment : segments) {
            const size_t offset = segment.seq - segments.front().seq;
            const size_t first = std::min<size_t>(segment.payload, 1460);
            // Without delay an RTT is no time, which TCP takes for a jiffy: any class.
            const uint8_t band = segment.dscp() >> PFQD_STAMP_DSCP_SHIFT & PFQD_STAMP_BAND_MASK;
            wrong += (segment.dscp() & 3) != 3 || band != band_of(bytes - offset - first);
            reached = std::max(reached, offset + segment.payload);
            large += segment.payload > 1460;
        }
        const std::string name = fmt::format("a write of {} B: ", bytes);
        tap.is(name + "all bytes", reached, bytes);
        tap.ok(large > 0, name + "in GSO packets");
        tap.is(name + "packets whose band is not that of their first segment", wrong, 0u);
    }
}

// --- sent again -------------------------------------------------------------------

// The first flight is lost. When it is sent again, more has been written.
void test_retransmission(Tap& tap) {
    Hosts hosts;
    auto connection = hosts.connect();
    hosts.seen_at_b();
    hosts.a().change({.loss = 1'000'000});
    send_whole(connection.first.get(), 1460);
    sleep_ns(1'000'000);
    tap.is("it was lost", data_segments(hosts.seen_at_b()).size(), 0u);
    send_whole(connection.first.get(), 30'000);
    sleep_ns(1'000'000);
    hosts.a().change({.loss = 0});
    std::vector<Segment> segments;
    for (int i = 0; i < 100 && segments.empty(); i++) segments = data_segments(hosts.seen_at_b());
    tap.ok(!segments.empty() && tcp_state(connection.first.get()).retransmits > 0, "it was sent again");
    const uint32_t start = segments.at(0).seq;
    tap.is("with what is left now", int{segments.front().dscp()}, int{dscp_of(band_of(30'000))});
    size_t wrong = 0;
    for (const Segment& segment : segments)
        wrong += segment.dscp() != dscp_of(band_of(31'460 - (segment.seq - start + segment.payload)));
    tap.is("and all that follows", wrong, 0u);
}

}  // namespace

int main() {
    return run_tests({{"numbers", test_numbers},
                      {"edges", test_edges},
                      {"small writes", test_small},
                      {"while writing", test_while_writing},
                      {"MSG_MORE", test_more},
                      {"many writes", test_growing},
                      {"VLAN", test_vlan},
                      {"split GSO", test_split_gso},
                      {"GSO", test_gso},
                      {"retransmission", test_retransmission}});
}
