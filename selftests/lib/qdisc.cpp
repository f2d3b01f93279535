// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
#include "selftests/lib/qdisc.hpp"

#include <linux/gen_stats.h>
#include <linux/rtnetlink.h>
#include <netlink/attr.h>
#include <netlink/msg.h>

#include <algorithm>
#include <cstring>
#include <optional>
#include <stdexcept>

namespace pfqd::selftest {

namespace {

tcmsg qdisc_header(const End& end, QdiscPlace place) {
    tcmsg header{};
    header.tcm_family = AF_UNSPEC;
    header.tcm_ifindex = end.ifindex();
    header.tcm_parent = place.parent;
    header.tcm_handle = place.handle;
    return header;
}

void request_qdisc(const End& end, uint16_t flags, const std::string& kind, const QdiscOptions& options,
                   QdiscPlace place) {
    In inside(end.netns());
    nl::Socket socket;
    nl::Message message(RTM_NEWQDISC, flags);
    message.raw(qdisc_header(end, place));
    message.put_string(TCA_KIND, kind);
    if (options) options(message);
    socket.request(message);
}

// As much of the kernel's struct as it sent.
template <class T>
T payload(const nlattr* attr) {
    T value{};
    if (attr)
        std::memcpy(&value, nla_data(attr),
                    std::min<size_t>(sizeof(value), static_cast<size_t>(nla_len(attr))));
    return value;
}

std::vector<uint8_t> payload_bytes(const nlattr* attr) {
    if (!attr) return {};
    const auto* data = static_cast<const uint8_t*>(nla_data(attr));
    return {data, data + nla_len(attr)};
}

QdiscStats parse_stats(const nlmsghdr& message) {
    QdiscStats stats;
    stats.kind = nl::attr_string(nl::find_attr(message, sizeof(tcmsg), TCA_KIND));
    stats.options = payload_bytes(nl::find_attr(message, sizeof(tcmsg), TCA_OPTIONS));
    const nlattr* nest = nl::find_attr(message, sizeof(tcmsg), TCA_STATS2);
    const auto basic = payload<gnet_stats_basic>(nl::find_nested(nest, TCA_STATS_BASIC));
    const auto queue = payload<gnet_stats_queue>(nl::find_nested(nest, TCA_STATS_QUEUE));
    const nlattr* wide = nl::find_nested(nest, TCA_STATS_PKT64);
    stats.packets = wide ? nl::attr_u64(wide) : basic.packets;
    stats.bytes = basic.bytes;
    stats.drops = queue.drops;
    stats.overlimits = queue.overlimits;
    stats.requeues = queue.requeues;
    stats.qlen = queue.qlen;
    stats.backlog = queue.backlog;
    stats.app = payload_bytes(nl::find_nested(nest, TCA_STATS_APP));
    return stats;
}

}  // namespace

void set_qdisc(const End& end, const std::string& kind, const QdiscOptions& options, QdiscPlace place) {
    request_qdisc(end, NLM_F_CREATE | NLM_F_REPLACE, kind, options, place);
}

void change_qdisc(const End& end, const std::string& kind, const QdiscOptions& options, QdiscPlace place) {
    request_qdisc(end, 0, kind, options, place);
}

void delete_qdisc(const End& end, uint32_t parent) {
    In inside(end.netns());
    nl::Socket socket;
    nl::Message message(RTM_DELQDISC, 0);
    message.raw(qdisc_header(end, {parent, 0}));
    socket.request(message);
}

QdiscOptions fifo_options(uint32_t limit) {
    return [limit](nl::Message& message) {
        const tc_fifo_qopt option{limit};
        message.put(TCA_OPTIONS, &option, sizeof(option));
    };
}

QdiscOptions prio_options() {
    return [](nl::Message& message) {
        const tc_prio_qopt option{3, {1, 2, 2, 2, 1, 2, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1}};
        message.put(TCA_OPTIONS, &option, sizeof(option));
    };
}

QdiscStats qdisc_stats(const End& end, uint32_t parent) {
    In inside(end.netns());
    nl::Socket socket;
    std::optional<QdiscStats> stats;
    nl::Message message(RTM_GETQDISC, 0);
    message.raw(qdisc_header(end, {0, 0}));
    socket.dump(message, [&](const nlmsghdr& header) {
        const auto* tc = static_cast<const tcmsg*>(nlmsg_data(&header));
        if (header.nlmsg_type != RTM_NEWQDISC || tc->tcm_ifindex != end.ifindex() || tc->tcm_parent != parent)
            return;
        stats = parse_stats(header);
    });
    if (!stats) throw std::runtime_error("no qdisc there on " + end.name());
    return *stats;
}

}  // namespace pfqd::selftest
