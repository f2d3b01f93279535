// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
//
// GSO packets: a packet counts as its segments in turns, marks and statistics, and
// with split_gso it is queued as its segments; parents' counts hold either way.
#include <linux/ethtool.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <sys/ioctl.h>

#include <algorithm>

#include "selftests/lib/gso_socket.hpp"
#include "selftests/lib/tcp_load.hpp"
#include "selftests/pfqd/banded.hpp"
#include "selftests/pfqd/parents.hpp"
#include "selftests/pfqd/switch.hpp"

using namespace pfqd::selftest;

namespace {

constexpr uint32_t kSegments = 44;  // of a packet
constexpr uint16_t kMss = 1460;
constexpr uint32_t kFrame = 1514;
constexpr uint16_t kDontFragment = 0x4000;  // without it receive offload wants IDs that count

// The n-th packet of a flow. Each segment's payload begins with its number.
Bytes gso_frame(char flow, uint32_t n, uint32_t segments = kSegments, size_t odd = 0) {
    FrameOptions options;
    options.sport = static_cast<uint16_t>(1000 + flow);
    options.payload = segments * kMss + odd;
    options.seq = 1 + n * kSegments * kMss;
    Bytes frame = make_frame(options);
    for (uint32_t i = 0; i < segments + (odd ? 1 : 0); i++)
        for (size_t byte = 0; byte < 4; byte++)
            frame[kTcpHeaders + i * kMss + byte] =
                static_cast<uint8_t>((n * kSegments + i) >> (24 - 8 * byte));
    return frame;
}

// "A": of an unbroken run of one flow's frames, "A*44".
std::string runs(const std::vector<std::string>& labels) {
    std::string text;
    for (size_t i = 0; i < labels.size();) {
        size_t end = i;
        while (end < labels.size() && labels[end][0] == labels[i][0]) end++;
        text += fmt::format("{}{}*{}", text.empty() ? "" : " ", labels[i][0], end - i);
        i = end;
    }
    return text;
}

bool ordered(const std::vector<std::string>& labels, char flow) {
    uint32_t next = 0;
    for (const std::string& text : labels)
        if (text[0] == flow && text != flow + std::to_string(next++)) return false;
    return true;
}

// 44 quanta in one packet: 44 turns of the other flow before the next one.
void test_turns(Tap& tap) {
    Port port({.pfqd = {.demote = 60'000'000}});
    GsoSocket gso(port.end());
    port.hold();
    gso.send(gso_frame('A', 0), kMss);
    gso.send(gso_frame('A', 1), kMss);
    port.queue_data('B', 0, 60);
    tap.is("two GSO packets are two packets queued", port.stats().qdisc.qlen, 62u);
    tap.is("with the bytes of all their frames", port.stats().qdisc.backlog, (2 * kSegments + 60) * kFrame);
    const std::vector<std::string> out = port.drain();
    tap.is("a GSO packet pays for its segments", runs(out), "A*44 B*44 A*44 B*16");
    tap.ok(ordered(out, 'A') && ordered(out, 'B'), "every flow in order");
    const PfqdStats stats = port.stats();
    tap.is("counted in segments", stats.tier[PFQD_TIER_HIGH].packets, 2u * kSegments + 60 + 1);
    tap.is("none was split by us", stats.segmented, 0u);
    check_empty(tap, stats);
}

// When the queue was empty nobody had been kept waiting: nothing is owed any more.
void test_forgiven(Tap& tap) {
    for (const uint8_t completion : {PFQD_SWITCH_OFF, PFQD_SWITCH_ON}) {
        Port port({.pfqd = {.demote = 60'000'000, .completion = completion}});
        GsoSocket gso(port.end());
        FrameOptions options;
        options.sport = 1000 + 'A';
        options.payload = kSegments * kMss;
        options.dsfield = dsfield_of(0);
        gso.send(make_frame(options), kMss);
        port.drain_frames();
        port.hold();
        for (uint32_t n = 0; n < 20; n++) port.queue(banded('B', n, 0));
        port.queue(banded('A', 50, 0));
        tap.is(fmt::format("completion {}: an idle queue forgives", completion), runs(port.drain()),
               "B*1 A*1 B*19");
    }
}

void test_split(Tap& tap) {
    Port port({.pfqd = {.demote = 60'000'000, .split_gso = 1}});
    GsoSocket gso(port.end());
    port.hold();
    gso.send(gso_frame('A', 0), kMss);
    port.queue_data('B', 0, 50);
    tap.is("its segments are queued", port.stats().qdisc.qlen, kSegments + 50);
    tap.is("with their bytes", port.stats().qdisc.backlog, (kSegments + 50) * kFrame);
    const std::vector<std::string> out = port.drain();
    std::string expected;
    for (uint32_t i = 0; i < kSegments; i++) expected += fmt::format("{}A{} B{}", i ? " " : "", i, i);
    tap.is("turn by turn with the other flow", joined(out, 0, 2 * kSegments), expected);
    const PfqdStats stats = port.stats();
    tap.is("one packet was split", stats.segmented, 1u);
    tap.is("counted in segments", stats.tier[PFQD_TIER_HIGH].packets, kSegments + 50 + 1u);
    check_empty(tap, stats);
}

void test_split_lengths(Tap& tap) {
    Port port({.pfqd = {.split_gso = 1}});
    GsoSocket gso(port.end());
    port.hold();
    gso.send(gso_frame('A', 0, 2, 100), kMss);
    tap.is("the last segment is shorter", port.stats().qdisc.backlog,
           2 * kFrame + 100 + uint32_t{kTcpHeaders});
    const std::vector<Received> out = port.drain_frames();
    std::vector<size_t> sizes;
    for (const Received& received : out)
        if (label(received.frame) != "-") sizes.push_back(received.frame.size());
    tap.ok(sizes == std::vector<size_t>{1514, 1514, 154}, "on the wire too");
}

constexpr uint32_t kBelow = 20;  // segments below parents: qfq takes no packet above 64 KB

// bug 7: the parent's counts with segments queued, dropped, or both.
void test_split_parents(Tap& tap) {
    for (const uint32_t limit : {100'000'000u, 50 * kFrame, 10 * kFrame, 1u}) {
        for (const Parent& parent : parents()) {
            tap.section(fmt::format("{}, limit {}", parent.name, limit));
            Tree tree(parent, {.limit = limit, .memlimit = 1 << 30, .split_gso = 1});
            GsoSocket gso(tree.port.end());
            const int priority = static_cast<int>(kClass);
            gso.set_priority(priority);
            tree.port.hold();
            for (uint32_t n = 0; n < 3; n++) {
                gso.send(gso_frame('A', n, kBelow), kMss);
                tree.check_counts(tap, "after a GSO packet");
                tree.port.queue_data('B', 10 * n, 10);
                tree.check_counts(tap, "after single ones");
            }
            if (limit == 100'000'000u)
                tap.is("nothing is lost", tree.port.drain().size(), size_t{3 * kBelow + 30});
            else
                tap.ok(tree.port.drain().size() >= 2, "what is left arrives");
            tree.check_counts(tap, "when drained");
            check_empty(tap, tree.leaf());
        }
    }
}

// The same without splitting: drops of whole GSO packets.
void test_whole_parents(Tap& tap) {
    for (const Parent& parent : parents()) {
        tap.section(parent.name);
        Tree tree(parent, {.limit = 100 * kFrame, .memlimit = 1 << 30});
        GsoSocket gso(tree.port.end());
        gso.set_priority(static_cast<int>(kClass));
        tree.port.hold();
        for (uint32_t n = 0; n < 6; n++) {
            gso.send(gso_frame('A', n, kBelow), kMss);
            tree.port.queue_data('B', 10 * n, 10);
            tree.check_counts(tap, "with GSO packets");
        }
        tap.ok(tree.leaf().drops_limit > 0, "some were dropped");
        tap.ok(!tree.port.drain().empty(), "what is left arrives");
        tree.check_counts(tap, "when drained");
        check_empty(tap, tree.leaf());
    }
}

uint16_t tcp_sum(const Bytes& frame) {
    uint32_t sum = IPPROTO_TCP + static_cast<uint32_t>(frame.size() - 34);
    for (size_t i = 26; i < frame.size(); i += 2)
        sum += static_cast<uint32_t>(frame[i] << 8 | (i + 1 < frame.size() ? frame[i + 1] : 0));
    while (sum >> 16) sum = (sum & 0xffff) + (sum >> 16);
    return static_cast<uint16_t>(sum);
}

uint16_t ip_sum(const Bytes& frame) {
    uint32_t sum = 0;
    for (size_t i = 14; i < 34; i += 2) sum += static_cast<uint32_t>(frame[i] << 8 | frame[i + 1]);
    while (sum >> 16) sum = (sum & 0xffff) + (sum >> 16);
    return static_cast<uint16_t>(sum);
}

// A wire leaves checksums to the other end, as veth does: then a wrong one goes unseen.
void checksum_in_software(const End& end) {
    In inside(end.netns());
    const pfqd::Fd fd(pfqd::check(socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0), "socket"));
    ethtool_value value{.cmd = ETHTOOL_STXCSUM, .data = 0};
    ifreq request{};
    end.name().copy(request.ifr_name, IFNAMSIZ - 1);
    request.ifr_data = reinterpret_cast<char*>(&value);
    pfqd::check(ioctl(fd.get(), SIOCETHTOOL, &request), "ethtool -K tx off");
}

