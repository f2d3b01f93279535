// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
//
// Flows that have bands, in every other situation: bands at random, drops and purges
// in the middle of turns, and the completion tier switched on and off under traffic,
// by tc and by the module's parameter.
#include <algorithm>
#include <map>
#include <random>

#include "selftests/pfqd/banded.hpp"

using namespace pfqd::selftest;

namespace {

constexpr const char* kParameter = "/sys/module/sch_pfqd/parameters/completion";

// Every flow's frames in the order of their numbers.
bool ordered(const std::vector<std::string>& labels) {
    std::map<char, int> last;
    for (const std::string& text : labels) {
        const int n = std::stoi(text.substr(1));
        if (const auto found = last.find(text[0]); found != last.end() && n <= found->second) return false;
        last[text[0]] = n;
    }
    return true;
}

uint64_t sum(const std::vector<uint64_t>& values) {
    uint64_t total = 0;
    for (const uint64_t value : values) total += value;
    return total;
}

// Flows, sizes and all 64 DSCPs at random, some frames served in between.
void test_random(Tap& tap) {
    for (const uint32_t seed : {1u, 2u, 3u}) {
        tap.section(fmt::format("seed {}", seed));
        Port port({.pfqd = {.quantum = 1000, .demote = 20'000, .completion = PFQD_SWITCH_ON}});
        std::mt19937 random(seed);
        std::map<char, uint32_t> next;
        std::array<uint64_t, PFQD_BANDS + 1> sent{};
        port.hold();
        for (int i = 0; i < 3000; i++) {
            FrameOptions options;
            const char flow = static_cast<char>('A' + random() % 20);
            const uint8_t dscp = random() % 64;
            const uint8_t band = dscp >> 2 & PFQD_STAMP_BAND_MASK;
            options.sport = static_cast<uint16_t>(1000 + flow);
            options.payload = 10 + random() % (kFull - 9);
            options.tag = next[flow]++;
            options.dsfield = static_cast<uint8_t>(dscp << 2);
            port.queue(make_frame(options));
            sent[(dscp & 3) == 3 && band < PFQD_BANDS ? band : PFQD_BANDS]++;
            if (random() % 8 == 0) sleep_ns(random() % (4 * kFrameNs));
        }
        const std::vector<std::string> out = port.drain();
        tap.is("all arrive", out.size(), 3000u);
        tap.ok(ordered(out), "every flow in order");
        const PfqdStats stats = port.stats();
        sent[PFQD_BANDS]++;  // what held the wire
        for (size_t band = 0; band <= PFQD_BANDS; band++) {
            const TierStats& of = stats.band[band];
            tap.is(fmt::format("band {}: what was sent was served", band), of.packets, sent[band]);
            tap.is(fmt::format("band {}: each has a sojourn", band), sum(of.sojourn), sent[band]);
        }
        check_empty(tap, stats);
    }
}

// The fattest loses its head, also while it has a turn; a flow may be emptied by that.
void test_trim(Tap& tap) {
    for (const uint32_t limit : {100u, 2000u, 20'000u}) {
        tap.section(fmt::format("limit {}", limit));
        Port port({.pfqd = {.limit = limit, .quantum = 300, .completion = PFQD_SWITCH_ON}});
        std::mt19937 random(limit);
        std::map<char, uint32_t> next;
        port.hold();
        for (int i = 0; i < 2000; i++) {
            const char flow = static_cast<char>('A' + random() % 8);
            port.queue(banded(flow, next[flow]++, static_cast<uint8_t>(random() % 8), 10 + random() % 1000));
            if (random() % 16 == 0) sleep_ns(random() % (2 * kFrameNs));
        }
        const std::vector<std::string> out = port.drain();
        const PfqdStats stats = port.stats();
        tap.ok(stats.drops_limit > 0, "some were dropped");
        tap.is("served or dropped", out.size() + stats.drops_limit, 2000u);
        tap.ok(ordered(out), "every flow in order");
        check_empty(tap, stats);
    }
}

void test_purge(Tap& tap) {
    Port port({.pfqd = with_completion()});
    for (int round = 0; round < 3; round++) {
        port.hold();
        for (const char flow : std::string("ABCDEFG"))
            queue_banded(port, flow, 0, 20, static_cast<uint8_t>(flow - 'A'));
        sleep_ns(5 * kFrameNs);
        port.set_up(false);
        check_empty(tap, port.stats());
        port.set_up(true);
        port.end().wait_running();
        port.drain_frames();
        port.hold();
        port.queue(banded('X', 0, 5));
        port.queue(banded('Y', 0, 0));
        tap.is("after a reset all is as on the first day", joined(port.drain()), "Y0 X0");
    }
    port.hold();
    queue_banded(port, 'A', 0, 20, 1);
    delete_qdisc(port.end());
    tap.ok(port.drain().size() <= 1, "a qdisc that goes takes its packets with it");
}

// What is queued keeps the band that it came with; what comes then has none.
void test_switch_by_tc(Tap& tap) {
    Port port({.pfqd = with_completion()});
    const auto set = [&](uint8_t value) {
        change_qdisc(port.end(), "pfqd", pfqd_options({.completion = value}));
    };
    port.hold();
    port.queue(banded('A', 0, 4));
    set(PFQD_SWITCH_OFF);
    tap.is("off", port.stats().completion, 0u);
    port.queue(banded('B', 0, 0));
    port.queue(banded('A', 1, 0));
    set(PFQD_SWITCH_ON);
    tap.is("on", port.stats().completion, 1u);
    port.queue(banded('C', 0, 5));
    tap.is("the band is that of the moment of queueing", joined(port.drain()), "A0 C0 A1 B0");
    check_empty(tap, port.stats());
}

void test_switch_under_traffic(Tap& tap) {
    Port port({.pfqd = with_completion()});
    std::mt19937 random(7);
    std::map<char, uint32_t> next;
    port.hold();
    for (int i = 0; i < 1500; i++) {
        const char flow = static_cast<char>('A' + random() % 12);
        port.queue(banded(flow, next[flow]++, static_cast<uint8_t>(random() % 8), 10 + random() % 1000));
        if (random() % 10 == 0)
            change_qdisc(port.end(), "pfqd",
                         pfqd_options({.completion = static_cast<uint8_t>(random() % 3)}));
        if (random() % 10 == 0) sleep_ns(random() % (4 * kFrameNs));
    }
    const std::vector<std::string> out = port.drain();
    tap.is("all arrive", out.size(), 1500u);
    tap.ok(ordered(out), "every flow in order");
    check_empty(tap, port.stats());
}

// inherit follows the parameter at once; an interface's own word does not.
void test_parameter(Tap& tap) {
    Port inherits, says_off({.pfqd = {.completion = PFQD_SWITCH_OFF}});
    tap.is("by default it inherits", inherits.stats().completion_source, uint32_t{PFQD_SWITCH_INHERIT});
    tap.is("off", inherits.stats().completion, 0u);
    for (const bool on : {true, false}) {
        write_text(kParameter, on ? "1" : "0");
        tap.is("the effective setting", inherits.stats().completion, uint32_t{on});
        tap.is("an interface's own word stands", says_off.stats().completion, 0u);
        inherits.hold();
        inherits.queue(banded('A', 0, 5));
        inherits.queue(banded('B', 0, 0));
        tap.is("what it does", joined(inherits.drain()), on ? "B0 A0" : "A0 B0");
    }
    bool refused = false;
    try {
        write_text(kParameter, "local");
    } catch (const std::exception&) {
        refused = true;
    }
    tap.ok(refused, "a word that is no switch is refused");
    tap.is("and changes nothing", read_text(kParameter).substr(0, 1), "N");
}

}  // namespace

int main() {
    return run_tests({{"random bands", test_random},
                      {"trimmed", test_trim},
                      {"purged", test_purge},
                      {"switched by tc", test_switch_by_tc},
                      {"switched under traffic", test_switch_under_traffic},
                      {"module parameter", test_parameter}});
}
