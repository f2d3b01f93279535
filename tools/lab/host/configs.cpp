// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
#include "lab/host/configs.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <linux/pkt_sch_pfqd.h>

#include <cmath>
#include <functional>
#include <limits>
#include <optional>
#include <sstream>
#include <stdexcept>

namespace pfqd::lab {

namespace {

constexpr double kLinkGbps = 25;
// Limits of a switch port (design.md 3.1): packet bytes, and truesize.
constexpr uint64_t kPortLimit = 1'000'000;
constexpr uint64_t kPortMemory = 4'000'000;
// Where DCTCP marks at 25 Gbit/s (HomaModule's switch set-up; the paper does not say).
constexpr uint64_t kDctcpThreshold = 70'000;

[[noreturn]] void fail(const std::string& text) {
    throw std::invalid_argument(text);
}

double number(const std::string& name, const std::string& text, double low, double high) {
    size_t used = 0;
    double value = std::numeric_limits<double>::quiet_NaN();
    try {
        value = std::stod(text, &used);
    } catch (const std::exception&) {
    }
    if (used != text.size() || !(value >= low && value <= high))
        fail(fmt::format("{}: '{}' is not a number from {} to {}", name, text, low, high));
    return value;
}

uint64_t whole(const std::string& name, const std::string& text, uint64_t low, uint64_t high) {
    const double value = number(name, text, static_cast<double>(low), static_cast<double>(high));
    if (value != std::floor(value)) fail(fmt::format("{}: '{}' is not a whole number", name, text));
    return static_cast<uint64_t>(value);
}

std::string word(const std::string& name, const std::string& text, const std::vector<std::string>& accepted) {
    for (const std::string& one : accepted)
        if (one == text) return text;
    fail(fmt::format("{}: '{}' is none of {}", name, text, fmt::join(accepted, ", ")));
}

bool on_off(const std::string& name, const std::string& text) {
    return word(name, text, {"on", "off"}) == "on";
}

struct Setting {
    std::string name;
    std::string help;
    std::function<void(GuestSpec&, const std::string&)> apply;
};

// A pfqd option, set wherever the configuration runs pfqd.
Setting pfqd_option(const std::string& option, uint64_t low, uint64_t high, const std::string& help) {
    const std::string name = "pfqd." + option;
    return {name, fmt::format("{} ({} .. {})", help, low, high),
            [=](GuestSpec& spec, const std::string& text) {
                const uint64_t value = whole(name, text, low, high);
                bool used = false;
                for (QdiscSpec* qdisc : {&spec.network.host_qdisc, &spec.network.port_qdisc})
                    if (qdisc->kind == "pfqd") qdisc->options[option] = value, used = true;
                if (!used) fail(name + ": this configuration runs no pfqd");
            }};
}

template <class T>
Setting number_setting(const std::string& name, const std::string& help, uint64_t low, uint64_t high,
                       std::function<T&(GuestSpec&)> field) {
    return {name, fmt::format("{} ({} .. {})", help, low, high),
            [=](GuestSpec& spec, const std::string& text) {
                field(spec) = static_cast<T>(whole(name, text, low, high));
            }};
}

const std::vector<Setting>& settings_table() {
    static const std::vector<Setting> table = {
        {"connection", "how a message picks a connection: idle, random",
         [](GuestSpec& s, const std::string& v) {
             s.load.connection = word("connection", v, {"idle", "random"});
         }},
        number_setting<uint32_t>("conns", "connections per ordered host pair", 1, 64,
                                 [](GuestSpec& s) -> uint32_t& { return s.load.conns_per_pair; }),
        number_setting<uint32_t>("chunk", "bytes per send call, 0 = the whole message", 0, 64'000'000,
                                 [](GuestSpec& s) -> uint32_t& { return s.load.chunk; }),
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
             s.network.moderation = word("moderation", v, {"psh", "all", "off"});
         }},
        number_setting<uint32_t>("moderation_ns", "receive moderation, ns", 0, 1'000'000,
                                 [](GuestSpec& s) -> uint32_t& { return s.network.moderation_ns; }),
        number_setting<uint32_t>("lateness_ns", "wake-up lateness of hosts, uniform up to, ns", 0, 1'000'000,
                                 [](GuestSpec& s) -> uint32_t& { return s.network.lateness_ns; }),
        number_setting<uint64_t>("loss_ppm", "loss of every wire, parts per million", 0, 1'000'000,
                                 [](GuestSpec& s) -> uint64_t& { return s.network.loss_ppm; }),
        {"gso", "segmentation after the qdisc: on, off",
         [](GuestSpec& s, const std::string& v) { s.network.gso = on_off("gso", v); }},
        {"timestamps", "TCP timestamps: on, off",
         [](GuestSpec& s, const std::string& v) { s.network.timestamps = on_off("timestamps", v); }},
        {"cc", "congestion control: cubic, dctcp, bbr, reno",
         [](GuestSpec& s, const std::string& v) {
             s.network.cc = word("cc", v, {"cubic", "dctcp", "bbr", "reno"});
         }},
        number_setting<uint32_t>("ecn", "net.ipv4.tcp_ecn", 0, 2,
                                 [](GuestSpec& s) -> uint32_t& { return s.network.ecn; }),
        {"port_limit", "byte limit of switch ports (6000 .. 100000000)",
         [](GuestSpec& s, const std::string& v) {
             s.network.port_qdisc.options["limit"] = whole("port_limit", v, 6000, 100'000'000);
         }},
        pfqd_option("demote_us", PFQD_DEMOTE_MIN, PFQD_DEMOTE_MAX, "demotion age, us"),
        pfqd_option("quantum", PFQD_QUANTUM_MIN, PFQD_QUANTUM_MAX, "quantum, bytes"),
        pfqd_option("control", PFQD_CONTROL_MIN, PFQD_CONTROL_MAX, "control packets a cycle"),
        pfqd_option("flows", PFQD_FLOWS_MIN, PFQD_FLOWS_MAX, "flows with a FIFO of their own"),
        pfqd_option("budget_us", PFQD_BUDGET_MIN, PFQD_BUDGET_MAX, "sojourn budget of forwarded flows, us"),
        pfqd_option("ecn", 0, 1, "whether flows are marked, or all lose their oldest"),
        pfqd_option("split_gso", 0, 1, "whether GSO packets are split when they are queued"),
    };
    return table;
}

}  // namespace

