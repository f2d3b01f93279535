// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
//
// A wire's end, at any moment: links, namespaces and the module go while frames
// are in the ring, on the wire, on their way and held. Nothing is left: the
// sender has its memory back, and in a kernel that counts them no packet is lost.
#include <linux/sockios.h>
#include <net/if.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <functional>
#include <memory>
#include <string>

#include "selftests/lib/frame.hpp"
#include "selftests/lib/kernel.hpp"
#include "selftests/lib/link.hpp"
#include "selftests/lib/packet_socket.hpp"
#include "selftests/lib/tap.hpp"

using namespace pfqd::selftest;
namespace nl = pfqd::nl;

namespace {

constexpr int kRounds = 50;
constexpr int kFrames = 60;                 // a round
constexpr uint64_t kCleanup = 100'000'000;  // ns; namespaces go in the background
constexpr const char* kSlab = "/sys/kernel/slab/skbuff_head_cache/objects";

// Frames everywhere: 10 in the ring, others in the qdisc, on their way, and held.
struct Busy {
    std::pair<End, End> ends;
    PacketSocket sender;

    Busy(const nl::Netns& a, const nl::Netns& b, int round)
        : ends(
              make_wire(a, {.delay = 10'000, .ring = 15'625}, b,
                        {.moderation = 50'000, .mode = LAB_WIRE_MODERATION_ALL, .lateness = 5000, .gro = 1})),
          sender(ends.first) {
        for (uint32_t n = 0; n < kFrames; n++) sender.send(raw_frame(1514, n));
        sleep_ns(static_cast<uint64_t>(round) * 1130);  // 60 frames last 29.5 us
    }

    int unsent() {
        int bytes = 0;
        pfqd::check(ioctl(sender.fd(), SIOCOUTQ, &bytes), "SIOCOUTQ");
        return bytes;
    }
};

bool exists(const nl::Netns& netns) {
    const In inside(netns);
    return if_nametoindex("wire0") != 0;
}

void rounds(Tap& tap, const char* name, const std::function<void(Busy&)>& finish) {
    const nl::Netns a = quiet_netns(), b = quiet_netns();
    int busy = 0, kept = 0;
    for (int round = 0; round < kRounds; round++) {
        Busy link(a, b, round);
        busy += link.unsent() > 0;
        finish(link);
        kept += link.unsent() > 0;
        if (exists(a)) link.ends.first.remove();
    }
    tap.ok(busy > 10, fmt::format("{}: frames are waiting when it goes", name));
    tap.is(fmt::format("{}: and none is the sender's afterwards, {} times", name, kRounds), kept, 0);
}

void test_links(Tap& tap) {
    rounds(tap, "sender's end", [](Busy& link) { link.ends.first.remove(); });
    rounds(tap, "receiver's end", [](Busy& link) { link.ends.second.remove(); });
    rounds(tap, "down", [](Busy& link) {
        link.ends.second.set_up(false);
        link.ends.first.set_up(false);
    });
}

void test_down_and_up(Tap& tap) {
    const nl::Netns a = quiet_netns(), b = quiet_netns();
    size_t late = 0, fresh = 0;
    for (int round = 0; round < kRounds; round++) {
        Busy link(a, b, round);
        link.ends.second.set_up(false);
        link.ends.first.set_up(false);
        link.ends.second.set_up(true);
        link.ends.first.set_up(true);
        link.ends.first.wait_running();
        PacketSocket sender(link.ends.first), receiver(link.ends.second);
        sender.send(raw_frame(60, 4711));
        for (const Received& received : receiver.receive_all(1'000'000))
            (raw_tag(received.frame) == 4711 ? fresh : late)++;
        link.ends.first.remove();
    }
    tap.is("no frame of before comes after", late, 0u);
    tap.is("the new one does, each time", fresh, size_t{kRounds});
}

// The receiver's namespace goes, and its end with it; the other end follows.
void test_namespaces(Tap& tap) {
    const nl::Netns a = quiet_netns();
    int busy = 0, kept = 0;
    for (int round = 0; round < kRounds; round++) {
        auto b = std::make_unique<nl::Netns>(quiet_netns());
        Busy link(a, *b, round);
        busy += link.unsent() > 0;
        b.reset();
        sleep_ns(kCleanup);
        kept += link.unsent() > 0;
        kept += exists(a);
    }
    tap.ok(busy > 10, "frames are waiting when one goes");
    tap.is(fmt::format("nothing is left of {} links", kRounds), kept, 0);
}

uint64_t packets_in_memory() {
    return std::stoull(read_text(kSlab));
}

// 50 rounds that lost one packet each would stand out from the caches' noise.
void test_leak(Tap& tap) {
    if (access(kSlab, R_OK) < 0) {
        tap.skip("no packet is leaked", "this kernel does not count objects (SLUB_DEBUG)");
        return;
    }
    const nl::Netns a = quiet_netns(), b = quiet_netns();
    auto round = [&](int number) {
        Busy link(a, b, number);
        link.ends.first.remove();
    };
    for (int i = 0; i < kRounds; i++) round(i);
    const uint64_t before = packets_in_memory();
    for (int repeat = 0; repeat < 4; repeat++)
        for (int i = 0; i < kRounds; i++) round(i);
    const uint64_t after = packets_in_memory();
    tap.diag(fmt::format("{} packets in memory, {} after {} links", before, after, 4 * kRounds));
    tap.ok(after < before + 2 * kRounds, "no packet is leaked");
}

void test_module(Tap& tap) {
    const nl::Netns a = quiet_netns(), b = quiet_netns();
    for (int round = 0; round < 5; round++) {
        Busy link(a, b, round * 10);
        unload_module("wire");
        tap.ok(!module_loaded("wire"), "the module goes while its wires are busy");
        tap.is("and takes the sender's frames off it", link.unsent(), 0);
        load_module("wire");
    }
    Busy link(a, b, 0);
    tap.ok(link.unsent() > 0, "and comes again");
}

}  // namespace

int main() {
    load_module("wire");
    return run_tests({{"links", test_links},
                      {"down and up", test_down_and_up},
                      {"namespaces", test_namespaces},
                      {"leaks", test_leak},
                      {"module", test_module}});
}
