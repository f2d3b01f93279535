// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
//
// The ports of the configurations: that `dctcp` marks at a step of the
// instantaneous queue and at nothing else, and that ports hold their byte limit.
#include "lab/common/qdisc.hpp"

#include <sys/socket.h>

#include <cerrno>
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

constexpr size_t kPayload = 2960;
constexpr size_t kFrame = kPayload + 40 + 14;
constexpr uint32_t kThreshold = 70'000;  // bytes; the dctcp configuration
constexpr uint32_t kLimit = 1'000'000;   // bytes; every port
constexpr uint8_t kEct = 2, kCe = 3;

struct Port {
    nl::Netns a = quiet_netns(), b = quiet_netns();
    std::pair<End, End> ends = make_wire(a, {.mtu = 3000}, b, {.mtu = 3000});
    PacketSocket sender{ends.first}, receiver{ends.second};

    explicit Port(const pfqd::lab::QdiscSpec& spec) {
        const In in(a);
        nl::Socket socket;
        pfqd::lab::set_root_qdisc(socket, ends.first.ifindex(), spec);
    }

    void send(size_t count, uint8_t dsfield) {
        FrameOptions options;
        options.dsfield = dsfield;
        options.payload = kPayload;
        const Bytes frame = make_frame(options);
        // Not sender.send(), which throws: a packet socket learns of a drop by ENOBUFS.
        for (size_t i = 0; i < count; i++)
            if (::send(sender.fd(), frame.data(), frame.size(), 0) < 0 && errno != ENOBUFS)
                pfqd::throw_errno("send");
    }

    pfqd::lab::QdiscCounters counters() {
        const In in(a);
        nl::Socket socket;
        return pfqd::lab::read_qdiscs(socket);
    }
};

// One flag a frame that arrived: is it CE-marked?
std::vector<bool> marks(Port& port) {
    std::vector<bool> result;
    for (const Received& received : port.receiver.receive_all(2'000'000))
        result.push_back((received.frame.at(15) & 3) == kCe);
    return result;
}

pfqd::lab::QdiscSpec dctcp_port() {
    return {"red_step", {{"limit", kLimit}, {"threshold", kThreshold}}};
}

// Frame 0 goes straight to the ring; frame i finds i - 1 frames queued.
void test_step(Tap& tap) {
    Port port(dctcp_port());
    constexpr size_t kFrames = 60;
    port.send(kFrames, kEct);
    const std::vector<bool> marked = marks(port);
    tap.is("all frames arrive", marked.size(), kFrames);
    size_t wrong = 0, count = 0;
    for (size_t i = 0; i < marked.size(); i++) {
        const bool want = i > 0 && (i - 1) * kFrame >= kThreshold;
        wrong += marked[i] != want;
        count += want;
    }
    tap.is("marked are exactly those that found 70,000 B or more queued", wrong, 0u);
    tap.is("35 of 60 are", count, 35u);
    tap.is("the port counts each mark", port.counters().marks, count);
}

void test_forgets(Tap& tap) {
    Port port(dctcp_port());
    port.send(300, kEct);
    marks(port);
    port.send(24, kEct);
    size_t count = 0;
    for (bool marked : marks(port)) count += marked;
    tap.is("after a long queue and an idle moment nothing below the step is marked", count, 0u);
}

void test_not_ect(Tap& tap) {
    Port port(dctcp_port());
    port.send(200, 0);
    tap.is("what is not ECN-capable is not dropped at the step", marks(port).size(), 200u);
    tap.is("nor counted as marked", port.counters().marks, 0u);
}

// A FIFO of L bytes holds floor(L / frame) frames, and the ring one.
void test_limit(Tap& tap, const pfqd::lab::QdiscSpec& spec, const std::string& name) {
    tap.section(name);
    Port port(spec);
    constexpr size_t kHeld = kLimit / kFrame + 1;
    port.send(kHeld, kEct);
    tap.is("1 MB of packets is held, and a frame in the ring", port.counters().drops, 0u);
    tap.is("the queue is as long as the limit allows", qdisc_stats(port.ends.first).backlog,
           (kHeld - 1) * kFrame);
    port.send(1, kEct);
    tap.is("one more is one drop", port.counters().drops, 1u);
    tap.is("the others arrive", marks(port).size(), kHeld);
}

void test_limits(Tap& tap) {
    test_limit(tap, {"bfifo", {{"limit", kLimit}}}, "fifo");
    test_limit(tap, dctcp_port(), "dctcp");
    load_module("sch_pfqd");
    test_limit(tap, {"pfqd", {{"limit", kLimit}, {"memlimit", 4'000'000}}}, "pfqd");
}

}  // namespace

int main() {
    load_module("wire");
    return run_tests(
        {{"step", test_step}, {"forgets", test_forgets}, {"not ECT", test_not_ect}, {"limit", test_limits}});
}
