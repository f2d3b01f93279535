// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
//
// pfqdctl edge attach, show and detach: what they say and leave behind, that nothing
// of others on the device is touched, and how they fail.
#include <linux/bpf.h>

#include "selftests/edge/command.hpp"
#include "selftests/edge/gate.hpp"
#include "selftests/edge/packets.hpp"
#include "selftests/lib/bpf.hpp"
#include "selftests/lib/kernel.hpp"
#include "selftests/lib/tap.hpp"

using namespace pfqd::selftest;

namespace {

// All of out0 that tc shows, as text and as JSON.
std::string tc_state() {
    std::string state;
    for (const char* command : {"qdisc show dev out0", "filter show dev out0 ingress",
                                "filter show dev out0 egress", "chain show dev out0 ingress"})
        for (const char* format : {"tc -d ", "tc -d -j "}) state += must(std::string(format) + command);
    return state;
}

bool has(const std::string& text, const std::string& part) {
    return text.find(part) != std::string::npos;
}

// Edges on out0 that the kernel knows.
size_t filter_count() {
    const std::string text = must("tc filter show dev out0 ingress");
    size_t count = 0;
    for (size_t at = 0; (at = text.find("name pfqd_edge", at)) != std::string::npos; at++) count++;
    return count;
}

// Programs of ours that are loaded, on whatever device.
unsigned programs_loaded() {
    unsigned count = 0;
    bpf_attr attr{};
    while (syscall(SYS_bpf, BPF_PROG_GET_NEXT_ID, &attr, sizeof(attr)) == 0) {
        const uint32_t id = attr.next_id;
        bpf_attr open{};
        open.prog_id = id;
        const pfqd::Fd fd(static_cast<int>(syscall(SYS_bpf, BPF_PROG_GET_FD_BY_ID, &open, sizeof(open))));
        bpf_prog_info info{};
        bpf_attr ask{};
        ask.info.bpf_fd = static_cast<uint32_t>(fd.get());
        ask.info.info_len = sizeof(info);
        ask.info.info = reinterpret_cast<uint64_t>(&info);
        if (fd && syscall(SYS_bpf, BPF_OBJ_GET_INFO_BY_FD, &ask, sizeof(ask)) == 0)
            count += std::string(info.name).starts_with("pfqd_edge");
        attr = {};
        attr.start_id = id;
    }
    return count;
}

void expect(Tap& tap, const std::string& name, const Outcome& outcome, int status, const std::string& part) {
    if (!tap.ok(outcome.status == status && has(outcome.text, part), name))
        tap.diag(
            fmt::format("got {} and '{}', want {} and '{}'", outcome.status, outcome.text, status, part));
}

void test_life(Tap& tap) {
    const Gate gate;
    const std::string before = tc_state();
    expect(tap, "show without any", edge("show"), 0, "no device");
    expect(tap, "show of a device without", edge("show out0"), 3, "not attached");
    expect(tap, "detach of one without", edge("detach out0"), 0, "not attached; nothing changed");
    tap.ok(tc_state() == before, "change nothing");

    expect(tap, "attach", edge("attach out0"), 0, "added a clsact qdisc");
    const std::string attached = tc_state();
    const auto first = edge_json("show out0").at(0);
    expect(tap, "attach again", edge("attach out0"), 0, "attached already");
    tap.ok(tc_state() == attached, "changes nothing");
    tap.ok(edge_json("show out0").at(0) == first, "not even the program");
    expect(tap, "attach --trust", edge("attach out0 --trust"), 0, "changed to mode trust");
    tap.is("one filter of ours", filter_count(), 1u);
    const auto second = edge_json("show out0").at(0);
    tap.is("mode", second.at("mode").get<std::string>(), std::string("trust"));
    tap.ok(second.at("program").at("id") != first.at("program").at("id"), "another program");
    tap.is("one program is loaded", programs_loaded(), 1u);
    expect(tap, "attach --trust again", edge("attach out0 --trust"), 0, "attached already");
    expect(tap, "show", edge("show"), 0, "out0: edge attached, mode trust");
    expect(tap, "detach", edge("detach out0"), 0, "removed");
    tap.ok(tc_state() == before, "leaves the device as it was");
    tap.is("no program stays", programs_loaded(), 0u);
    expect(tap, "detach again", edge("detach out0"), 0, "not attached");
}

// What others have on the device, and how detach ends.
struct Others {
    const char* name;
    std::vector<const char*> commands;
    bool bpf = false;  // also a BPF program at priority 1 of ingress
};

const std::vector<Others>& others() {
    static const std::vector<Others> all = {
        {"an empty ingress qdisc", {"qdisc add dev out0 ingress"}},
        {"an empty clsact", {"qdisc add dev out0 clsact"}},
        {"an ingress qdisc with u32",
         {"qdisc add dev out0 ingress",
          "filter add dev out0 parent ffff: prio 5 protocol ip u32 match u8 0 0 action continue"}},
        {"filters on both hooks",
         {"qdisc add dev out0 clsact", "filter add dev out0 ingress prio 7 matchall action continue",
          "filter add dev out0 ingress prio 900 protocol ip flower ip_proto tcp action continue",
          "filter add dev out0 egress prio 63 matchall action continue"}},
        {"automatic priorities and another chain",
         {"qdisc add dev out0 clsact", "filter add dev out0 ingress matchall action continue",
          "filter add dev out0 ingress protocol ipv6 chain 9 flower action continue"}},
        {"another BPF program", {}, true},
        {"another BPF program at the priority of the edge",
         {"qdisc add dev out0 clsact",
          "filter add dev out0 ingress prio 63 handle 0x5 bpf direct-action bytecode 1,6@0@0@4294967295,"}},
    };
    return all;
}

void set_up(const Others& one, const Gate& gate, BpfClassifier& classifier) {
    for (const char* command : one.commands) {
        std::vector<std::string> words = words_of(command);
        words.insert(words.begin(), "tc");
        for (std::string& word : words) std::replace(word.begin(), word.end(), '@', ' ');
        const Outcome outcome = Running(words).wait();
        if (outcome.status) throw std::runtime_error(std::string(command) + ": " + outcome.text);
    }
    if (one.bpf) classifier.attach(gate.outer_end(), false);
}

void test_others(Tap& tap) {
    for (const Others& one : others()) {
        const Gate gate;
        BpfClassifier classifier;
        set_up(one, gate, classifier);
        const std::string before = tc_state();
        expect(tap, fmt::format("{}: attach", one.name), edge("attach out0"), 0, "edge attached");
        tap.ok(gate.pass(packet::v4(0)) == packet::v4(0xfc),
               fmt::format("{}: packets are stamped", one.name));
        expect(tap, fmt::format("{}: other mode", one.name), edge("attach out0 --trust"), 0, "changed");
        expect(tap, fmt::format("{}: detach", one.name), edge("detach out0"), 0, "it was there before");
        const std::string after = tc_state();
        if (!tap.ok(after == before, fmt::format("{}: all is as before", one.name)))
            tap.diag(fmt::format("before {}\nafter {}", before, after));
    }
}

// Others come while ours is there: the qdisc that attach added stays for them.
void test_later(Tap& tap) {
    for (const char* command : {"tc filter add dev out0 ingress prio 70 matchall action continue",
                                "tc filter add dev out0 egress prio 1 matchall action continue",
                                "tc chain add dev out0 ingress chain 7"}) {
        const Gate gate;
        edge_json("attach out0");
        must(command);
        expect(tap, fmt::format("'{}' after attach: detach", command), edge("detach out0"), 0,
               "others use it");
        tap.is("none of ours is left", filter_count(), 0u);
        tap.ok(has(must("tc qdisc show dev out0"), "clsact"), "the qdisc is");
        expect(tap, "and can be used again", edge("attach out0"), 0, "edge attached");
        expect(tap, "detach", edge("detach out0"), 0, "it was there before");
    }
}

// What is where ours belongs is not touched.
void test_conflict(Tap& tap) {
    const Gate gate;
    must("tc qdisc add dev out0 clsact");
    for (const char* filter :
         {"prio 63 matchall action continue", "prio 63 protocol ip flower ip_proto tcp action continue"}) {
        must(std::string("tc filter add dev out0 ingress ") + filter);
        const std::string before = tc_state();
        expect(tap, fmt::format("'{}': attach", filter), edge("attach out0"), 1, "priority 63, is taken");
        expect(tap, "detach", edge("detach out0"), 0, "not attached");
        tap.ok(tc_state() == before, "nothing changed");
        must("tc filter del dev out0 ingress prio 63");
    }
    Running foreign({"tc", "filter", "add", "dev", "out0", "ingress", "prio", "63", "handle", "0x70667101",
                     "bpf", "direct-action", "bytecode", "1,6 0 0 4294967295,"});
    tap.is("a foreign program with our handle", foreign.wait().status, 0);
    const std::string before = tc_state();
    expect(tap, "attach", edge("attach out0"), 1, "not ours");
    expect(tap, "detach", edge("detach out0"), 0, "not attached");
    tap.ok(tc_state() == before, "nothing changed");
}

void test_earlier(Tap& tap) {
    const Gate gate;
    edge_json("attach out0");
    must("tc filter add dev out0 ingress prio 3 protocol ip matchall action gact ok");
    tap.is("filters before it", edge_json("show out0").at(0).at("filters_before").get<unsigned>(), 1u);
    expect(tap, "show warns", edge("show out0"), 0, "1 filter(s) run before it");
    tap.ok(gate.pass(packet::v4(0)) == packet::v4(0), "and they may end a packet's way");
    tap.ok(gate.pass(packet::v6(0)) == packet::v6(0xfc), "or not");
}

void test_removed(Tap& tap) {
    {
        Gate gate;
        edge_json("attach out0");
        gate.enter(packet::v4(0));
        tap.is("attached", programs_loaded(), 1u);
        gate.remove_outer();
        expect(tap, "show of a device that went", edge("show out0"), 1, "no device 'out0'");
        expect(tap, "show", edge("show"), 0, "no device");
        sleep_ns(1'000'000'000);
        tap.is("its program went with it", programs_loaded(), 0u);
    }
    const Gate gate;
    expect(tap, "a new device of that name has none", edge("show out0"), 3, "not attached");
}

// Two at once: one filter, and the last word counts.
void test_together(Tap& tap) {
    const Gate gate;
    const std::string before = tc_state();
    for (int round = 0; round < 2; round++) {
        std::vector<Running> all;
        for (int i = 0; i < 6; i++) all.push_back(start_edge(i % 2 ? "attach out0 --trust" : "attach out0"));
        for (Running& one : all) one.wait();
        tap.is("attached at once by six: one filter", filter_count(), 1u);
        all.clear();
        for (int i = 0; i < 4; i++) all.push_back(start_edge("detach out0"));
        int status = 0;
        for (Running& one : all) status |= one.wait().status;
        tap.is("detached at once by four", status, 0);
        tap.ok(tc_state() == before, "all is as before");
    }
}

void test_usage(Tap& tap) {
    const Gate gate;
    const std::string before = tc_state();
    expect(tap, "no such device", edge("attach nonesuch"), 1, "no device 'nonesuch'");
    expect(tap, "names those there are", edge("attach nonesuch"), 1, "in0");
    expect(tap, "a name too long to be one", edge("show averyveryverylongname"), 1, "no device");
    expect(tap, "detach of no such device", edge("detach nonesuch"), 1, "no device 'nonesuch'");
    expect(tap, "attach without a device", edge("attach"), 2, "DEV");
    expect(tap, "no verb", edge(""), 2, "edge: needs one of attach, detach, show");
    expect(tap, "no such verb", edge("stamp out0"), 2, "'stamp' is not one of attach, detach, show");
    expect(tap, "no such option", edge("attach out0 --trusted"), 2, "--trusted");
    expect(tap, "two devices", edge("attach out0 in0"), 2, "in0");
    for (const char* verb : {"", "attach ", "detach ", "show "})
        expect(tap, fmt::format("{}--help has examples", verb), edge(std::string(verb) + "--help"), 0,
               "Examples:");
    must("ip link property add dev out0 altname internet-facing-uplink");
    expect(tap, "an alternative name", edge("attach internet-facing-uplink"), 0, "out0: edge attached");
    must("ip link property del dev out0 altname internet-facing-uplink");
    edge("detach out0");
    tap.ok(tc_state() == before, "nothing is left");
}

void test_permission(Tap& tap) {
    constexpr uint64_t kNetAdmin = 1ull << CAP_NET_ADMIN, kSysAdmin = 1ull << CAP_SYS_ADMIN,
                       kBpf = 1ull << CAP_BPF;
    constexpr uint64_t kAllButNeeded = ~(kNetAdmin | kBpf);
    const Gate gate;
    const std::string before = tc_state();
    expect(tap, "attach without CAP_NET_ADMIN", edge("attach out0", kNetAdmin), 1, "lacks CAP_NET_ADMIN");
    expect(tap, "attach without CAP_BPF", edge("attach out0", kBpf | kSysAdmin), 1, "lacks CAP_BPF");
    expect(tap, "attach with nothing", edge("attach out0", ~0ull), 1, "lacks CAP_NET_ADMIN and CAP_BPF");
    tap.ok(tc_state() == before, "change nothing");
    expect(tap, "attach with these two alone", edge("attach out0", kAllButNeeded), 0, "edge attached");
    expect(tap, "detach without CAP_NET_ADMIN", edge("detach out0", kNetAdmin), 1, "lacks CAP_NET_ADMIN");
    expect(tap, "show with nothing says what it can", edge("show out0", ~0ull), 0, "CAP_SYS_ADMIN");
    const auto shown = nlohmann::json::parse(edge("show --json", ~0ull).text).at(0);
    tap.ok(shown.at("attached") == true && shown.at("packets").is_null(), "as JSON too");
    expect(tap, "detach with these two alone", edge("detach out0", kAllButNeeded), 0, "detached");
    tap.ok(tc_state() == before, "all is as before");
}

}  // namespace

int main() {
    return run_tests({{"life", test_life},
                      {"others", test_others},
                      {"others later", test_later},
                      {"conflict", test_conflict},
                      {"earlier filters", test_earlier},
                      {"device removed", test_removed},
                      {"at once", test_together},
                      {"usage", test_usage},
                      {"permission", test_permission}});
}
