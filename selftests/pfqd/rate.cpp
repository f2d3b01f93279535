// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
//
// The rate that budgets are computed from: the option, a physical link's speed and
// its changes, or measured while there is backlog.
#include <algorithm>

#include "selftests/pfqd/parents.hpp"

using namespace pfqd::selftest;
namespace nl = pfqd::nl;

namespace {

constexpr uint64_t kAssumed = 1'250'000'000;  // bytes/s: what veth and tun claim, 10 Gbit/s
// A full frame is 1,514 B for the qdisc and 1,538 B on the wire.
constexpr double kPayloadShare = 1514.0 / 1538;

struct Link {
    explicit Link(const EndOptions& options)
        : left(loaded_netns()), right(quiet_netns()), ends(make_wire(left, options, right, {})) {}
    static nl::Netns loaded_netns() {
        load_module("wire");
        load_module("sch_pfqd");
        return quiet_netns();
    }
    const End& end() const { return ends.first; }
    PfqdStats stats(uint32_t parent = TC_H_ROOT) const { return pfqd_stats(end(), parent); }

    nl::Netns left, right;
    std::pair<End, End> ends;
};

void check_rate(Tap& tap, const std::string& name, const PfqdStats& stats, enum pfqd_rate_source source,
                uint64_t rate) {
    tap.is(name + ": source", stats.rate_source, uint32_t{source});
    tap.is(name + ": rate", stats.rate, rate);
}

void test_option(Tap& tap) {
    Link link({.rate = 100'000'000, .bus = 1});
    set_qdisc(link.end(), "pfqd", pfqd_options({.rate = 5000}));
    sleep_ns(10'000'000);
    check_rate(tap, "the option is above all", link.stats(), PFQD_RATE_OPTION, 5000);
    change_qdisc(link.end(), "pfqd", pfqd_options({.rate = 0}));
    check_rate(tap, "taken back, the link counts", link.stats(), PFQD_RATE_LINK, 12'500'000);
}

void test_link(Tap& tap) {
    Link link({.rate = 1'000'000'000, .bus = 1});
    set_qdisc(link.end(), "pfqd");
    sleep_ns(10'000'000);
    check_rate(tap, "a physical link's speed", link.stats(), PFQD_RATE_LINK, 125'000'000);
    link.end().change({.rate = 40'000'000'000});
    sleep_ns(10'000'000);
    check_rate(tap, "and its changes", link.stats(), PFQD_RATE_LINK, 5'000'000'000);
    link.end().set_up(false);
    link.end().change({.rate = 10'000'000});
    link.end().set_up(true);
    sleep_ns(10'000'000);
    check_rate(tap, "also those while it was down", link.stats(), PFQD_RATE_LINK, 1'250'000);
}

void test_virtual(Tap& tap) {
    Link link({.rate = 1'000'000'000});
    set_qdisc(link.end(), "pfqd");
    sleep_ns(10'000'000);
    check_rate(tap, "a virtual device's word is not taken", link.stats(), PFQD_RATE_ASSUMED, kAssumed);
}

// Keeps the queue backlogged for that long at the link's rate, then empties it.
void saturate(PacketSocket& out, uint64_t rate, uint64_t ns) {
    const uint64_t frames = std::max<uint64_t>(ns * rate / 8 / 1538 / 1'000'000'000, 40);
    for (uint32_t n = 0; n < frames; n++) out.send(data('A', n));
    sleep_ns(frames * 1538 * 8 * 1'000'000'000 / rate + 1'000'000);
}

void test_measured(Tap& tap) {
    for (const uint64_t rate : {1'000'000ull, 100'000'000ull, 1'000'000'000ull, 25'000'000'000ull}) {
        Link link({.rate = rate, .ring = 20'000});
        set_qdisc(link.end(), "pfqd", pfqd_options({.limit = 1 << 30, .memlimit = 1 << 30}));
        PacketSocket out(link.end());
        saturate(out, rate, 4'000'000);
        const PfqdStats stats = link.stats();
        const double truth = static_cast<double>(rate) / 8 * kPayloadShare;
        tap.is(fmt::format("{} Mbit/s: measured", rate / 1'000'000), stats.rate_source,
               uint32_t{PFQD_RATE_MEASURED});
        tap.near(fmt::format("{} Mbit/s: and right to 2 %", rate / 1'000'000),
                 static_cast<double>(stats.rate), truth, 0.02 * truth);
    }
}

// Without backlog nothing is learnt: a slow sender does not make a slow link.
void test_idle_is_not_slow(Tap& tap) {
    Link link({.rate = 1'000'000'000});
    set_qdisc(link.end(), "pfqd");
    PacketSocket out(link.end());
    for (uint32_t n = 0; n < 200; n++) {
        out.send(data('A', n));
        sleep_ns(100'000);
    }
    check_rate(tap, "a trickle", link.stats(), PFQD_RATE_ASSUMED, kAssumed);
    saturate(out, 1'000'000'000, 4'000'000);
    const uint64_t measured = link.stats().rate;
    for (uint32_t n = 0; n < 200; n++) {
        out.send(data('A', n));
        sleep_ns(1'000'000);
    }
    tap.is("what was measured stays", link.stats().rate, measured);
}

// Nor is one that was down: the queue was thrown away, and what was timed with it.
void test_outage_is_not_slow(Tap& tap) {
    Link link({.rate = 100'000'000});
    set_qdisc(link.end(), "pfqd", pfqd_options({.limit = 1 << 30}));
    {
        PacketSocket out(link.end());
        saturate(out, 100'000'000, 4'000'000);
        for (uint32_t n = 0; n < 50; n++) out.send(data('A', n));
    }
    sleep_ns(10 * kFrameNs);
    const PfqdStats before = link.stats();
    tap.ok(before.qdisc.qlen > 20, "it goes down with a backlog");
    link.end().set_up(false);
    sleep_ns(500'000'000);
    link.end().set_up(true);
    PacketSocket out(link.end());
    for (uint32_t n = 0; n < 5; n++) out.send(data('A', n));
    sleep_ns(10 * kFrameNs);
    check_rate(tap, "up again", link.stats(), PFQD_RATE_MEASURED, before.rate);
}

// The first window fills the device's ring at the speed of memory.
void test_ring_filling(Tap& tap) {
    Link link({.rate = 10'000'000, .ring = 200'000});
    set_qdisc(link.end(), "pfqd", pfqd_options({.limit = 1 << 30}));
    PacketSocket out(link.end());
    saturate(out, 10'000'000, 400'000'000);
    const double truth = 1'250'000 * kPayloadShare;
    tap.near("a deep ring that fills at once is not the rate", static_cast<double>(link.stats().rate), truth,
             0.02 * truth);
}

// Below a parent the parent decides; the link is the upper bound.
void test_below_parents(Tap& tap) {
    Link link({.rate = 1'000'000'000, .bus = 1});
    make_tbf(link.end());  // 5,000,000 bytes/s
    set_qdisc(link.end(), "pfqd", pfqd_options({}), {kClass, kLeaf});
    sleep_ns(10'000'000);
    check_rate(tap, "below tbf, at first", link.stats(kClass), PFQD_RATE_ASSUMED, 125'000'000);
    PacketSocket out(link.end());
    saturate(out, 40'000'000, 50'000'000);
    tap.is("below tbf: measured", link.stats(kClass).rate_source, uint32_t{PFQD_RATE_MEASURED});
    tap.near("tbf's rate, not the link's", static_cast<double>(link.stats(kClass).rate), 5e6, 1e5);
}

void test_below_mq(Tap& tap) {
    Link link({.rate = 100'000'000, .ring = 0, .bus = 1, .queues = 2});
    set_qdisc(link.end(), "mq");
    for (uint32_t queue = 1; queue <= 2; queue++)
        set_qdisc(link.end(), "pfqd", pfqd_options({}), {kRoot + queue, kLeaf * (queue + 1)});
    sleep_ns(10'000'000);
    check_rate(tap, "below mq, at first", link.stats(kRoot + 1), PFQD_RATE_ASSUMED, 12'500'000);
    PacketSocket out(link.end());
    for (uint32_t n = 0; n < 100; n++)
        for (const char flow : std::string("ABCDEFGH")) out.send(data(flow, n));
    sleep_ns(30'000'000);  // of 98 ms: both queues are busy
    double sum = 0;
    for (uint32_t queue = 1; queue <= 2; queue++) {
        const PfqdStats stats = link.stats(kRoot + queue);
        tap.is("measured", stats.rate_source, uint32_t{PFQD_RATE_MEASURED});
        sum += static_cast<double>(stats.rate);
    }
    tap.near("two busy queues share the link", sum, 12.5e6 * kPayloadShare, 12.5e6 * 0.05);
}

// A link that became faster or slower is noticed.
void test_follows(Tap& tap) {
    Link link({.rate = 1'000'000'000, .ring = 3000});
    set_qdisc(link.end(), "pfqd", pfqd_options({.limit = 1 << 30}));
    PacketSocket out(link.end());
    saturate(out, 1'000'000'000, 4'000'000);
    link.end().change({.rate = 100'000'000});
    saturate(out, 100'000'000, 10'000'000);
    tap.near("a tenth of the speed", static_cast<double>(link.stats().rate), 12.5e6 * kPayloadShare, 5e5);
    link.end().change({.rate = 1'000'000'000});
    saturate(out, 1'000'000'000, 10'000'000);
    tap.near("and back", static_cast<double>(link.stats().rate), 125e6 * kPayloadShare, 5e6);
}

// The module goes while links change: nothing is left that looks at them.
void test_unload(Tap& tap) {
    sleep_ns(1'000'000'000);  // the namespaces of the tests before are taken down at leisure
    {
        Link link({.rate = 1'000'000'000, .bus = 1});
        set_qdisc(link.end(), "pfqd");
        link.end().change({.rate = 100'000'000});
        delete_qdisc(link.end());
        link.end().change({.rate = 1'000'000'000});
        unload_module("sch_pfqd");
        link.end().change({.rate = 100'000'000});
        sleep_ns(10'000'000);
        tap.ok(!module_loaded("sch_pfqd"), "the module is gone");
    }
    load_module("sch_pfqd");
}

}  // namespace

int main() {
    return run_tests({{"option", test_option},
                      {"link", test_link},
                      {"virtual", test_virtual},
                      {"measured", test_measured},
                      {"idle is not slow", test_idle_is_not_slow},
                      {"outage is not slow", test_outage_is_not_slow},
                      {"ring filling", test_ring_filling},
                      {"below parents", test_below_parents},
                      {"below mq", test_below_mq},
                      {"follows", test_follows},
                      {"unload", test_unload}});
}
