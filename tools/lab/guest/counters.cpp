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

nlohmann::json counters_json(const Counters& before, const Counters& after) {
    auto drops = [](const SideCounters& a, const SideCounters& b) {
        return b.qdisc_drops + b.wire_drops - a.qdisc_drops - a.wire_drops;
    };
    return {
        {"drops", split(drops(before.host, after.host), drops(before.tor, after.tor))},
        {"wire_drops", split(after.host.wire_drops - before.host.wire_drops,
                             after.tor.wire_drops - before.tor.wire_drops)},
        {"marks", split(after.host.marks - before.host.marks, after.tor.marks - before.tor.marks)},
        {"data_packets", after.host.data_packets - before.host.data_packets},
        {"retransmits", after.retransmits - before.retransmits},
        {"timeouts", after.timeouts - before.timeouts},
    };
}

}  // namespace pfqd::lab