std::vector<std::string> split_list(const std::string& text) {
    std::vector<std::string> parts;
    std::istringstream stream(text);
    for (std::string part; std::getline(stream, part, ',');)
        if (!part.empty()) parts.push_back(part);
    return parts;
}

Cell parse_cell(const std::string& text) {
    const size_t colon = text.find(':');
    const std::string workload = text.substr(0, colon);
    if (colon == std::string::npos || workload.size() != 2 || workload[0] != 'w' || workload[1] < '1' ||
        workload[1] > '5')
        fail(fmt::format("cell '{}': expected w1..w5, a colon and a load, for example w4:50 or w2:3.2g",
                         text));
    std::string load = text.substr(colon + 1);
    const bool absolute = load.ends_with('g');
    if (absolute) load.pop_back();
    const double value = number("cell '" + text + "': load", load, 0.01, absolute ? kLinkGbps : 100);
    return {text, workload, absolute ? value : value * kLinkGbps / 100};
}

const std::vector<std::string>& e1_cells() {
    static const std::vector<std::string> cells = {"w2:3.2g", "w2:50", "w3:50", "w4:50",
                                                   "w5:50",   "w3:80", "w4:80", "w5:80"};
    return cells;
}

uint64_t default_duration_ns(const Cell& cell) {
    return cell.workload == "w4" || cell.workload == "w5" ? 60'000'000 : 20'000'000;
}

const std::vector<Configuration>& configurations() {
    static const std::vector<Configuration> list = {
        {"fifo", "CUBIC, hosts fq_codel, ports a byte FIFO of 1 MB"},
        {"dctcp", "DCTCP, hosts fq_codel, ports mark above 70 KB of instantaneous queue"},
        {"fq_codel", "CUBIC, hosts and ports fq_codel"},
        {"pfqd", "CUBIC, hosts and ports pfqd (no stamp, no completion tier)"},
    };
    return list;
}

void apply_configuration(const std::string& name, NetworkSpec& network) {
    network.host_qdisc = {"fq_codel", nlohmann::json::object()};
    if (name == "fifo") {
        network.port_qdisc = {"bfifo", {{"limit", kPortLimit}}};
    } else if (name == "dctcp") {
        network.cc = "dctcp";
        network.port_qdisc = {"red_step", {{"limit", kPortLimit}, {"threshold", kDctcpThreshold}}};
    } else if (name == "fq_codel") {
        network.port_qdisc = {"fq_codel", {{"memlimit", kPortMemory}}};
    } else if (name == "pfqd") {
        network.host_qdisc = {"pfqd", nlohmann::json::object()};
        network.port_qdisc = {"pfqd", {{"limit", kPortLimit}, {"memlimit", kPortMemory}}};
    } else {
        std::vector<std::string> names;
        for (const Configuration& one : configurations()) names.push_back(one.name);
        fail(fmt::format("configuration '{}' is none of {}", name, fmt::join(names, ", ")));
    }
}

std::pair<std::string, std::string> parse_setting(const std::string& text) {
    const size_t equals = text.find('=');
    if (equals == std::string::npos || equals == 0)
        fail(fmt::format("--set '{}': expected NAME=VALUE, for example connection=random", text));
    const std::string name = text.substr(0, equals);
    std::vector<std::string> names;
    for (const Setting& setting : settings_table()) {
        if (setting.name == name) return {name, text.substr(equals + 1)};
        names.push_back(setting.name);
    }
    fail(fmt::format("--set: '{}' is none of {}", name, fmt::join(names, ", ")));
}

void apply_settings(const Settings& settings, GuestSpec& spec) {
    for (const Setting& setting : settings_table())
        if (const auto found = settings.find(setting.name); found != settings.end())
            setting.apply(spec, found->second);
}

std::string settings_help() {
    std::string text;
    for (const Setting& setting : settings_table())
        text += fmt::format("  {:<16} {}\n", setting.name, setting.help);
    return text;
}

std::vector<uint64_t> parse_seeds(const std::string& text) {
    std::vector<uint64_t> seeds;
    for (const std::string& part : split_list(text)) {
        const size_t dash = part.find('-', 1);
        const uint64_t first = whole("--seeds", part.substr(0, dash), 0, 1'000'000);
        const uint64_t last =
            dash == std::string::npos ? first : whole("--seeds", part.substr(dash + 1), first, first + 1000);
        for (uint64_t seed = first; seed <= last; seed++) seeds.push_back(seed);
    }
    if (seeds.empty()) fail("--seeds: expected numbers such as 1-5 or 1,3");
    return seeds;
}

}  // namespace pfqd::lab
