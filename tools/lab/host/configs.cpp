// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
#include "lab/host/configs.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <linux/pkt_sch_pfqd.h>

#include <algorithm>
#include <sstream>

#include "lab/host/values.hpp"

namespace pfqd::lab {

namespace {

constexpr double kLinkGbps = 25;
// Limits of a switch port (design.md 3.1): packet bytes, and truesize.
constexpr uint64_t kPortLimit = 1'000'000;
constexpr uint64_t kPortMemory = 4'000'000;
// Where DCTCP marks at 25 Gbit/s (HomaModule's switch set-up; the paper does not say).
constexpr uint64_t kDctcpThreshold = 70'000;
// Sojourn budgets of switch ports, us (design.md 4, "Budgets in the ladder").
constexpr uint32_t kLooseUs = 5000;
constexpr uint32_t kTightUs = 20;
// The first flight of the ct40 configurations (design.md 6), and the kernel's own.
constexpr uint32_t kFirstFlight = 40'960;  // bytes
constexpr uint32_t kKernelInitcwnd = 10;   // segments
constexpr uint32_t kTcpIpHeaders = 40;

QdiscSpec pfqd_port() {
    return {"pfqd", {{"limit", kPortLimit}, {"memlimit", kPortMemory}}};
}

// Stamps are made and read on hosts, and read on ports.
void apply_ct(NetworkSpec& network, bool ecn, bool first_flight) {
    network.host_qdisc = {"pfqd", {{"stamp", PFQD_SWITCH_ON}, {"completion", PFQD_SWITCH_ON}}};
    network.port_qdisc = pfqd_port();
    network.port_qdisc.options["completion"] = PFQD_SWITCH_ON;
    network.port_qdisc.options["budget_us"] = ecn ? kTightUs : kLooseUs;
    network.port_qdisc.options["short_us"] = ecn ? kTightUs : kLooseUs;
    network.port_qdisc.options["long_us"] = kLooseUs;
    network.route_ecn = ecn;
    network.first_flight = first_flight ? kFirstFlight : 0;
}

}  // namespace

uint32_t first_flight_segments(uint32_t bytes, uint32_t mtu) {
    const uint32_t mss = mtu - kTcpIpHeaders;
    return std::max(kKernelInitcwnd, (bytes + mss - 1) / mss);
}

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
        refuse(fmt::format("cell '{}': expected w1..w5, a colon and a load, for example w4:50 or w2:3.2g",
                           text));
    std::string load = text.substr(colon + 1);
    const bool absolute = load.ends_with('g');
    if (absolute) load.pop_back();
    const double value = number_value("cell '" + text + "': load", load, 0.01, absolute ? kLinkGbps : 100);
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
        {"ct", "pfqd that stamps on hosts, completion tier on hosts and ports"},
        {"ctecn", "ct, ECN by route, ports with budgets of 20 us (long RTT: 5 ms)"},
        {"ct40", "ct, first flight of 40 KiB by route"},
        {"ct40ecn", "ctecn and ct40: what is deployed"},
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
        network.port_qdisc = pfqd_port();
    } else if (name == "ct") {
        apply_ct(network, false, false);
    } else if (name == "ctecn") {
        apply_ct(network, true, false);
    } else if (name == "ct40") {
        apply_ct(network, false, true);
    } else if (name == "ct40ecn") {
        apply_ct(network, true, true);
    } else {
        std::vector<std::string> names;
        for (const Configuration& one : configurations()) names.push_back(one.name);
        refuse(fmt::format("configuration '{}' is none of {}", name, fmt::join(names, ", ")));
    }
}

std::vector<uint64_t> parse_seeds(const std::string& text) {
    std::vector<uint64_t> seeds;
    for (const std::string& part : split_list(text)) {
        const size_t dash = part.find('-', 1);
        const uint64_t first = whole_value("--seeds", part.substr(0, dash), 0, 1'000'000);
        const uint64_t last = dash == std::string::npos
                                  ? first
                                  : whole_value("--seeds", part.substr(dash + 1), first, first + 1000);
        for (uint64_t seed = first; seed <= last; seed++) seeds.push_back(seed);
    }
    if (seeds.empty()) refuse("--seeds: expected numbers such as 1-5 or 1,3");
    return seeds;
}

}  // namespace pfqd::lab
