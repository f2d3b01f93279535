// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
//
// What enters with a forged stamp, or with any other class, leaves with the edge's:
// all 64 DSCPs with all four ECN values, in all sorts of packets, byte for byte what
// the packet would be had it been made with that class. With --trust the 14 valid
// stamps stay.
#include "selftests/edge/gate.hpp"
#include "selftests/edge/packets.hpp"
#include "selftests/lib/packet_socket.hpp"
#include "selftests/lib/tap.hpp"

using namespace pfqd::selftest;

namespace {

struct Tally {
    uint64_t stamped = 0, kept = 0;
};

// Every class through the gate; the number that did not leave as they should.
unsigned wrong_classes(const Gate& gate, const PacketKind& kind, bool trust, Tally& tally) {
    unsigned wrong = 0;
    for (unsigned value = 0; value < 256; value++) {
        const auto before = static_cast<uint8_t>(value);
        const uint8_t after = class_after(before, trust);
        const auto left = gate.pass(kind.make(before));
        wrong += !left || *left != kind.make(after);
        (after == before ? tally.kept : tally.stamped)++;
    }
    return wrong;
}

void check_all(Tap& tap, bool trust) {
    const Gate gate;
    edge_json(trust ? "attach out0 --trust" : "attach out0");
    Tally tally;
    for (const PacketKind& kind : kIpPackets)
        tap.is(fmt::format("{}: of 256 classes none leaves wrong", kind.name),
               wrong_classes(gate, kind, trust, tally), 0u);
    const auto packets = edge_packets("out0");
    tap.is("packets counted as stamped", packets.at("stamped").get<uint64_t>(), tally.stamped);
    tap.is("as kept", packets.at("kept").get<uint64_t>(), tally.kept);
    tap.is("as not IP", packets.at("not_ip").get<uint64_t>(), 0u);
    tap.is("as malformed", packets.at("malformed").get<uint64_t>(), 0u);
    tap.is("as failed", packets.at("failed").get<uint64_t>(), 0u);
    tap.is("edge detach", edge("detach out0").status, 0);
    const Bytes frame = packet::v4(0x0c);
    tap.ok(gate.pass(frame) == frame, "after detach, packets leave as they came");
}

void test_all(Tap& tap) {
    check_all(tap, false);
}
void test_trust(Tap& tap) {
    check_all(tap, true);
}

// Changing the mode changes what is done, from one packet to the next.
void test_switch(Tap& tap) {
    const Gate gate;
    const Bytes stamped = packet::v6(0x0e), edge_stamped = packet::v6(0xfe);
    edge_json("attach out0");
    tap.ok(gate.pass(stamped) == edge_stamped, "stamp: a valid stamp is overwritten");
    edge_json("attach out0 --trust");
    tap.ok(gate.pass(stamped) == stamped, "trust: it is kept");
    edge_json("attach out0");
    tap.ok(gate.pass(stamped) == edge_stamped, "stamp again: it is overwritten");
}

// A packet socket on the device holds a clone of what the edge then rewrites.
void test_socket(Tap& tap) {
    const Gate gate;
    edge_json("attach out0");
    PacketSocket socket(gate.outer_end());
    for (const PacketKind& kind : {PacketKind{"IPv4", packet::v4}, PacketKind{"IPv6", packet::v6},
                                   PacketKind{"IPv4 jumbo", packet::v4_jumbo}}) {
        const Bytes entered = kind.make(0x15);
        gate.enter(entered);
        tap.ok(gate.leave() == kind.make(0xfd), fmt::format("{}: leaves stamped", kind.name));
        const auto seen = socket.receive();
        tap.ok(seen && seen->frame == entered, fmt::format("{}: the socket sees what entered", kind.name));
    }
}

}  // namespace

int main() {
    return run_tests({{"stamp", test_all},
                      {"trust", test_trust},
                      {"switch", test_switch},
                      {"packet socket", test_socket}});
}
