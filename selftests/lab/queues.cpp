// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
//
// Hosts with several hardware queues, set up as the lab sets them up: every queue has the
// configuration's qdisc with its options, and what they count is summed.
#include <linux/pkt_sch_pfqd.h>
#include <linux/pkt_sched.h>

#include "lab/common/qdisc.hpp"
#include "selftests/lib/frame.hpp"
#include "selftests/lib/kernel.hpp"
#include "selftests/lib/link.hpp"
#include "selftests/lib/packet_socket.hpp"
#include "selftests/lib/qdisc.hpp"
#include "selftests/lib/tap.hpp"

using namespace pfqd::selftest;
namespace nl = pfqd::nl;

namespace {

constexpr uint32_t kMq = 0x10000;
constexpr uint32_t kQueues = 4;
constexpr uint16_t kFlows = 64;  // enough for every queue

struct Host {
    nl::Netns a = quiet_netns(), b = quiet_netns();
    std::pair<End, End> ends;

    Host(uint32_t queues, const pfqd::lab::QdiscSpec& spec) : ends(make_wire(a, {.queues = queues}, b, {})) {
        const In in(a);
        nl::Socket socket;
        pfqd::lab::set_root_qdisc(socket, ends.first.ifindex(), spec, queues);
        ends.first.wait_running();
    }

    pfqd::lab::QdiscCounters counters() const {
        const In in(a);
        nl::Socket socket;
        return pfqd::lab::read_qdiscs(socket);
    }

    void send_flows() {
        PacketSocket sender(ends.first), receiver(ends.second);
        for (uint16_t port = 1; port <= kFlows; port++) {
            FrameOptions options;
            options.protocol = IPPROTO_UDP;
            options.sport = port;
            options.payload = 1000;
            sender.send(make_frame(options));
        }
        receiver.receive_all(10'000'000);
    }
};

void test_leaves(Tap& tap) {
    for (const char* kind : {"pfqd", "fq_codel"}) {
        const Host host(kQueues, {kind, nlohmann::json::object()});
        tap.is(std::string(kind) + ": the root", qdisc_stats(host.ends.first).kind, std::string("mq"));
        for (uint32_t queue = 1; queue <= kQueues; queue++)
            tap.is(fmt::format("{}: queue {}", kind, queue), qdisc_stats(host.ends.first, kMq | queue).kind,
                   std::string(kind));
    }
    const Host one(1, {"pfqd", nlohmann::json::object()});
    tap.is("one queue: no mq", qdisc_stats(one.ends.first).kind, std::string("pfqd"));
    tap.ok(one.counters().queues.empty(), "and no count of queues");
}

void test_options(Tap& tap) {
    const Host with(kQueues, {"pfqd", {{"quantum", 4321}, {"completion", PFQD_SWITCH_ON}}});
    const Host single(1, {"pfqd", {{"quantum", 4321}, {"completion", PFQD_SWITCH_ON}}});
    const Host other(1, {"pfqd", nlohmann::json::object()});
    const auto wanted = qdisc_stats(single.ends.first).options;
    tap.ok(wanted != qdisc_stats(other.ends.first).options, "the options show");
    for (uint32_t queue = 1; queue <= kQueues; queue++)
        tap.ok(qdisc_stats(with.ends.first, kMq | queue).options == wanted,
               fmt::format("queue {} has those of a root", queue));
}

void test_sums(Tap& tap) {
    Host host(kQueues, {"pfqd", nlohmann::json::object()});
    const pfqd::lab::QdiscCounters before = host.counters();
    host.send_flows();
    const pfqd::lab::QdiscCounters counted = host.counters() - before;
    const nlohmann::json queues = counted.queues.json(), all = counted.pfqd.json();
    uint64_t sum = 0, used = 0, leaves = 0;
    for (const uint64_t one : queues.at("packets")) sum += one, used += one > 0;
    for (uint32_t queue = 1; queue <= kQueues; queue++)
        leaves += qdisc_stats(host.ends.first, kMq | queue).packets;
    tap.is("a number for each queue", queues.at("packets").size(), kQueues);
    tap.is("every packet once", sum, kFlows);
    tap.is("as the leaves say", sum, leaves);
    tap.ok(used > 1, "over more than one queue");
    tap.is("pfqd's own counters are those of all leaves",
           all.at("tiers").at("high").at("packets").get<uint64_t>(), kFlows);
    tap.is("mq itself is not counted again", counted.drops + counted.marks, 0u);
}

}  // namespace

int main() {
    load_module("wire");
    load_module("sch_pfqd");
    return run_tests({{"leaves", test_leaves}, {"options", test_options}, {"sums", test_sums}});
}
