// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
//
// Limits are out of the way in every contender: nothing is dropped. So are the
// controllers of fq_codel and cake, whose targets are far above the time that a
// backlog stands here: each packet still goes through them. All else is default,
// but for the number of flows:
//
//   pfqd      as many as there are
//   fq        its default of 1,024 trees and 1,024 orphans, what users have
//   fq+       as many trees and orphans as pfqd has flows
//   fq_codel  65,536 queues, its maximum
//   cake      1,024 queues a tin, fixed
//   pfifo     none: the floor, what the bench itself and the cache cost
#include "lab/guest/qdisc_bench_ports.hpp"

#include <linux/if_link.h>
#include <linux/pkt_sch_pfqd.h>
#include <linux/pkt_sched.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <netlink/attr.h>

#include <algorithm>
#include <array>
#include <functional>
#include <sstream>
#include <stdexcept>

#include "lab/common/fd.hpp"
#include "lab/guest/mounts.hpp"
#include "lab/guest/qdisc_bench_sockets.hpp"

namespace pfqd::lab {

namespace {

constexpr uint32_t kPackets = 1'000'000;  // more than any backlog
constexpr uint32_t kBytes = 1 << 30;      // the same
constexpr uint32_t kFlowsLog = 17;
constexpr uint32_t kFlows = 1 << kFlowsLog;
constexpr uint32_t kTargetUs = 1'000'000'000;    // longer than a backlog stands
constexpr uint32_t kIntervalUs = 2'000'000'000;  // in proportion

struct Contender {
    const char* name;
    const char* kind;
    std::function<void(nl::Message&)> put_options;
};

void put_pfqd(nl::Message& message) {
    auto nest = message.nest(TCA_OPTIONS | NLA_F_NESTED);
    message.put_u32(TCA_PFQD_LIMIT, kBytes);
    message.put_u32(TCA_PFQD_MEMLIMIT, kBytes);
    message.put_u32(TCA_PFQD_FLOWS, kFlows);
}

void put_fq_limits(nl::Message& message) {
    message.put_u32(TCA_FQ_PLIMIT, kPackets);
    message.put_u32(TCA_FQ_FLOW_PLIMIT, kPackets);
}

void put_fq(nl::Message& message) {
    auto nest = message.nest(TCA_OPTIONS | NLA_F_NESTED);
    put_fq_limits(message);
}

void put_fq_wide(nl::Message& message) {
    auto nest = message.nest(TCA_OPTIONS | NLA_F_NESTED);
    put_fq_limits(message);
    message.put_u32(TCA_FQ_BUCKETS_LOG, kFlowsLog);
    message.put_u32(TCA_FQ_ORPHAN_MASK, kFlows - 1);
}

void put_fq_codel(nl::Message& message) {
    auto nest = message.nest(TCA_OPTIONS | NLA_F_NESTED);
    message.put_u32(TCA_FQ_CODEL_LIMIT, kPackets);
    message.put_u32(TCA_FQ_CODEL_MEMORY_LIMIT, kBytes);
    message.put_u32(TCA_FQ_CODEL_FLOWS, 65536);
    message.put_u32(TCA_FQ_CODEL_TARGET, kTargetUs);
    message.put_u32(TCA_FQ_CODEL_INTERVAL, kIntervalUs);
}

void put_cake(nl::Message& message) {
    auto nest = message.nest(TCA_OPTIONS | NLA_F_NESTED);
    message.put_u32(TCA_CAKE_MEMORY, kBytes);
    message.put_u32(TCA_CAKE_RTT, kIntervalUs);
    message.put_u32(TCA_CAKE_TARGET, kTargetUs);
}

void put_pfifo(nl::Message& message) {
    const tc_fifo_qopt qopt{.limit = kPackets};
    message.put(TCA_OPTIONS, &qopt, sizeof(qopt));
}

// Those that are compared most closely stand in the middle: there the time between
// two of their turns is the same whether a round goes forwards or backwards.
const std::array<Contender, 6> kContenders = {{{"cake", "cake", put_cake},
                                               {"fq_codel", "fq_codel", put_fq_codel},
                                               {"pfqd", "pfqd", put_pfqd},
                                               {"fq", "fq", put_fq},
                                               {"fq+", "fq", put_fq_wide},
                                               {"pfifo", "pfifo", put_pfifo}}};

ifinfomsg link_header(int index, bool up) {
    ifinfomsg header{};
    header.ifi_family = AF_UNSPEC;
    header.ifi_index = index;
    header.ifi_flags = up ? IFF_UP : 0;
    header.ifi_change = up ? IFF_UP : 0;
    return header;
}

int make_link(nl::Socket& socket, const std::string& name) {
    nl::Message message(RTM_NEWLINK, NLM_F_CREATE | NLM_F_EXCL);
    message.raw(link_header(0, false));
    message.put_string(IFLA_IFNAME, name);
    {
        auto info = message.nest(IFLA_LINKINFO);
        message.put_string(IFLA_INFO_KIND, "qbench");
    }
    socket.request(message);
    const unsigned index = if_nametoindex(name.c_str());
    if (index == 0) throw_errno("interface " + name);
    return static_cast<int>(index);
}

void set_up(nl::Socket& socket, int ifindex) {
    nl::Message message(RTM_NEWLINK, 0);
    message.raw(link_header(ifindex, true));
    socket.request(message);
}

tcmsg root_of(int ifindex) {
    tcmsg tc{};
    tc.tcm_family = AF_UNSPEC;
    tc.tcm_ifindex = ifindex;
    tc.tcm_parent = TC_H_ROOT;
    return tc;
}

void remove_qdisc(nl::Socket& socket, int ifindex) {
    nl::Message message(RTM_DELQDISC, 0);
    message.raw(root_of(ifindex));
    socket.request(message);
}

void set_qdisc(nl::Socket& socket, int ifindex, const Contender& contender) {
    nl::Message message(RTM_NEWQDISC, NLM_F_CREATE | NLM_F_EXCL);
    message.raw(root_of(ifindex));
    message.put_string(TCA_KIND, contender.kind);
    contender.put_options(message);
    socket.request(message);
}

void remove_link(nl::Socket& socket, int ifindex) {
    nl::Message message(RTM_DELLINK, 0);
    message.raw(link_header(ifindex, false));
    socket.request(message);
}

// Memory that an instance takes before its first packet. Many are made: free memory
// is counted without what the allocator holds ready, some hundred KiB.
uint64_t setup_bytes(nl::Socket& socket, const Contender& contender) {
    constexpr uint32_t kInstances = 64;
    std::vector<int> links;
    for (uint32_t i = 0; i < kInstances; i++) links.push_back(make_link(socket, "qm" + std::to_string(i)));
    const uint64_t before = free_memory();
    for (int link : links) set_qdisc(socket, link, contender);
    const uint64_t after = free_memory();
    for (int link : links) remove_link(socket, link);
    return before > after ? (before - after) / kInstances : 0;
}

void add_address(nl::Socket& socket, int ifindex) {
    nl::Message message(RTM_NEWADDR, NLM_F_CREATE | NLM_F_EXCL);
    ifaddrmsg header{};
    header.ifa_family = AF_INET;
    header.ifa_prefixlen = kBenchPrefix;
    header.ifa_index = static_cast<uint32_t>(ifindex);
    message.raw(header);
    message.put_u32(IFA_LOCAL, htonl(kBenchAddress));
    message.put_u32(IFA_ADDRESS, htonl(kBenchAddress));
    socket.request(message);
}

}  // namespace

uint64_t free_memory() {
    std::istringstream file(read_file("/proc/meminfo"));
    std::string key;
    uint64_t kib = 0;
    for (std::string line; std::getline(file, line);)
        if (std::istringstream(line) >> key >> kib && key == "MemFree:") return kib * 1024;
    throw std::runtime_error("no MemFree in /proc/meminfo");
}

void renew_qdisc(nl::Socket& socket, const BenchPort& port) {
    const auto contender = std::find_if(kContenders.begin(), kContenders.end(),
                                        [&](const Contender& c) { return c.name == port.name; });
    remove_qdisc(socket, port.ifindex);
    set_qdisc(socket, port.ifindex, *contender);
}

std::vector<BenchPort> make_bench_ports(nl::Socket& socket) {
    std::vector<BenchPort> ports;
    for (const Contender& contender : kContenders) {
        BenchPort port;
        port.name = contender.name;
        port.ifindex = make_link(socket, "qb" + std::to_string(ports.size()));
        port.setup_bytes = setup_bytes(socket, contender);
        set_qdisc(socket, port.ifindex, contender);
        set_up(socket, port.ifindex);
        if (ports.empty()) add_address(socket, port.ifindex);
        ports.push_back(port);
    }
    return ports;
}

}  // namespace pfqd::lab
