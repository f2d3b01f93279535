// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
#include "lab/guest/counters.hpp"

#include <sstream>
#include <stdexcept>

#include "lab/guest/mounts.hpp"

namespace pfqd::lab {

namespace {

// A value of /proc/net/snmp or netstat: a line of names, then one of values.
uint64_t proc_value(const std::string& path, const std::string& group, const std::string& name) {
    std::istringstream file(read_file(path));
    std::string names, values;
    while (std::getline(file, names) && std::getline(file, values)) {
        if (!names.starts_with(group + ":")) continue;
        std::istringstream name_words(names), value_words(values);
        std::string key, value;
        while (name_words >> key && value_words >> value)
            if (key == name) return std::stoull(value);
    }
    throw std::runtime_error("no " + group + " " + name + " in " + path);
}

nlohmann::json split(uint64_t host, uint64_t tor) {
    return {{"total", host + tor}, {"host", host}, {"tor", tor}};
}

}  // namespace

Counters read_counters(const Fabric& fabric) {
    Counters counters;
    for (const Host& host : fabric.hosts()) {
        host.netns.enter();
        counters.retransmits += proc_value("/proc/thread-self/net/snmp", "Tcp", "RetransSegs");
        counters.timeouts += proc_value("/proc/thread-self/net/netstat", "TcpExt", "TCPTimeouts");
    }
    counters.host = fabric.host_counters();
    counters.tor = fabric.tor_counters();
    return counters;
}

Counters Counters::operator-(const Counters& before) const {
    return {host - before.host, tor - before.tor, retransmits - before.retransmits,
            timeouts - before.timeouts};
}

int64_t Counters::unaccounted_frames() const {
    return static_cast<int64_t>(tor.rx_frames - tor.qdiscs.drops - tor.tx_frames);
}

nlohmann::json counters_json(const Counters& counters) {
    const SideCounters &host = counters.host, &tor = counters.tor;
    nlohmann::json json = {
        {"drops", split(host.qdiscs.drops + host.wire_drops, tor.qdiscs.drops + tor.wire_drops)},
        {"wire_drops", split(host.wire_drops, tor.wire_drops)},
        {"marks", split(host.qdiscs.marks, tor.qdiscs.marks)},
        {"frames", split(host.tx_frames, tor.tx_frames)},
        {"data_packets", host.data_packets},
        {"retransmits", counters.retransmits},
        {"timeouts", counters.timeouts},
    };
    if (!host.qdiscs.pfqd.empty()) json["pfqd"]["host"] = host.qdiscs.pfqd.json();
    if (!tor.qdiscs.pfqd.empty()) json["pfqd"]["tor"] = tor.qdiscs.pfqd.json();
    if (!host.qdiscs.queues.empty()) json["host_queues"] = host.qdiscs.queues.json();
    return json;
}

}  // namespace pfqd::lab
