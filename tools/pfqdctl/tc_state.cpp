// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
#include "pfqdctl/tc_state.hpp"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <linux/pkt_cls.h>
#include <linux/pkt_sched.h>
#include <linux/rtnetlink.h>
#include <netlink/attr.h>
#include <netlink/msg.h>

#include <cstring>
#include <optional>

namespace pfqd::ctl {

namespace {

nl::Message question(uint16_t type, int ifindex, uint32_t parent) {
    nl::Message message(type, 0);
    tcmsg header{};
    header.tcm_family = AF_UNSPEC;
    header.tcm_ifindex = ifindex;
    header.tcm_parent = parent;
    message.raw(header);
    return message;
}

uint32_t hook_parent(Hook hook) {
    return TC_H_MAKE(TC_H_CLSACT, hook == Hook::ingress ? TC_H_MIN_INGRESS : TC_H_MIN_EGRESS);
}

std::optional<tcmsg> header_of(const nlmsghdr& message, uint16_t type) {
    if (message.nlmsg_type != type || nlmsg_datalen(&message) < int(sizeof(tcmsg))) return std::nullopt;
    tcmsg header;
    std::memcpy(&header, nlmsg_data(&message), sizeof(header));
    return header;
}

std::string kind_of(const nlmsghdr& message) {
    return nl::attr_string(nl::find_attr(message, sizeof(tcmsg), TCA_KIND));
}

void read_bpf(Filter& filter, const nlattr* options) {
    if (const nlattr* name = nl::find_nested(options, TCA_BPF_NAME)) filter.program = nl::attr_string(name);
    if (const nlattr* id = nl::find_nested(options, TCA_BPF_ID)) filter.program_id = nl::attr_u32(id);
    if (const nlattr* tag = nl::find_nested(options, TCA_BPF_TAG)) {
        const auto* bytes = static_cast<const uint8_t*>(nla_data(tag));
        for (int i = 0; i < nla_len(tag); i++) filter.tag += fmt::format("{:02x}", bytes[i]);
    }
}

Filter filter_of(const nlmsghdr& message, const tcmsg& header) {
    Filter filter;
    filter.kind = kind_of(message);
    filter.priority = static_cast<uint16_t>(TC_H_MAJ(header.tcm_info) >> 16);
    filter.protocol = ntohs(static_cast<uint16_t>(TC_H_MIN(header.tcm_info)));
    filter.handle = header.tcm_handle;
    filter.parent = header.tcm_parent;
    if (const nlattr* chain = nl::find_attr(message, sizeof(tcmsg), TCA_CHAIN))
        filter.chain = nl::attr_u32(chain);
    if (filter.kind == "bpf") read_bpf(filter, nl::find_attr(message, sizeof(tcmsg), TCA_OPTIONS));
    return filter;
}

}  // namespace

std::vector<HookQdisc> hook_qdiscs(nl::Socket& socket) {
    std::vector<HookQdisc> found;
    nl::Message message = question(RTM_GETQDISC, 0, 0);
    socket.dump(message, [&](const nlmsghdr& answer) {
        const auto header = header_of(answer, RTM_NEWQDISC);
        if (header && header->tcm_parent == TC_H_INGRESS)
            found.push_back({header->tcm_ifindex, kind_of(answer)});
    });
    return found;
}

std::vector<Filter> filters(nl::Socket& socket, int ifindex, Hook hook) {
    std::vector<Filter> found;
    nl::Message message = question(RTM_GETTFILTER, ifindex, hook_parent(hook));
    socket.dump(message, [&](const nlmsghdr& answer) {
        if (const auto header = header_of(answer, RTM_NEWTFILTER))
            found.push_back(filter_of(answer, *header));
    });
    return found;
}

size_t chain_count(nl::Socket& socket, int ifindex, Hook hook) {
    size_t count = 0;
    nl::Message message = question(RTM_GETCHAIN, ifindex, hook_parent(hook));
    socket.dump(message, [&](const nlmsghdr& answer) { count += answer.nlmsg_type == RTM_NEWCHAIN; });
    return count;
}

}  // namespace pfqd::ctl
