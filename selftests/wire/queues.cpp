// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
//
// Hardware queues: each has a ring of its own, and the wire takes a frame from
// each in turn.
#include <sys/mount.h>
#include <sys/stat.h>

#include <optional>
#include <vector>

#include "selftests/lib/frame.hpp"
#include "selftests/lib/kernel.hpp"
#include "selftests/lib/link.hpp"
#include "selftests/lib/packet_socket.hpp"
#include "selftests/lib/qdisc.hpp"
#include "selftests/lib/tap.hpp"

using namespace pfqd::selftest;
namespace nl = pfqd::nl;

namespace {

constexpr uint32_t kMq = 0x10000;  // handle 1:, its children 1:1, 1:2, ...
constexpr uint16_t kPorts = 64;    // tried until each queue has a flow
constexpr uint64_t kBigRing = 1 << 20;

Bytes flow_frame(uint16_t port, size_t payload, uint32_t tag = 0) {
    FrameOptions options;
    options.protocol = IPPROTO_UDP;
    options.sport = port;
    options.payload = payload;
    options.tag = tag;
    return make_frame(options);
}

uint16_t port_of(const Bytes& frame) {
    return static_cast<uint16_t>(frame.at(34) << 8 | frame.at(35));
}

struct Link {
    nl::Netns a = quiet_netns(), b = quiet_netns();
    std::pair<End, End> ends;
    const End& left = ends.first;
    PacketSocket sender, receiver;
    std::vector<uint16_t> port;  // of a flow that uses queue i

    Link(uint32_t queues, uint64_t ring)
        : ends(make_wire(a, {.ring = ring, .queues = queues}, b, {})), sender(left), receiver(ends.second) {
        set_qdisc(left, "mq", {}, {TC_H_ROOT, kMq});
        find_flows(queues);
    }

    uint64_t sent_by(uint32_t queue) const { return qdisc_stats(left, kMq | (queue + 1)).packets; }

    // Which queue a flow uses is the kernel's secret: try.
    void find_flows(uint32_t queues) {
        std::vector<std::optional<uint16_t>> found(queues);
        for (uint16_t candidate = 1; candidate <= kPorts; candidate++) {
            std::vector<uint64_t> before(queues);
            for (uint32_t queue = 0; queue < queues; queue++) before[queue] = sent_by(queue);
            sender.send(flow_frame(candidate, 10));
            for (uint32_t queue = 0; queue < queues; queue++)
                if (sent_by(queue) != before[queue]) found[queue] = candidate;
        }
        receiver.receive_all();
        for (const auto& one : found) port.push_back(one.value());
    }
};

// Flow 0 sends first and alone; from its second frame on all queues take turns.
void test_turns(Tap& tap, uint32_t queues) {
    constexpr size_t kEach = 30;
    Link link(queues, kBigRing);
    for (uint32_t queue = 0; queue < queues; queue++)
        for (uint32_t i = 0; i < kEach; i++)
            // Turns are frames, not bytes: the queues' frames differ in size.
            link.sender.send(flow_frame(link.port[queue], queue == 0 ? 1400 : 50 + queue, i));
    const std::vector<Received> received = link.receiver.receive_all();
    tap.is(fmt::format("{} queues: all frames arrive", queues), received.size(), kEach * queues);
    size_t wrong = 0;
    for (size_t i = 0; i < received.size(); i++) wrong += port_of(received[i].frame) != link.port[i % queues];
    tap.is("each queue has every turn of its own", wrong, 0u);
}

void test_two(Tap& tap) {
    test_turns(tap, 2);
}

void test_seven(Tap& tap) {
    test_turns(tap, 7);
}

// A queue that has nothing to send costs the others nothing.
void test_alone(Tap& tap) {
    Link link(4, kBigRing);
    const Bytes frame = flow_frame(link.port[2], 1184);  // 1226 and 24 bytes: 400 ns at 25 Gbit/s
    const uint64_t start = link.sender.send_timed(frame);
    for (int i = 1; i < 50; i++) link.sender.send(frame);
    uint64_t last = 0;
    for (const Received& received : link.receiver.receive_all()) last = received.at;
    tap.is("one busy queue of four has the whole rate", last - start, 50u * 400 + 1000);
}

void test_rings(Tap& tap) {
    Link link(2, 15'625);
    link.left.change({.rate = 1'000'000});
    for (int i = 0; i < 40; i++)
        for (uint16_t port : link.port) link.sender.send(flow_frame(port, 1184));
    // 13 frames of 1250 wire bytes are more than 15,625; 12 are not.
    for (uint32_t queue = 0; queue < 2; queue++)
        tap.is(fmt::format("queue {} has its own 15,625 bytes", queue),
               qdisc_stats(link.left, kMq | (queue + 1)).qlen, 27u);
}

void test_limits(Tap& tap) {
    const nl::Netns a = quiet_netns(), b = quiet_netns();
    auto [left, right] = make_wire(a, {.ring = 15'625, .queues = 4}, b, {});
    const In inside(a);
    const std::string sys = "/tmp/sys";  // a sysfs of that namespace
    mkdir(sys.c_str(), 0755);
    pfqd::check(mount("none", sys.c_str(), "sysfs", 0, nullptr), "mount sysfs");
    for (int queue = 0; queue < 4; queue++) {
        const std::string limits =
            fmt::format("{}/class/net/{}/queues/tx-{}/byte_queue_limits/", sys, left.name(), queue);
        for (const char* limit : {"limit_min", "limit_max", "limit"})
            tap.is(fmt::format("queue {}: {}", queue, limit), read_text(limits + limit), "15625\n");
    }
    umount(sys.c_str());
}

}  // namespace

int main() {
    load_module("wire");
    return run_tests({{"two queues", test_two},
                      {"seven queues", test_seven},
                      {"one of four", test_alone},
                      {"rings", test_rings},
                      {"BQL", test_limits}});
}
