// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
//
// The service cycle, packet by packet: control within its allowance, one turn of
// every high flow, byte-fair turns, and nobody's order changed.
#include <algorithm>
#include <map>

#include "selftests/pfqd/port.hpp"

using namespace pfqd::selftest;

namespace {

void test_one_turn_each(Tap& tap) {
    Port port;
    port.hold();
    port.queue_data('A', 0, 4);
    port.queue_data('B', 0, 2);
    port.queue_data('C', 0, 3);
    tap.is("one full packet a flow and cycle, in order of arrival", joined(port.drain()),
           "A0 B0 C0 A1 B1 C1 A2 C2 A3");
    check_empty(tap, port.stats());
}

void test_bulk_shares(Tap& tap) {
    constexpr uint32_t kPackets = 40;
    Port port({.pfqd = {.demote = 60'000'000}});
    port.hold();
    const std::string flows = "ABCDEFGH";
    for (const char flow : flows) port.queue_data(flow, 0, kPackets);
    const std::vector<std::string> out = port.drain();
    tap.is("all arrive", out.size(), flows.size() * kPackets);
    bool exact = true;
    for (size_t i = 0; i < out.size(); i++)
        exact = exact && out[i] == flows[i % flows.size()] + std::to_string(i / flows.size());
    tap.ok(exact, "eight bulk flows: every cycle has one packet of each, all in order");
}

void test_short_behind_bulk(Tap& tap) {
    Port port({.pfqd = {.demote = 60'000'000}});
    port.hold();
    for (const char flow : std::string("ABCDE")) port.queue_data(flow, 0, 50);
    sleep_ns(12 * kFrameNs);
    port.queue(data('S', 0));
    const std::vector<std::string> out = port.drain();
    const auto at = std::find(out.begin(), out.end(), "S0") - out.begin();
    // Ten or eleven are out when it comes, one is on the wire.
    tap.between("a short flow behind five bulk flows waits one round", at, 15L, 18L);
}

void test_control_first(Tap& tap) {
    Port port;
    port.hold();
    port.queue_data('A', 0, 3);
    port.queue_data('B', 0, 3);
    port.queue(pure_ack('A'));
    port.queue(pure_ack('C'));
    tap.is("control overtakes all data", joined(port.drain()), "a c A0 B0 A1 B1 A2 B2");
    const PfqdStats stats = port.stats();
    tap.is("control packets counted", stats.tier[PFQD_TIER_CONTROL].packets, 2u);
    tap.is("control bytes counted", stats.tier[PFQD_TIER_CONTROL].bytes, 2u * kTcpHeaders);
    tap.is("data packets counted, with the frame that held the wire", stats.tier[PFQD_TIER_HIGH].packets, 7u);
    check_empty(tap, stats);
}

void test_control_allowance(Tap& tap) {
    Port port;
    port.hold();
    port.queue_data('A', 0, 4);
    port.queue_data('B', 0, 4);
    for (int i = 0; i < 20; i++) port.queue(pure_ack('C'));
    tap.is("eight control packets a cycle, no more", joined(port.drain()),
           "c c c c c c c c A0 B0 c c c c c c c c A1 B1 c c c c A2 B2 A3 B3");
}

void test_control_option(Tap& tap) {
    Port port({.pfqd = {.control = 2}});
    port.hold();
    port.queue_data('A', 0, 3);
    for (int i = 0; i < 5; i++) port.queue(pure_ack('C'));
    tap.is("the allowance is an option", joined(port.drain()), "c c A0 c c A1 c A2");
}

// What comes when a cycle's turns are over belongs to the next cycle.
void test_late_control(Tap& tap) {
    Port port({.pfqd = {.control = 2}});
    port.hold();
    port.queue_data('A', 0, 4);
    sleep_ns(kFrameNs / 2 + kFrameNs);  // A0 is on the wire, its cycle is over
    for (int i = 0; i < 6; i++) port.queue(pure_ack('C'));
    tap.is("an allowance that lapsed is not added to the next", joined(port.drain()),
           "A0 c c A1 c c A2 c c A3");
}

void test_control_alone(Tap& tap) {
    Port port({.pfqd = {.control = 3}});
    port.hold();
    for (uint32_t i = 0; i < 10; i++) port.queue(pure_ack('C', i));
    size_t count = 0;
    bool ordered = true;
    for (const Received& received : port.drain_frames()) {
        if (label(received.frame) != "c") continue;
        ordered = ordered && received.frame.at(45) == count;  // low byte of ack_seq
        count++;
    }
    tap.is("without data all control leaves", count, 10u);
    tap.ok(ordered, "in order");
}

std::map<char, size_t> bytes_by_flow(const std::vector<Received>& frames, size_t first, size_t count) {
    std::map<char, size_t> bytes;
    for (size_t i = first; i < std::min(frames.size(), first + count); i++)
        if (const std::string text = label(frames[i].frame); text != "-")
            bytes[text[0]] += frames[i].frame.size();
    return bytes;
}

void test_byte_fair(Tap& tap) {
    Port port({.pfqd = {.demote = 60'000'000}});
    port.hold();
    port.queue_data('A', 0, 100);            // 1514 B
    port.queue_data('B', 0, 1000, 150);      // 204 B
    port.queue_data('C', 0, 300, 701 - 54);  // 701 B
    const std::vector<Received> frames = port.drain_frames();
    const std::map<char, size_t> bytes = bytes_by_flow(frames, 1, 480);
    tap.ok(bytes.at('A') > 50'000, "enough was served to judge");
    // DRR's bound: one quantum and one packet apart at any moment.
    tap.near("204 B packets get the bytes of 1514 B packets", static_cast<double>(bytes.at('B')),
             static_cast<double>(bytes.at('A')), 1514 + 1514);
    tap.near("701 B packets too", static_cast<double>(bytes.at('C')), static_cast<double>(bytes.at('A')),
             1514 + 1514);
}

void test_small_quantum(Tap& tap) {
    // A begins with 512 B, sends 1514 and owes 1002: its turn is the second from
    // then, with 22 B of credit. Then it owes 1492, and 1470: the third.
    Port port({.pfqd = {.quantum = 512}});
    port.hold();
    port.queue_data('A', 0, 4);
    port.queue_data('B', 0, 12, 512 - kTcpHeaders);
    tap.is("who overdraws skips as many turns", joined(port.drain()),
           "A0 B0 B1 A1 B2 B3 B4 A2 B5 B6 B7 A3 B8 B9 B10 B11");
}

void test_debt_survives_emptiness(Tap& tap) {
    Port port({.pfqd = {.quantum = 512}});
    port.hold();
    port.queue(data('A', 0));
    port.queue_data('B', 0, 8, 512 - kTcpHeaders);
    sleep_ns(kFrameNs + kFrameNs / 2);  // A0 is on the wire, A is empty and owes 1002 B
    port.queue(data('A', 1));
    // without the debt: A0 B0 A1 B1
    tap.is("a flow that comes back still owes", joined(port.drain()), "A0 B0 B1 A1 B2 B3 B4 B5 B6 B7");
}

// The quantum follows the device when it is not set.
void test_quantum_follows_mtu(Tap& tap) {
    Port port({.mtu = 3000});
    port.hold();
    port.queue_data('A', 0, 3, 3014 - kTcpHeaders);
    port.queue_data('B', 0, 6);
    tap.is("a turn is 3014 B at an MTU of 3000", joined(port.drain()), "A0 B0 B1 A1 B2 B3 A2 B4 B5");
    port.end().change({.mtu = 1500});
    port.hold();
    port.queue_data('A', 0, 2);
    port.queue_data('B', 0, 2);
    tap.is("and 1514 B after the MTU is 1500", joined(port.drain()), "A0 B0 A1 B1");
}

void test_sojourn(Tap& tap) {
    Port port;
    port.hold();
    port.queue_data('A', 0, 4);
    port.drain();
    const std::vector<uint64_t> sojourn = port.stats().tier[PFQD_TIER_HIGH].sojourn;
    // 123, 246, 369 and 492 us: in 1024 ns << 6, 7, 8, 8, the held frame in 0.
    tap.is("held frame below 1 us", sojourn.at(0), 1u);
    tap.is("123 us", sojourn.at(7), 1u);
    tap.is("246 us", sojourn.at(8), 1u);
    tap.is("369 us and 492 us", sojourn.at(9), 2u);
    uint64_t sum = 0;
    for (const uint64_t count : sojourn) sum += count;
    tap.is("each packet once", sum, 5u);
}

}  // namespace

int main() {
    return run_tests({{"one turn each", test_one_turn_each},
                      {"bulk shares", test_bulk_shares},
                      {"short behind bulk", test_short_behind_bulk},
                      {"control first", test_control_first},
                      {"control allowance", test_control_allowance},
                      {"control option", test_control_option},
                      {"late control", test_late_control},
                      {"control alone", test_control_alone},
                      {"byte fair", test_byte_fair},
                      {"small quantum", test_small_quantum},
                      {"debt survives emptiness", test_debt_survives_emptiness},
                      {"quantum follows MTU", test_quantum_follows_mtu},
                      {"sojourn", test_sojourn}});
}
