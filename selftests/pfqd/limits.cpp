// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
//
// The limits: bytes and memory each take from the fattest flow, its oldest packet
// first, never below two packets; what is counted is what is queued.
#include <algorithm>
#include <set>

#include "selftests/pfqd/port.hpp"

using namespace pfqd::selftest;

namespace {

constexpr uint32_t kFrame = 1514;  // bytes of a full frame in the qdisc

void test_fattest_from_head(Tap& tap) {
    Port port({.pfqd = {.limit = 10 * kFrame}});
    port.hold();
    port.queue_data('A', 0, 7);
    port.queue_data('B', 0, 3);
    tap.is("at the limit nothing is lost", port.stats().qdisc.drops, 0u);
    port.queue_data('C', 0, 2);
    const PfqdStats stats = port.stats();
    tap.is("two more, two drops", stats.qdisc.drops, 2u);
    tap.is("counted as the byte limit's", stats.drops_limit, 2u);
    tap.is("none is the memory limit's", stats.drops_memlimit, 0u);
    tap.is("ten packets queued", stats.qdisc.qlen, 10u);
    tap.is("ten packets' bytes", stats.qdisc.backlog, 10 * kFrame);
    tap.is("the fattest lost its oldest, nobody else lost", joined(port.drain()),
           "A2 B0 C0 A3 B1 C1 A4 B2 A5 A6");
    check_empty(tap, port.stats());
}

void test_own_flow_loses(Tap& tap) {
    Port port({.pfqd = {.limit = 4 * kFrame}});
    port.hold();
    port.queue_data('A', 0, 9);
    tap.is("a lone flow keeps its newest", joined(port.drain()), "A5 A6 A7 A8");
    tap.is("five drops", port.stats().drops_limit, 5u);
}

// The victim changes when another one is fatter.
void test_equal_shares(Tap& tap) {
    Port port({.pfqd = {.limit = 12 * kFrame}});
    port.hold();
    port.queue_data('A', 0, 12);
    port.queue_data('B', 0, 12);
    const std::vector<std::string> out = port.drain();
    const auto of_a =
        std::count_if(out.begin(), out.end(), [](const std::string& text) { return text[0] == 'A'; });
    tap.is("twelve are left", out.size(), 12u);
    tap.between("two greedy flows end up even", of_a, 5L, 7L);
    tap.is("each with its newest", joined({out.end() - 2, out.end()}), "A11 B11");
}

// Exact among up to eight flows of a size class, in bytes, not packets.
void test_bytes_not_packets(Tap& tap) {
    Port port({.pfqd = {.limit = 12'000}});
    port.hold();
    port.queue_data('A', 0, 4);        // 6056 B
    port.queue_data('B', 0, 27, 200);  // 27 * 254 = 6858 B: the fattest
    port.drain();
    const PfqdStats stats = port.stats();
    // 12,914 B: four packets of 254 B have to go.
    tap.is("the one with more bytes lost", stats.drops_limit, 4u);
    tap.is("and the other nothing", stats.tier[PFQD_TIER_HIGH].packets, 1u + 4 + 23);
}

// Two flows of one size class (5,632 to 6,143 B): still the fatter one.
void test_same_class(Tap& tap) {
    for (const bool fat_first : {true, false}) {
        Port port({.pfqd = {.limit = 11'000}});
        port.hold();
        if (fat_first) port.queue_data('A', 0, 4);  // 6056 B
        port.queue_data('B', 0, 23, 200);           // 23 * 254 = 5842 B
        if (!fat_first) port.queue_data('A', 0, 4);
        tap.is("one packet of the fatter is enough", port.stats().drops_limit, 1u);
        const std::vector<std::string> out = port.drain();
        tap.is("it was its oldest", std::count(out.begin(), out.end(), "A0"), 0L);
        tap.is("the other lost nothing", out.size(), 3u + 23);
    }
}

void test_two_packets(Tap& tap) {
    Port port({.pfqd = {.limit = 1, .memlimit = 1}});
    port.hold();
    port.queue_data('A', 0, 5);
    tap.is("two packets fit whatever the limit", port.stats().qdisc.qlen, 2u);
    tap.is("the newest", joined(port.drain()), "A3 A4");
    port.hold();
    port.queue(data('A', 0));
    port.queue(data('B', 0));
    tap.is("of two flows as well", joined(port.drain()), "A0 B0");
    check_empty(tap, port.stats());
}

void test_memlimit(Tap& tap) {
    Port port;
    port.hold();
    port.queue(data('A', 0, 10));
    const uint32_t small = port.stats().memory;
    port.drain();
    tap.between("a frame of 64 B takes more memory than bytes", small, 300u, 4000u);

    change_qdisc(port.end(), "pfqd", pfqd_options({.memlimit = 20 * small}));
    port.hold();
    port.queue_data('B', 0, 3);
    for (uint32_t i = 0; i < 30; i++) port.queue(data('A', i, 10));
    const PfqdStats stats = port.stats();
    tap.between("memory stays within its limit", stats.memory, 16 * small, 20 * small);
    tap.is("the drops are the memory limit's", stats.drops_memlimit, stats.qdisc.drops);
    tap.ok(stats.drops_memlimit > 10, "there were drops");
    const std::vector<std::string> out = port.drain();
    const auto of_b =
        std::count_if(out.begin(), out.end(), [](const std::string& text) { return text[0] == 'B'; });
    tap.is("who has the most memory loses, not who has the most bytes", of_b, 3L);
    tap.is("the newest small frame is there", std::count(out.begin(), out.end(), "A29"), 1L);
    tap.is("the oldest is not", std::count(out.begin(), out.end(), "A0"), 0L);
    check_empty(tap, port.stats());
}

void test_change_trims(Tap& tap) {
    Port port;
    port.hold();
    port.queue_data('A', 0, 20);
    port.queue_data('B', 0, 5);
    for (int i = 0; i < 10; i++) port.queue(pure_ack('C'));
    change_qdisc(port.end(), "pfqd", pfqd_options({.limit = 6 * kFrame}));
    PfqdStats stats = port.stats();
    tap.between("bytes within the new limit at once", stats.qdisc.backlog, 5 * kFrame, 6 * kFrame);
    tap.is("each packet is queued or dropped", stats.qdisc.qlen + stats.qdisc.drops, 35u);
    change_qdisc(port.end(), "pfqd", pfqd_options({.limit = 1}));
    stats = port.stats();
    tap.is("two packets stay", stats.qdisc.qlen, 2u);
    tap.is("each packet is queued or dropped", stats.qdisc.qlen + stats.qdisc.drops, 35u);
    tap.is("they leave", port.drain_frames().size(), 3u);
    check_empty(tap, port.stats());
}

// Traffic in one tier only: a trim has to find it in every one.
void test_change_trims_each_tier(Tap& tap) {
    {
        Port port;
        port.hold();
        for (int i = 0; i < 30; i++) port.queue(pure_ack('C'));
        change_qdisc(port.end(), "pfqd", pfqd_options({.limit = 10 * 54}));
        tap.is("control", port.stats().tier[PFQD_TIER_CONTROL].backlog_packets, 10u);
        tap.is("what is left leaves", port.drain().size(), 10u);
    }
    Port port({.pfqd = {.demote = 100}});
    port.hold();
    port.queue_data('A', 0, 30);
    sleep_ns(10 * kFrameNs);
    change_qdisc(port.end(), "pfqd", pfqd_options({.limit = 10 * kFrame}));
    tap.is("low", port.stats().tier[PFQD_TIER_LOW].backlog_packets, 10u);
    port.drain();
    check_empty(tap, port.stats());
}

// A flood of control packets is a fat flow like any other.
void test_ack_flood(Tap& tap) {
    Port port({.pfqd = {.limit = 100 * 54}});
    port.hold();
    port.queue(data('A', 0, 1000));
    for (int i = 0; i < 300; i++) port.queue(pure_ack('C'));
    const std::vector<std::string> out = port.drain();
    tap.is("the flood lost, the data did not", std::count(out.begin(), out.end(), "A0"), 1L);
    tap.is("the flood is bounded", out.size(), 1u + (100 * 54 - 1054) / 54);
}

// A qdisc that is full with one flow lets every other flow in.
void test_newcomers(Tap& tap) {
    Port port({.pfqd = {.limit = 50 * kFrame}});
    port.hold();
    port.queue_data('A', 0, 100);
    for (uint32_t i = 0; i < 20; i++) port.queue(data(static_cast<char>('B' + i), 0));
    const std::vector<std::string> out = port.drain();
    std::set<char> seen;
    for (const std::string& text : out) seen.insert(text[0]);
    tap.is("all twenty newcomers got through", seen.size(), 21u);
    tap.is("and only A lost", port.stats().drops_limit, 70u);
}

}  // namespace

int main() {
    return run_tests({{"fattest from head", test_fattest_from_head},
                      {"own flow loses", test_own_flow_loses},
                      {"equal shares", test_equal_shares},
                      {"bytes, not packets", test_bytes_not_packets},
                      {"same class", test_same_class},
                      {"two packets", test_two_packets},
                      {"memlimit", test_memlimit},
                      {"change trims", test_change_trims},
                      {"change trims each tier", test_change_trims_each_tier},
                      {"ack flood", test_ack_flood},
                      {"newcomers", test_newcomers}});
}
