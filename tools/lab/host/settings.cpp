// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
//
// The parameters that --set changes. The table's order is the order in which they
// are applied: what chooses a qdisc comes before the qdisc's options, and what is for
// both sides before what is for one.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <linux/lab_depth.h>
#include <linux/pkt_sch_pfqd.h>

#include <algorithm>
#include <functional>

#include "lab/host/configs.hpp"
#include "lab/host/values.hpp"

namespace pfqd::lab {

namespace {

struct Setting {
    std::string name;
    std::string help;
    std::function<void(GuestSpec&, const std::string&)> apply;
};

// Where an option of pfqd is set: wherever the configuration runs pfqd, or on one side.
enum class Side { both, hosts, ports };

void set_pfqd(NetworkSpec& network, Side side, const std::string& name, const std::string& option,
              uint64_t value) {
    bool used = false;
    const auto set = [&](QdiscSpec& qdisc) {
        if (qdisc.kind == "pfqd") qdisc.options[option] = value, used = true;
    };
    if (side != Side::ports) set(network.host_qdisc);
    if (side != Side::hosts) set(network.port_qdisc);
    if (!used) refuse(name + ": this configuration runs no pfqd there");
}

Setting pfqd_option(const std::string& option, uint64_t low, uint64_t high, const std::string& help,
                    Side side = Side::both) {
    const std::string name = (side == Side::ports ? "port." : "pfqd.") + option;
    return {name, fmt::format("{} ({} .. {})", help, low, high),
            [=](GuestSpec& spec, const std::string& text) {
                set_pfqd(spec.network, side, name, option, whole_value(name, text, low, high));
            }};
}

// Words of enum pfqd_switch, as tc says them.
Setting pfqd_switch_option(const std::string& name, Side side, const std::string& option,
                           const std::vector<std::string>& words, const std::string& help) {
    return {name, fmt::format("{}: {}", help, fmt::join(words, ", ")),
            [=](GuestSpec& spec, const std::string& text) {
                static const std::vector<std::string> kSwitch = {"off", "on", "inherit", "local"};
                const std::string word = word_value(name, text, words);
                const auto value = std::find(kSwitch.begin(), kSwitch.end(), word) - kSwitch.begin();
                set_pfqd(spec.network, side, name, option, static_cast<uint64_t>(value));
            }};
}

template <class T>
Setting number_setting(const std::string& name, const std::string& help, uint64_t low, uint64_t high,
                       std::function<T&(GuestSpec&)> field, uint64_t unit = 1) {
    return {name, fmt::format("{} ({} .. {})", help, low, high),
            [=](GuestSpec& spec, const std::string& text) {
                field(spec) = static_cast<T>(whole_value(name, text, low, high) * unit);
            }};
}

// What depth.ko keeps in memory; here, so that the message names what the user typed.
void check_depth(const GuestSpec& spec) {
    const uint64_t period = spec.load.depth_ns;
    if (period == 0) return;
    const uint64_t samples = spec.load.duration_ns / period;
    if (samples == 0 || samples * spec.network.hosts > LAB_DEPTH_MAX_VALUES)
        refuse(
            fmt::format("depth_us: {} gives {} samples of {} ports in {} ms, expected from 1 to {} numbers",
                        period / 1000, samples, spec.network.hosts, spec.load.duration_ns / 1'000'000,
                        LAB_DEPTH_MAX_VALUES));
}

const std::vector<Setting>& settings_table() {
    static const std::vector<Setting> table = {
        {"host_qdisc", "qdisc of the hosts: pfqd, fq_codel",
         [](GuestSpec& s, const std::string& v) {
             const std::string kind = word_value("host_qdisc", v, {"pfqd", "fq_codel"});
             if (s.network.host_qdisc.kind != kind) s.network.host_qdisc = {kind, nlohmann::json::object()};
         }},
        {"connection", "how a message picks a connection: idle, random",
         [](GuestSpec& s, const std::string& v) {
             s.load.connection = word_value("connection", v, {"idle", "random"});
         }},
        number_setting<uint32_t>("conns", "connections per ordered host pair", 1, 64,
                                 [](GuestSpec& s) -> uint32_t& { return s.load.conns_per_pair; }),
        number_setting<uint32_t>("chunk", "bytes per send call, 0 = the whole message", 0, 64'000'000,
                                 [](GuestSpec& s) -> uint32_t& { return s.load.chunk; }),
        {"write", "what TCP may send of a write that it still copies: segments (as it does), nothing",
         [](GuestSpec& s, const std::string& v) {
             s.load.whole = word_value("write", v, {"segments", "nothing"}) == "nothing";
         }},
        number_setting<uint64_t>(
            "depth_us", "how often to look at the depth of ports, us, 0 = never", 0, 1'000'000,
            [](GuestSpec& s) -> uint64_t& { return s.load.depth_ns; }, 1000),
        number_setting<uint32_t>("internet", "hosts on the internet, with a bulk flow each way", 0, 16,
                                 [](GuestSpec& s) -> uint32_t& { return s.network.internet; }),
        number_setting<uint32_t>("hosts", "hosts", 2, 64,
                                 [](GuestSpec& s) -> uint32_t& { return s.network.hosts; }),
        number_setting<uint64_t>("delay_ns", "delay of every link, ns", 0, 100'000'000,
                                 [](GuestSpec& s) -> uint64_t& { return s.network.delay_ns; }),
        number_setting<uint64_t>("ring_ns", "host transmit ring, ns at line rate", 0, 1'000'000,
                                 [](GuestSpec& s) -> uint64_t& { return s.network.ring_ns; }),
        number_setting<uint32_t>("mtu", "MTU, bytes", 576, 65535,
                                 [](GuestSpec& s) -> uint32_t& { return s.network.mtu; }),
        {"moderation", "which frames wait for the receive interrupt: psh, all, off",
         [](GuestSpec& s, const std::string& v) {
             s.network.moderation = word_value("moderation", v, {"psh", "all", "off"});
         }},
        number_setting<uint32_t>("moderation_ns", "receive moderation, ns", 0, 1'000'000,
                                 [](GuestSpec& s) -> uint32_t& { return s.network.moderation_ns; }),
        number_setting<uint32_t>("lateness_ns", "wake-up lateness of hosts, uniform up to, ns", 0, 1'000'000,
                                 [](GuestSpec& s) -> uint32_t& { return s.network.lateness_ns; }),
        number_setting<uint64_t>("loss_ppm", "loss of every wire, parts per million", 0, 1'000'000,
                                 [](GuestSpec& s) -> uint64_t& { return s.network.loss_ppm; }),
        {"gso", "segmentation after the qdisc: on, off",
         [](GuestSpec& s, const std::string& v) { s.network.gso = switch_value("gso", v); }},
        {"timestamps", "TCP timestamps: on, off",
         [](GuestSpec& s, const std::string& v) { s.network.timestamps = switch_value("timestamps", v); }},
        {"cc", "congestion control: cubic, dctcp, bbr, reno",
         [](GuestSpec& s, const std::string& v) {
             s.network.cc = word_value("cc", v, {"cubic", "dctcp", "bbr", "reno"});
         }},
        number_setting<uint32_t>("ecn", "net.ipv4.tcp_ecn", 0, 2,
                                 [](GuestSpec& s) -> uint32_t& { return s.network.ecn; }),
        {"route_ecn", "ECN by the ecn feature of the hosts' routes: on, off",
         [](GuestSpec& s, const std::string& v) { s.network.route_ecn = switch_value("route_ecn", v); }},
        number_setting<uint32_t>("initcwnd", "first flight by the hosts' routes, segments, 0 = the kernel's",
                                 0, 1000,
                                 [](GuestSpec& s) -> uint32_t& {
                                     s.network.first_flight = 0;  // this, not the configuration's
                                     return s.network.initcwnd;
                                 }),
        number_setting<uint32_t>("queues", "hardware transmit queues of a host, served in turn", 1, 16,
                                 [](GuestSpec& s) -> uint32_t& { return s.network.queues; }),
        {"port_limit", "byte limit of switch ports (6000 .. 100000000)",
         [](GuestSpec& s, const std::string& v) {
             s.network.port_qdisc.options["limit"] = whole_value("port_limit", v, 6000, 100'000'000);
         }},
        pfqd_option("demote_us", PFQD_DEMOTE_MIN, PFQD_DEMOTE_MAX, "demotion age, us"),
        pfqd_option("quantum", PFQD_QUANTUM_MIN, PFQD_QUANTUM_MAX, "quantum, bytes"),
        pfqd_option("control", PFQD_CONTROL_MIN, PFQD_CONTROL_MAX, "control packets a cycle"),
        pfqd_option("flows", PFQD_FLOWS_MIN, PFQD_FLOWS_MAX, "flows with a FIFO of their own"),
        pfqd_option("budget_us", PFQD_BUDGET_MIN, PFQD_BUDGET_MAX, "sojourn budget of forwarded flows, us"),
        pfqd_option("short_us", PFQD_BUDGET_MIN, PFQD_BUDGET_MAX, "budget of the short RTT class, us"),
        pfqd_option("long_us", PFQD_BUDGET_MIN, PFQD_BUDGET_MAX, "budget of the long RTT class, us"),
        pfqd_option("budget_us", PFQD_BUDGET_MIN, PFQD_BUDGET_MAX, "the same on ports alone", Side::ports),
        pfqd_option("short_us", PFQD_BUDGET_MIN, PFQD_BUDGET_MAX, "the same on ports alone", Side::ports),
        pfqd_option("long_us", PFQD_BUDGET_MIN, PFQD_BUDGET_MAX, "the same on ports alone", Side::ports),
        pfqd_option("ecn", 0, 1, "whether flows are marked, or all lose their oldest"),
        pfqd_option("split_gso", 0, 1, "whether GSO packets are split when they are queued"),
        pfqd_switch_option("pfqd.stamp", Side::hosts, "stamp", {"off", "on", "local", "inherit"},
                           "whether hosts stamp"),
        pfqd_switch_option("pfqd.completion", Side::both, "completion", {"off", "on", "inherit"},
                           "whether stamps are read"),
        pfqd_switch_option("host.completion", Side::hosts, "completion", {"off", "on", "inherit"},
                           "the same on hosts alone"),
        pfqd_switch_option("port.completion", Side::ports, "completion", {"off", "on", "inherit"},
                           "the same on ports alone"),
    };
    return table;
}

}  // namespace

std::pair<std::string, std::string> parse_setting(const std::string& text) {
    const size_t equals = text.find('=');
    if (equals == std::string::npos || equals == 0)
        refuse(fmt::format("--set '{}': expected NAME=VALUE, for example connection=random", text));
    const std::string name = text.substr(0, equals);
    std::vector<std::string> names;
    for (const Setting& setting : settings_table()) {
        if (setting.name == name) return {name, text.substr(equals + 1)};
        names.push_back(setting.name);
    }
    refuse(fmt::format("--set: '{}' is none of {}", name, fmt::join(names, ", ")));
}

void apply_settings(const Settings& settings, GuestSpec& spec) {
    for (const Setting& setting : settings_table())
        if (const auto found = settings.find(setting.name); found != settings.end())
            setting.apply(spec, found->second);
    check_depth(spec);
    if (spec.network.first_flight > 0)
        spec.network.initcwnd = first_flight_segments(spec.network.first_flight, spec.network.mtu);
}

std::string settings_help() {
    std::string text;
    for (const Setting& setting : settings_table())
        text += fmt::format("  {:<16} {}\n", setting.name, setting.help);
    return text;
}

}  // namespace pfqd::lab