// bug 39: what receive offload made is forwarded as GSO: one decision, its segments
// all marked and counted, checksums right.
void test_forwarded_marks(Tap& tap) {
    constexpr uint32_t kFrames = 4 * 40;
    Switch bench({.pfqd = {.budget = 1, .rate = 12'500'000}, .gro = 1, .moderation_ns = 40'000});
    checksum_in_software(bench.out());
    bench.hold();
    for (uint32_t n = 0; n < kFrames; n++) {
        FrameOptions options;
        options.dsfield = 2;
        options.fragment = kDontFragment;
        options.payload = kFull;
        options.seq = 1 + n * kMss;
        options.tag = n;
        bench.source().send(make_frame(options));
    }
    bench.settle();
    const PfqdStats before = bench.stats();
    tap.between("receive offload has made GSO packets", before.qdisc.qlen, 2u, kFrames / 4);
    tap.is("that count as their frames", before.qdisc.backlog, kFrames * kFrame);
    const std::vector<Bytes> out = bench.drain();
    tap.is("all frames leave", out.size(), size_t{kFrames});
    const auto marked = static_cast<uint64_t>(
        std::count_if(out.begin(), out.end(), [](const Bytes& frame) { return (frame.at(15) & 3) == 3; }));
    tap.ok(marked > 0 && marked < kFrames, "some are marked, the last ones not");
    tap.is("marks count segments", bench.stats().marks, marked);
    tap.ok(std::all_of(out.begin(), out.end(), [](const Bytes& frame) { return ip_sum(frame) == 0xffff; }),
           "IP checksums are right");
    tap.ok(std::all_of(out.begin(), out.end(), [](const Bytes& frame) { return tcp_sum(frame) == 0xffff; }),
           "TCP checksums are right");
    check_empty(tap, bench.stats());
}

// bug 54: a lone packet of 64 KB is above every limit, and nothing waits behind it.
void test_lone_packet(Tap& tap) {
    for (const uint8_t dsfield : {uint8_t{2}, uint8_t{0}}) {
        Switch bench({.pfqd = {.budget = 1, .rate = 1000}, .gro = 1, .moderation_ns = 40'000});
        bench.hold();
        bench.source().send(raw_frame(60));  // the first frame is not held back: not one of ours
        for (uint32_t n = 0; n < 44; n++) {
            FrameOptions options;
            options.dsfield = dsfield;
            options.fragment = kDontFragment;
            options.payload = kFull;
            options.seq = 1 + n * kMss;
            bench.source().send(make_frame(options));
        }
        bench.settle();
        tap.is("one GSO packet is queued, and the first frame", bench.stats().qdisc.qlen, 2u);
        tap.ok(bench.stats().qdisc.backlog > PFQD_FLOW_FLOOR, "larger than the floor");
        tap.is("all of it leaves", bench.drain().size(), size_t{44});
        tap.is("unmarked", bench.stats().marks, 0u);
        tap.is("and nothing is dropped", bench.stats().qdisc.drops, 0u);
    }
}

// Real TCP with segmentation offload, through both kinds of queue.
void test_tcp(Tap& tap) {
    for (const uint8_t split : {0, 1}) {
        tap.section(split ? "split" : "whole");
        Switch bench({.pfqd = {}, .rate = 1'000'000'000, .frames = false});
        set_qdisc(bench.feed(), "pfqd", pfqd_options({.split_gso = split}), {TC_H_ROOT, 0x20000});
        bench.feed().change({.rate = 1'000'000'000});
        bench.feed().add_address("10.0.0.1");
        bench.sink().add_address("10.0.0.2");
        const BulkFlow flow(bench.feed(), bench.sink(), "10.0.0.2", {});
        sleep_ns(200'000'000);
        const PfqdStats stats = pfqd_stats(bench.feed());
        tap.between("the link is full", flow.delivered(), uint64_t{20'000'000}, uint64_t{25'000'000});
        tap.is("GSO packets were split, or not", stats.segmented > 0, split == 1);
        const uint64_t frames = stats.tier[PFQD_TIER_HIGH].packets + stats.tier[PFQD_TIER_LOW].packets;
        tap.near("packets are counted in frames", static_cast<double>(frames),
                 static_cast<double>(bench.feed().counter(LAB_WIRE_STAT_TX_DATA)), 100);
        tap.ok(stats.tier[PFQD_TIER_HIGH].bytes + stats.tier[PFQD_TIER_LOW].bytes > 20'000'000, "bytes too");
    }
}

}  // namespace

int main() {
    return run_tests({{"turns", test_turns},
                      {"forgiven", test_forgiven},
                      {"split", test_split},
                      {"split lengths", test_split_lengths},
                      {"split under parents", test_split_parents},
                      {"whole under parents", test_whole_parents},
                      {"forwarded marks", test_forwarded_marks},
                      {"lone packet", test_lone_packet},
                      {"TCP", test_tcp}});
}
