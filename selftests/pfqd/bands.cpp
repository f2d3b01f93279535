// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
//
// The completion tier, packet by packet: the smallest band of a head first, turn by
// turn within a band, eight banded turns to one of the ordinary round-robin, control
// at its cadence, and nobody waits for ever.
#include <algorithm>

#include "selftests/lib/gso_socket.hpp"
#include "selftests/pfqd/banded.hpp"

using namespace pfqd::selftest;

namespace {

// "A*8 U A*8": runs of one flow's frames.
std::string runs(const std::vector<std::string>& labels, size_t count = SIZE_MAX) {
    std::string text;
    for (size_t i = 0; i < std::min(labels.size(), count);) {
        size_t end = i;
        while (end < std::min(labels.size(), count) && labels[end][0] == labels[i][0]) end++;
        text += (text.empty() ? "" : " ") + std::string(1, labels[i][0]);
        if (end - i > 1) text += fmt::format("*{}", end - i);
        i = end;
    }
    return text;
}

void test_smallest_first(Tap& tap) {
    Port port({.pfqd = with_completion()});
    port.hold();
    port.queue_data('U', 0, 1);
    for (int band = PFQD_BANDS - 1; band >= 0; band--)
        port.queue(banded(static_cast<char>('A' + band), 0, static_cast<uint8_t>(band)));
    tap.is("by band, and then who has none", joined(port.drain()), "A0 B0 C0 D0 E0 F0 U0");
    check_empty(tap, port.stats());
}

void test_off(Tap& tap) {
    Port port({.pfqd = {.demote = 60'000'000, .completion = PFQD_SWITCH_OFF}});
    port.hold();
    port.queue(banded('A', 0, 5));
    port.queue(banded('B', 0, 0));
    tap.is("who does not read stamps serves in order of arrival", joined(port.drain()), "A0 B0");
    const PfqdStats stats = port.stats();
    tap.is("nothing is counted under a band", stats.band[5].packets + stats.band[0].packets, 0u);
}

// What is no stamp has no band: other pools, a band that does not exist, no DSCP.
void test_no_stamp(Tap& tap) {
    Port port({.pfqd = with_completion()});
    port.hold();
    const uint8_t fields[] = {0x00,
                              0xb8 /* EF */,
                              0x28 /* AF11 */,
                              dsfield_of(6),
                              dsfield_of(6, PFQD_RTT_LONG),
                              dsfield_of(PFQD_BAND_NONE),
                              dsfield_of(PFQD_BAND_NONE, PFQD_RTT_LONG)};
    char flow = 'A';
    for (const uint8_t field : fields) {
        FrameOptions options;
        options.sport = static_cast<uint16_t>(1000 + flow++);
        options.payload = kFull;
        options.dsfield = field;
        port.queue(make_frame(options));
    }
    port.queue(banded('Z', 0, 5));
    tap.is("only a band goes first", joined(port.drain()), "Z0 A0 B0 C0 D0 E0 F0 G0");
    const PfqdStats stats = port.stats();
    tap.is("without a band, with the frame that held the wire", stats.band[PFQD_BANDS].packets, 8u);
    tap.is("short", stats.rtt[PFQD_RTT_SHORT].packets, 2u);
    tap.is("long", stats.rtt[PFQD_RTT_LONG].packets, 1u);
    tap.is("without a class", stats.rtt[PFQD_RTT_NONE].packets, 6u);
}

void test_head_decides(Tap& tap) {
    Port port({.pfqd = with_completion()});
    port.hold();
    port.queue(banded('A', 0, 4));
    port.queue(banded('A', 1, 0));
    port.queue(banded('B', 0, 3));
    port.queue(banded('B', 1, 5));
    port.queue(banded('C', 0, 3));
    port.queue(data('C', 1));
    tap.is("a flow is where its head is, and keeps its order", joined(port.drain()), "B0 C0 A0 A1 B1 C1");
}

// A's head is in band 0 again and again, in B's place meanwhile: it goes round with it.
void test_equal_bands(Tap& tap) {
    Port port({.pfqd = with_completion()});
    port.hold();
    for (const char flow : std::string("ABC")) queue_banded(port, flow, 0, 5, 2);
    tap.is("turn by turn within a band; the ninth is the ordinary round-robin's", joined(port.drain()),
           "A0 B0 C0 A1 B1 C1 A2 B2 A3 C2 A4 B3 C3 B4 C4");
}

// Who comes to the smallest band while others are being served does not wait for them.
void test_newcomer(Tap& tap) {
    Port port({.pfqd = with_completion()});
    port.hold();
    for (const char flow : std::string("ABCDE")) queue_banded(port, flow, 0, 20, 4);
    sleep_ns(12 * kFrameNs + kFrameNs / 2);
    port.queue(banded('S', 0, 0));
    const std::vector<std::string> out = port.drain();
    const auto at = std::find(out.begin(), out.end(), "S0") - out.begin();
    tap.is("it is next but for the frame on the wire", at, 12);
}

// Two ordinary flows and one with a band: of 9 turns one is ordinary, of 3 of these
// one is the banded flow's own.
void test_share(Tap& tap) {
    Port port({.pfqd = with_completion()});
    port.hold();
    port.queue_data('U', 0, 10);
    port.queue_data('V', 0, 10);
    queue_banded(port, 'A', 0, 150, 0);
    tap.is("eight to one", runs(port.drain(), 54), "A*8 U A*8 V A*17 U A*8 V A*9");
    const PfqdStats stats = port.stats();
    tap.is("all turns are counted", stats.serves_banded + stats.serves_ordinary, 171u);
    check_empty(tap, stats);
}

// In bytes, whatever the packets' sizes: DRR's bound is a quantum and a packet a flow.
void test_share_bytes(Tap& tap) {
    for (const auto& [banded_size, other_size] :
         {std::pair{150ul, kFull}, std::pair{kFull, 150ul}, std::pair{647ul, 900ul}}) {
        Port port({.pfqd = with_completion()});
        port.hold();
        const auto count = [](size_t bytes, size_t payload) {
            return static_cast<uint32_t>(bytes / (payload + kTcpHeaders));
        };
        port.queue_data('U', 0, count(60'000, other_size), other_size);
        queue_banded(port, 'A', 0, count(600'000, banded_size), 0, banded_size);
        size_t a = 0, u = 0;
        for (const Received& received : port.drain_frames()) {
            const std::string text = label(received.frame);
            if (text == "-") continue;
            (text[0] == 'A' ? a : u) += received.frame.size();
            if (a + u > 450'000) break;
        }
        // Half of the ordinary turns are A's own.
        tap.near(fmt::format("a flow of {} B frames beside a banded one of {} B frames",
                             other_size + kTcpHeaders, banded_size + kTcpHeaders),
                 static_cast<double>(u), 450'000.0 / 18, 2 * 1514);
    }
}

// GSO packets are as many turns as they are quanta long, on either side.
void test_share_gso(Tap& tap) {
    constexpr uint32_t kSegments = 44;
    PfqdOptions options_of_port = with_completion();
    options_of_port.limit = options_of_port.memlimit = 100'000'000;
    Port port({.pfqd = options_of_port});
    GsoSocket gso(port.end());
    FrameOptions options;
    options.payload = kSegments * kFull;
    port.hold();
    for (const auto& [flow, field, packets] :
         {std::tuple{'U', uint8_t{0}, 40}, {'A', dsfield_of(0), 200}, {'B', dsfield_of(3), 100}}) {
        options.sport = static_cast<uint16_t>(1000 + flow);
        options.dsfield = field;
        for (int i = 0; i < packets; i++) gso.send(make_frame(options), kFull);
    }
    sleep_ns(10'000 * kFrameNs);
    const PfqdStats stats = port.stats();
    tap.ok(stats.serves_ordinary > 1000, "enough was served to judge");
    tap.near("banded turns to one ordinary turn", static_cast<double>(stats.serves_banded),
             8.0 * static_cast<double>(stats.serves_ordinary), 9.0 * kSegments);
    port.drain_frames();
    check_empty(tap, port.stats());
}

// A band that is empty whenever its packet is on the wire owes all the same: it is back
// before the other flow has had what it waited for.
void test_share_of_single_packets(Tap& tap) {
    constexpr uint32_t kSegments = 44, kPackets = 10;
    Port port({.pfqd = with_completion()});
    GsoSocket gso(port.end());
    FrameOptions options;
    options.payload = kSegments * kFull;
    options.sport = 1000 + 'A';
    options.dsfield = dsfield_of(0);
    port.hold();
    port.queue_data('U', 0, 200);
    for (uint32_t packet = 1; packet <= kPackets; packet++) {
        gso.send(make_frame(options), kFull);
        while (port.stats().band[0].packets < packet * kSegments) sleep_ns(kFrameNs / 4);
        sleep_ns(kSegments * kFrameNs);
    }
    const PfqdStats stats = port.stats();
    // A has a turn now and then in the ordinary round-robin too, like everybody.
    const uint64_t turns = stats.serves_banded + stats.serves_ordinary;
    tap.ok(stats.serves_banded <= 8 * stats.serves_ordinary + kSegments, "eight turns for one, and no more");
    tap.ok(turns - kSegments * kPackets >= kPackets * 4,
           fmt::format("the other flow had {} turns beside {}", turns - kSegments * kPackets,
                       kSegments * kPackets));
    port.drain_frames();
    check_empty(tap, port.stats());
}

// n flows with a band: each ordinary round gives the one without its turn, and has
// n + 1 turns with eight banded ones before each.
void test_wait_bound(Tap& tap) {
    for (const uint32_t flows : {1u, 5u, 25u}) {
        Port port({.pfqd = with_completion()});
        port.hold();
        for (uint32_t n = 0; n < 20 * 9; n++)
            for (uint32_t flow = 0; flow < flows; flow++)
                port.queue(banded(static_cast<char>('A' + flow), n, 0, 200));
        sleep_ns(10 * kFrameNs);
        for (uint32_t n = 0; n < 5; n++) port.queue(data('a', n, 200));
        std::vector<size_t> at{0};
        const std::vector<std::string> out = port.drain();
        for (size_t i = 0; i < out.size(); i++)
            if (out[i][0] == 'a') at.push_back(i);
        tap.is(fmt::format("{} flows of band 0: the one without is served", flows), at.size(), 6u);
        // It came when about ten frames had left, and the wire was not idle since.
        size_t longest = at.size() > 1 ? at[1] - std::min(at[1], size_t{10}) : out.size();
        for (size_t i = 2; i < at.size(); i++) longest = std::max(longest, at[i] - at[i - 1]);
        // A turn is a quantum: six frames of 254 B.
        tap.between(fmt::format("{} flows of band 0: at most one round apart, in frames", flows), longest,
                    size_t{1}, size_t{(flows + 1) * 9 * 6});
    }
}

// A cycle is as many turns as there were high flows when it began, and one.
void test_cadence(Tap& tap) {
    Port port({.pfqd = with_completion()});
    port.hold();
    for (const char flow : std::string("ABC")) queue_banded(port, flow, 0, 8, 0);
    for (int i = 0; i < 30; i++) port.queue(pure_ack('Z'));
    std::vector<std::string> out = port.drain();
    for (std::string& text : out) text = text == "z" ? "z" : "D";
    tap.is("eight control packets, then four turns", runs(out), "z*8 D*4 z*8 D*4 z*8 D*4 z*6 D*12");
}

void test_control_overtakes(Tap& tap) {
    Port port({.pfqd = with_completion()});
    port.hold();
    for (const char flow : std::string("ABCDE")) queue_banded(port, flow, 0, 20, 0);
    sleep_ns(20 * kFrameNs + kFrameNs / 2);
    port.queue(pure_ack('Z'));
    const std::vector<std::string> out = port.drain();
    tap.is("an ACK waits for the frame on the wire", std::find(out.begin(), out.end(), "z") - out.begin(),
           20);
}

// Too long backlogged for the high tier, but nearly done.
void test_demoted(Tap& tap) {
    Port port({.pfqd = {.demote = 1000, .completion = PFQD_SWITCH_ON}});
    port.hold();
    port.queue_data('A', 0, 30);
    queue_banded(port, 'B', 0, 40, 3);
    sleep_ns(20 * kFrameNs);  // both are low now
    tap.is("both were demoted", port.stats().demotions, 2u);
    port.queue(banded('B', 40, 0));
    port.queue_data('C', 0, 3);
    const std::vector<std::string> out = port.drain();
    size_t before = 0;  // of B's frames after the look, those before the last of C
    const auto last = std::find(out.begin(), out.end(), "C2");
    for (auto it = out.begin() + 21; it < last; ++it) before += (*it)[0] == 'B';
    tap.ok(before > 15, "a low flow is still served for its band");
    tap.is("all arrive", out.size(), 74u);
    check_empty(tap, port.stats());
}

}  // namespace

int main() {
    return run_tests({{"smallest band first", test_smallest_first},
                      {"completion off", test_off},
                      {"no stamp", test_no_stamp},
                      {"the head decides", test_head_decides},
                      {"equal bands", test_equal_bands},
                      {"newcomer", test_newcomer},
                      {"share", test_share},
                      {"share in bytes", test_share_bytes},
                      {"share with GSO", test_share_gso},
                      {"share of single packets", test_share_of_single_packets},
                      {"wait bound", test_wait_bound},
                      {"control's cadence", test_cadence},
                      {"control overtakes", test_control_overtakes},
                      {"demoted", test_demoted}});
}
