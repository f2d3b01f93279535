// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
//
// The link itself: what it accepts, what it refuses and that a refusal changes
// nothing, MTU and carrier.
#include <net/if.h>
#include <netlink/msg.h>

#include <cstring>
#include <functional>
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

// The kernel's own words, or none when it accepts or only gives a number.
std::string refusal(const std::function<void()>& request) {
    try {
        request();
    } catch (const nl::NetlinkError& error) {
        return error.what() == std::string(std::strerror(error.code())) ? "" : error.what();
    }
    return "";
}

// Each has a good delay beside it, which must not be applied either.
void test_refusals(Tap& tap) {
    Pair link;
    const End& end = link.ends.first;
    auto refused = [&](const char* name, EndOptions options) {
        if (!options.delay) options.delay = 5;
        const std::string reason = refusal([&] { end.change(options); });
        tap.ok(!reason.empty(), fmt::format("{}: refused, with a reason", name));
        tap.diag(reason);
        tap.is(fmt::format("{}: the rate is as before", name), end.option(IFLA_LAB_WIRE_RATE),
               25'000'000'000u);
        tap.is(fmt::format("{}: the delay is as before", name), end.option(IFLA_LAB_WIRE_DELAY), 1000u);
    };
    refused("rate 0", {.rate = 0});
    refused("rate too low", {.rate = 999});
    refused("rate too high", {.rate = 10'000'000'000'001});
    refused("delay too long", {.rate = 5000, .delay = 10'000'000'001});
    refused("ring too large", {.ring = (1u << 30) + 1});
    refused("loss over a million", {.loss = 1'000'001});
    refused("moderation too long", {.moderation = 1'000'000'001});
    refused("unknown mode", {.mode = __LAB_WIRE_MODERATION_MAX});
    refused("lateness too long", {.lateness = 1'000'000'001});
    refused("gro 2", {.gro = 2});
    refused("MTU too small", {.mtu = 67});
    refused("MTU too large", {.mtu = 65'536});
}

// What both ends are told at birth; what is refused there leaves no link behind.
void test_creation(Tap& tap) {
    const nl::Netns a = quiet_netns(), b = quiet_netns();
    auto exists = [](const nl::Netns& netns) {
        const In inside(netns);
        return if_nametoindex("wire0") != 0;
    };
    auto request = [&](EndOptions left, EndOptions right) {
        left.name = right.name = "wire0";
        const In inside(a);
        nl::Socket socket;
        nl::Message message = wire_request(left, b, right);
        socket.request(message);
    };
    auto refused = [&](const char* name, const EndOptions& left, const EndOptions& right) {
        tap.ok(!refusal([&] { request(left, right); }).empty(),
               fmt::format("{}: refused, with a reason", name));
        tap.ok(!exists(a) && !exists(b), fmt::format("{}: and no link is there", name));
    };
    refused("a bad rate", {.rate = 1}, {});
    refused("the peer's bad rate", {}, {.rate = 1});
    refused("the peer's bad mode", {}, {.mode = 99});
    refused("the peer's bad MTU", {}, {.mtu = 67});
    refused("too many queues", {.queues = 257}, {});
    refused("too many queues of the peer", {}, {.queues = 257});

    request({.rate = 2'000'000, .delay = 7}, {.rate = 3'000'000, .delay = 8, .mtu = 68});
    const End left(a, "wire0"), right(b, "wire0");
    tap.is("the new end's rate", left.option(IFLA_LAB_WIRE_RATE), 2'000'000u);
    tap.is("its peer's", right.option(IFLA_LAB_WIRE_RATE), 3'000'000u);
    tap.is("the new end's delay", left.option(IFLA_LAB_WIRE_DELAY), 7u);
    tap.is("its peer's", right.option(IFLA_LAB_WIRE_DELAY), 8u);
    for (const End* end : {&left, &right}) {
        tap.is("unless told: one frame in the ring", end->option(IFLA_LAB_WIRE_RING), 0u);
        tap.is("no moderation", end->option(IFLA_LAB_WIRE_MODERATION_MODE), 0u);
        tap.is("no GRO", end->option(IFLA_LAB_WIRE_GRO), 0u);
        tap.is("no loss", end->option(IFLA_LAB_WIRE_LOSS), 0u);
    }
    const std::string reason = refusal([&] {
        const In inside(a);
        nl::Socket socket;
        nl::Message message = wire_request({.name = "wire0"}, b, {.name = "wire1"});
        nlmsg_hdr(message.get())->nlmsg_flags &= ~NLM_F_EXCL;
        socket.request(message);
    });
    tap.ok(reason.find("keeps the peer") != std::string::npos, "a wire's peer cannot be changed");
    tap.diag(reason);
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

}  // namespace

int main() {
    load_module("wire");
    return run_tests({{"shows", test_shows},
                      {"refusals", test_refusals},
                      {"mtu", test_mtu},
                      {"creation", test_creation},
                      {"carrier", test_carrier}});
}
