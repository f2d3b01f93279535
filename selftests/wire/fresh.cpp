// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
//
// What arrives is as if a NIC had received it: nothing that the sender's kernel
// noted on the packet is there, and the sender has its memory back when the
// last bit has left.
//
// A classifier in front of the sender's qdisc sets everything that can be set
// and reads it back, so that "nothing arrives" is not "nothing was sent".
#include <linux/sockios.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include <cstddef>

#include "selftests/lib/bpf.hpp"
#include "selftests/lib/inet.hpp"
#include "selftests/lib/kernel.hpp"
#include "selftests/lib/link.hpp"
#include "selftests/lib/packet_socket.hpp"
#include "selftests/lib/tap.hpp"

using namespace pfqd::selftest;
namespace nl = pfqd::nl;

namespace {

constexpr uint32_t kDatagram = 1000;  // bytes, larger than any packet that is not the test's
constexpr const char* kLeft = "10.0.0.1";
constexpr const char* kRight = "10.0.0.2";
constexpr uint16_t kPort = 7;

struct Field {
    const char* name;
    uint32_t offset;
    uint32_t size;
    uint64_t set;  // 0: not set by the sender's classifier
};

constexpr Field kFields[] = {
    {"mark", offsetof(__sk_buff, mark), 4, 0x1234},
    {"priority", offsetof(__sk_buff, priority), 4, 0x00060005},
    {"hash", offsetof(__sk_buff, hash), 4, 0x5eed5eed},
    {"tc_index", offsetof(__sk_buff, tc_index), 4, 0x77},
    {"cb[0]", offsetof(__sk_buff, cb[0]), 4, 0xc0},
    {"cb[4]", offsetof(__sk_buff, cb[4]), 4, 0xc4},
    {"tstamp", offsetof(__sk_buff, tstamp), 8, 0x1122334455667788},
    {"queue_mapping", offsetof(__sk_buff, queue_mapping), 4, 3},
    {"napi_id", offsetof(__sk_buff, napi_id), 4, 0},
    {"gso_segs", offsetof(__sk_buff, gso_segs), 4, 0},
    {"gso_size", offsetof(__sk_buff, gso_size), 4, 0},
};
constexpr uint32_t kFieldCount = std::size(kFields);
constexpr uint32_t kSocket = kFieldCount, kIngress = kFieldCount + 1, kType = kFieldCount + 2,
                   kHwTime = kFieldCount + 3, kCount = kFieldCount + 4;

struct Pair {
    nl::Netns a = quiet_netns(), b = quiet_netns();
    std::pair<End, End> ends;
    const End& left = ends.first;
    const End& right = ends.second;

