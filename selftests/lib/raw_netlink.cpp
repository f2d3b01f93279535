// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
#include "selftests/lib/raw_netlink.hpp"

#include <sys/socket.h>

#include <algorithm>
#include <cstring>

#include "lab/common/netlink.hpp"

namespace pfqd::selftest {

namespace {

constexpr size_t kReceiveBytes = 64 * 1024;
constexpr int kSendRoom = 1 << 20;  // bytes: a request may be larger than 64 KiB

void append(Bytes& out, const void* data, size_t size) {
    const auto* bytes = static_cast<const uint8_t*>(data);
    out.insert(out.end(), bytes, bytes + size);
}

NetlinkAnswer answer_of(const nlmsghdr& header) {
    const auto& error = *reinterpret_cast<const nlmsgerr*>(NLMSG_DATA(&header));
    NetlinkAnswer answer{.error = -error.error};
    if (!(header.nlmsg_flags & NLM_F_ACK_TLVS)) return answer;
    // An error comes with the request it is about, whole unless it is capped.
    size_t skip = sizeof(error);
    if (!(header.nlmsg_flags & NLM_F_CAPPED) && error.error) skip += error.msg.nlmsg_len - sizeof(nlmsghdr);
    if (const nlattr* text = nl::find_attr(header, skip, NLMSGERR_ATTR_MSG))
        answer.text = nl::attr_string(text);
    return answer;
}

}  // namespace

void put_attr(Bytes& out, uint16_t type, const Bytes& payload, uint16_t claimed_length) {
    const nlattr header{claimed_length, type};
    append(out, &header, sizeof(header));
    append(out, payload.data(), payload.size());
    out.resize((out.size() + 3) / 4 * 4);
}

void put_attr(Bytes& out, uint16_t type, const Bytes& payload) {
    put_attr(out, type, payload,
             static_cast<uint16_t>(std::min<size_t>(sizeof(nlattr) + payload.size(), UINT16_MAX)));
}

RawNetlink::RawNetlink()
    : fd_(check(socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE), "netlink socket")),
      buffer_(kReceiveBytes) {
    const int one = 1, room = kSendRoom;
    check(setsockopt(fd_.get(), SOL_NETLINK, NETLINK_EXT_ACK, &one, sizeof(one)), "NETLINK_EXT_ACK");
    check(setsockopt(fd_.get(), SOL_NETLINK, NETLINK_CAP_ACK, &one, sizeof(one)), "NETLINK_CAP_ACK");
    check(setsockopt(fd_.get(), SOL_SOCKET, SO_SNDBUFFORCE, &room, sizeof(room)), "SO_SNDBUFFORCE");
}

void RawNetlink::send(uint16_t type, uint16_t flags, const tcmsg& header, const Bytes& attributes) {
    nlmsghdr netlink{};
    netlink.nlmsg_len = static_cast<uint32_t>(sizeof(netlink) + sizeof(header) + attributes.size());
    netlink.nlmsg_type = type;
    netlink.nlmsg_flags = static_cast<uint16_t>(NLM_F_REQUEST | flags);
    netlink.nlmsg_seq = ++sequence_;
    Bytes message;
    append(message, &netlink, sizeof(netlink));
    append(message, &header, sizeof(header));
    append(message, attributes.data(), attributes.size());
    check(static_cast<int>(::send(fd_.get(), message.data(), message.size(), 0)), "send a netlink request");
}

NetlinkAnswer RawNetlink::request(uint16_t type, uint16_t flags, const tcmsg& header,
                                  const Bytes& attributes) {
    send(type, static_cast<uint16_t>(flags | NLM_F_ACK), header, attributes);
    for (;;) {
        const int size =
            check(static_cast<int>(recv(fd_.get(), buffer_.data(), buffer_.size(), 0)), "netlink answer");
        auto left = static_cast<unsigned>(size);
        for (auto* at = reinterpret_cast<nlmsghdr*>(buffer_.data()); NLMSG_OK(at, left);
             at = NLMSG_NEXT(at, left))
            if (at->nlmsg_type == NLMSG_ERROR && at->nlmsg_seq == sequence_) return answer_of(*at);
    }
}

void RawNetlink::dump(uint16_t type, const tcmsg& header,
                      const std::function<void(const nlmsghdr&)>& handler) {
    send(type, NLM_F_DUMP, header, {});
    for (;;) {
        const int size =
            check(static_cast<int>(recv(fd_.get(), buffer_.data(), buffer_.size(), 0)), "netlink dump");
        auto left = static_cast<unsigned>(size);
        for (auto* at = reinterpret_cast<nlmsghdr*>(buffer_.data()); NLMSG_OK(at, left);
             at = NLMSG_NEXT(at, left)) {
            if (at->nlmsg_seq != sequence_) continue;
            if (at->nlmsg_type == NLMSG_DONE) return;
            if (at->nlmsg_type == NLMSG_ERROR)
                throw nl::NetlinkError(answer_of(*at).error, "a dump was refused");
            handler(*at);
        }
    }
}

}  // namespace pfqd::selftest
