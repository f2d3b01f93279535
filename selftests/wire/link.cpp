// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
//
// The link itself: what it accepts, what it refuses and that a refusal changes
// nothing, MTU, queues, carrier, and a life that ends at any moment.
#include <sys/mount.h>
#include <sys/stat.h>

#include <vector>

#include "selftests/lib/frame.hpp"
#include "selftests/lib/kernel.hpp"
#include "selftests/lib/link.hpp"
#include "selftests/lib/packet_socket.hpp"
#include "selftests/lib/tap.hpp"

using namespace pfqd::selftest;
namespace nl = pfqd::nl;

namespace {

struct Pair {
    nl::Netns a = quiet_netns(), b = quiet_netns();
    std::pair<End, End> ends = make_wire(a, {}, b, {});
};

void test_shows(Tap& tap) {
    Pair link;
    link.ends.first.change({.rate = 10'000'000'000,
                            .delay = 123,
                            .ring = 4567,
                            .loss = 89,
                            .seed = 12,
                            .moderation = 3456,
                            .mode = LAB_WIRE_MODERATION_ALL,
                            .lateness = 78});
    const End& end = link.ends.first;
    tap.is("rate", end.option(IFLA_LAB_WIRE_RATE), 10'000'000'000u);
    tap.is("delay", end.option(IFLA_LAB_WIRE_DELAY), 123u);
    tap.is("ring", end.option(IFLA_LAB_WIRE_RING), 4567u);
    tap.is("loss", end.option(IFLA_LAB_WIRE_LOSS), 89u);
    tap.is("seed", end.option(IFLA_LAB_WIRE_SEED), 12u);
    tap.is("moderation", end.option(IFLA_LAB_WIRE_MODERATION), 3456u);
    tap.is("mode", end.option(IFLA_LAB_WIRE_MODERATION_MODE), uint64_t{LAB_WIRE_MODERATION_ALL});
    tap.is("lateness", end.option(IFLA_LAB_WIRE_LATENESS), 78u);
    tap.is("the other end keeps its rate", link.ends.second.option(IFLA_LAB_WIRE_RATE), 25'000'000'000u);
}

void test_refusals(Tap& tap) {
    Pair link;
    const End& end = link.ends.first;
    auto refused = [&](const char* name, const EndOptions& options, const char* word) {
        std::string reason = "accepted";
        try {
            end.change(options);
        } catch (const nl::NetlinkError& error) {
            reason = error.what();
        }
        tap.ok(reason != "accepted", fmt::format("{}: refused", name));
        tap.ok(!word || reason.find(word) != std::string::npos, fmt::format("{}: says why", name));
        tap.diag(reason);
        tap.is(fmt::format("{}: the rate is as before", name), end.option(IFLA_LAB_WIRE_RATE),
               25'000'000'000u);
        tap.is(fmt::format("{}: the delay is as before", name), end.option(IFLA_LAB_WIRE_DELAY), 1000u);
    };
    // Each with a good delay beside it, which must not be applied either.
    refused("rate 0", {.rate = 0, .delay = 5}, nullptr);
    refused("rate too low", {.rate = 999, .delay = 5}, nullptr);
    refused("rate too high", {.rate = 10'000'000'000'001, .delay = 5}, nullptr);
    refused("delay too long", {.rate = 5000, .delay = 10'000'000'001}, nullptr);
    refused("ring too large", {.delay = 5, .ring = (1u << 30) + 1}, nullptr);
    refused("loss over a million", {.delay = 5, .loss = 1'000'001}, nullptr);
    refused("moderation too long", {.delay = 5, .moderation = 1'000'000'001}, nullptr);
    refused("unknown mode", {.delay = 5, .mode = __LAB_WIRE_MODERATION_MAX}, nullptr);
    refused("lateness too long", {.delay = 5, .lateness = 1'000'000'001}, nullptr);
    refused("gro 2", {.delay = 5, .gro = 2}, nullptr);
    refused("MTU too small", {.mtu = 67}, nullptr);
    refused("MTU too large", {.mtu = 65'536}, nullptr);
}

void test_mtu(Tap& tap) {
    Pair link;
    link.ends.first.change({.mtu = 9000});
    PacketSocket sender(link.ends.first), receiver(link.ends.second);
    sender.send(raw_frame(1518, 1));  // full-sized with a VLAN tag
    sender.send(raw_frame(1519, 2));
    sender.send(raw_frame(60, 3));
    std::vector<uint32_t> tags;
    for (const Received& received : receiver.receive_all()) tags.push_back(raw_tag(received.frame));
    tap.is("what exceeds the receiver's MTU is dropped there", tags.size(), 2u);
    tap.is("and counted", link.ends.second.counter(LAB_WIRE_STAT_OVERSIZE), 1u);
}

void test_carrier(Tap& tap) {
    Pair link;
    tap.ok(link.ends.first.carrier(), "carrier with both ends up");
    link.ends.second.set_up(false);
    tap.ok(!link.ends.first.carrier(), "none when the other end is down");
    link.ends.second.set_up(true);
    tap.ok(link.ends.first.carrier(), "again when it is up");
    link.ends.first.wait_running();
    PacketSocket sender(link.ends.first), receiver(link.ends.second);
    sender.send(raw_frame(100));
    tap.is("and frames pass", receiver.receive_all().size(), 1u);
}

void test_queues(Tap& tap) {
    const nl::Netns a = quiet_netns(), b = quiet_netns();
    auto [left, right] = make_wire(a, {.ring = 15'625, .queues = 4}, b, {});
    // A sysfs of that namespace.
    const In inside(a);
    const std::string sys = "/tmp/sys";
    mkdir(sys.c_str(), 0755);
    pfqd::check(mount("none", sys.c_str(), "sysfs", 0, nullptr), "mount sysfs");
    for (int queue = 0; queue < 4; queue++) {
        const std::string limits =
            fmt::format("{}/class/net/{}/queues/tx-{}/byte_queue_limits/", sys, left.name(), queue);
        tap.is(fmt::format("queue {} has a ring of its own, at least", queue),
               read_text(limits + "limit_min"), "15625\n");
        tap.is(fmt::format("queue {}: and at most", queue), read_text(limits + "limit_max"), "15625\n");
    }
    umount(sys.c_str());
}

// Frames in the ring, on the wire and held by moderation, and the link goes.
void test_ends_anywhere(Tap& tap) {
    for (int i = 0; i < 50; i++) {
        const nl::Netns a = quiet_netns(), b = quiet_netns();
        auto [left, right] =
            make_wire(a, {.delay = 20'000, .ring = 15'625}, b,
                      {.moderation = 50'000, .mode = LAB_WIRE_MODERATION_ALL, .lateness = 5000, .gro = 1});
        PacketSocket sender(left);
        for (uint32_t n = 0; n < 40; n++) sender.send(raw_frame(1514, n));
        sleep_ns(static_cast<uint64_t>(i) * 1700);
        if (i % 3 == 0)
            left.remove();
        else if (i % 3 == 1)
            right.remove();
        else
            right.set_up(false), left.set_up(false), right.set_up(true), left.set_up(true);
    }
    tap.ok(true, "50 links ended under load (the kernel's log decides)");
    sleep_ns(100'000'000);  // namespaces are cleaned up in the background
    unload_module("wire");
    tap.ok(!module_loaded("wire"), "and nothing holds the module");
}

}  // namespace

int main() {
    load_module("wire");
    return run_tests({{"shows", test_shows},
                      {"refusals", test_refusals},
                      {"mtu", test_mtu},
                      {"carrier", test_carrier},
                      {"queues", test_queues},
                      {"ends anywhere", test_ends_anywhere}});
}