    explicit Pair(const EndOptions& left_options = {}, const EndOptions& right_options = {})
        : ends(make_wire(a, left_options, b, right_options)) {
        left.add_address(kLeft);
        right.add_address(kRight);
    }
};

void record_all(BpfClassifier& classifier, const BpfNumbers& numbers) {
    for (uint32_t i = 0; i < kFieldCount; i++)
        classifier.record(numbers, i, kFields[i].offset, kFields[i].size);
    classifier.record_pointer(numbers, kSocket, offsetof(__sk_buff, sk));
    classifier.record(numbers, kIngress, offsetof(__sk_buff, ingress_ifindex));
    classifier.record(numbers, kType, offsetof(__sk_buff, pkt_type));
    classifier.record(numbers, kHwTime, offsetof(__sk_buff, hwtstamp), 8);
    classifier.count(numbers, kCount);
}

void test_bookkeeping(Tap& tap, bool gro) {
    Pair pair({.queues = 4}, {.gro = gro});
    BpfNumbers sent(kCount + 1), arrived(kCount + 1);
    BpfClassifier at_sender(kDatagram), at_receiver(kDatagram);
    for (const Field& field : kFields) {
        if (field.offset == offsetof(__sk_buff, hash))
            at_sender.set_hash(static_cast<uint32_t>(field.set));
        else if (field.size == 8)
            at_sender.set_field64(field.offset, field.set);
        else if (field.set)
            at_sender.set_field(field.offset, static_cast<uint32_t>(field.set));
    }
    record_all(at_sender, sent);
    record_all(at_receiver, arrived);
    at_sender.attach(pair.left, true);
    at_receiver.attach(pair.right, false);

    const pfqd::Fd receiver = udp_socket(pair.right, kPort), sender = udp_socket(pair.left);
    udp_send(sender.get(), kRight, kPort, kDatagram);
    tap.ok(readable(receiver.get()),
           "a datagram reaches the other host's socket (its route is looked up anew)");
    const auto before = sent.read(), after = arrived.read();
    tap.is("seen once at the sender", before[kCount], 1u);
    tap.is("seen once at the receiver", after[kCount], 1u);
    tap.is("the sender's packet has an owner", before[kSocket], 1u);
    tap.is("the receiver's has none", after[kSocket], 0u);
    tap.is("the receiver's came in by its own interface", after[kIngress],
           static_cast<uint64_t>(pair.right.ifindex()));
    tap.is("and is for this host", after[kType], 0u);
    tap.is("no hardware time stamp", after[kHwTime], 0u);
    for (uint32_t i = 0; i < kFieldCount; i++) {
        if (kFields[i].set)
            tap.is(fmt::format("the sender sets {}", kFields[i].name), before[i], kFields[i].set);
        // GRO's own trace of this interface is no trace of the sender.
        if (gro && kFields[i].offset == offsetof(__sk_buff, napi_id)) continue;
        // The control block is GRO's scratch space: what the sender wrote is not there.
        if (gro && (kFields[i].offset == offsetof(__sk_buff, cb[0]) ||
                    kFields[i].offset == offsetof(__sk_buff, cb[4]))) {
            tap.ok(after[i] != before[i],
                   fmt::format("the receiver's {} is not the sender's", kFields[i].name));
            continue;
        }
        tap.is(fmt::format("the receiver finds {} empty", kFields[i].name), after[i], 0u);
    }
}

void test_with_gro(Tap& tap) {
    test_bookkeeping(tap, true);
}
void test_without_gro(Tap& tap) {
    test_bookkeeping(tap, false);
}

// The socket's memory is its own again at the end of serialisation, not at arrival.
void test_completion(Tap& tap) {
    Pair pair({.rate = 1'000'000, .delay = 50'000'000});
    const pfqd::Fd receiver = udp_socket(pair.right, kPort), sender = udp_socket(pair.left);
    udp_send(sender.get(), kRight, kPort, 1);  // resolves the address
    tap.ok(readable(receiver.get()), "the neighbour is known");
    sleep_ns(100'000'000);

    auto unsent = [&] {
        int bytes = 0;
        pfqd::check(ioctl(sender.get(), SIOCOUTQ, &bytes), "SIOCOUTQ");
        return bytes;
    };
    udp_send(sender.get(), kRight, kPort, 934);  // 934 + 42 + 24 bytes last 8 ms
    tap.ok(unsent() > 0, "the datagram is the sender's while it is sent");
    sleep_ns(7'990'000);
    tap.ok(unsent() > 0, "until just before its last bit");
    sleep_ns(20'000);
    tap.is("and no longer after it", unsent(), 0);
    tap.is("long before it arrives", pair.right.counter(LAB_WIRE_STAT_RX_FRAMES), 2u);
    sleep_ns(60'000'000);
    tap.is("which it does", pair.right.counter(LAB_WIRE_STAT_RX_FRAMES), 3u);
}

// A sender that keeps its packet (here: the packet socket's tap) and a receiver
// that changes headers do not share them: the tap sees what was sent.
void test_checksum(Tap& tap) {
    Pair pair({}, {});
    PacketSocket receiver(pair.right);
    const pfqd::Fd server = udp_socket(pair.right, kPort), sender = udp_socket(pair.left);
    udp_send(sender.get(), kRight, kPort, kDatagram);
    tap.ok(readable(server.get()), "a datagram whose checksum no one has summed is accepted");
    bool partial = false;
    for (const Received& received : receiver.receive_all(1'000'000))
        partial = partial ||
                  (received.frame.size() > kDatagram && (received.status & 8));  // TP_STATUS_CSUMNOTREADY
    tap.ok(partial, "it is still marked as summed by hardware");
}

}  // namespace

int main() {
    load_module("wire");
    return run_tests({{"GRO", test_with_gro},
                      {"no GRO", test_without_gro},
                      {"completion", test_completion},
                      {"checksum", test_checksum}});
}
