// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
#include "lab/common/netlink.hpp"

#include <netlink/attr.h>
#include <netlink/errno.h>
#include <netlink/msg.h>
#include <netlink/netlink.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <vector>

namespace pfqd::nl {

namespace {

// Dumps of a port with thousands of classes come in pages of 32 KiB at most.
constexpr size_t kReceiveBytes = 64 * 1024;
constexpr size_t kMessageBytes = 32 * 1024;

std::string extack_text(const nlmsghdr& header, const nlmsgerr& error) {
    if (!(header.nlmsg_flags & NLM_F_ACK_TLVS)) return {};
    size_t skip = sizeof(error);
    if (!(header.nlmsg_flags & NLM_F_CAPPED) && error.error) skip += error.msg.nlmsg_len - sizeof(nlmsghdr);
    const nlattr* text = find_attr(header, skip, NLMSGERR_ATTR_MSG);
    return text ? attr_string(text) : std::string();
}

}  // namespace

void Message::Free::operator()(nl_msg* msg) const {
    nlmsg_free(msg);
}

Message::Message(uint16_t type, uint16_t flags) : msg_(nlmsg_alloc_size(kMessageBytes)) {
    if (!msg_) throw std::bad_alloc();
    if (!nlmsg_put(msg_.get(), NL_AUTO_PORT, NL_AUTO_SEQ, type, 0, NLM_F_REQUEST | flags))
        throw std::bad_alloc();
}

void Message::append(const void* data, size_t size) {
    if (nlmsg_append(msg_.get(), const_cast<void*>(data), size, NLMSG_ALIGNTO) < 0)
        throw std::length_error("netlink message larger than 32 KiB");
}

void Message::put(int attr, const void* data, size_t size) {
    if (nla_put(msg_.get(), attr, static_cast<int>(size), data) < 0)
        throw std::length_error("netlink message larger than 32 KiB");
}

Message::Nest::Nest(Message& message, int attr)
    : message_(message), start_(nla_nest_start(message.get(), attr)) {
    if (!start_) throw std::length_error("netlink message larger than 32 KiB");
}

Message::Nest::~Nest() {
    nla_nest_end(message_.get(), start_);
}

void Socket::Free::operator()(nl_sock* sock) const {
    nl_socket_free(sock);
}

Socket::Socket() : sock_(nl_socket_alloc()) {
    if (!sock_) throw std::bad_alloc();
    if (int err = nl_connect(sock_.get(), NETLINK_ROUTE); err < 0)
        throw NetlinkError(EIO, std::string("netlink socket: ") + nl_geterror(err));
    int one = 1;
    setsockopt(nl_socket_get_fd(sock_.get()), SOL_NETLINK, NETLINK_EXT_ACK, &one, sizeof(one));
}

void Socket::request(Message& message) {
    exchange(message, NLM_F_ACK, nullptr);
}

void Socket::dump(Message& message, const std::function<void(const nlmsghdr&)>& fn) {
    exchange(message, NLM_F_DUMP, fn);
}

void Socket::query(Message& message, const std::function<void(const nlmsghdr&)>& fn) {
    exchange(message, NLM_F_ACK, fn);
}

void Socket::exchange(Message& message, uint16_t flags, const std::function<void(const nlmsghdr&)>& fn) {
    nlmsghdr* header = nlmsg_hdr(message.get());
    header->nlmsg_flags |= flags;
    nl_complete_msg(sock_.get(), message.get());
    if (int err = nl_send(sock_.get(), message.get()); err < 0)
        throw NetlinkError(EIO, std::string("netlink send: ") + nl_geterror(err));
    receive(header->nlmsg_seq, fn);
}

// Reads until the ACK, the error or the end of the dump of that request.
void Socket::receive(uint32_t sequence, const std::function<void(const nlmsghdr&)>& fn) {
    std::vector<char> buffer(kReceiveBytes);
    for (;;) {
        ssize_t size = recv(nl_socket_get_fd(sock_.get()), buffer.data(), buffer.size(), 0);
        if (size < 0) {
            if (errno == EINTR) continue;
            throw NetlinkError(errno, std::string("netlink receive: ") + std::strerror(errno));
        }
        int left = static_cast<int>(size);
        auto* header = reinterpret_cast<nlmsghdr*>(buffer.data());
        for (; nlmsg_ok(header, left); header = nlmsg_next(header, &left)) {
            if (header->nlmsg_seq != sequence) continue;
            if (header->nlmsg_type == NLMSG_DONE) return;
            if (header->nlmsg_type == NLMSG_ERROR) {
                const auto& error = *static_cast<const nlmsgerr*>(nlmsg_data(header));
                if (!error.error) return;
                std::string text = extack_text(*header, error);
                throw NetlinkError(-error.error, text.empty() ? std::strerror(-error.error) : text);
            }
            if (fn) fn(*header);
        }
    }
}

const nlattr* find_attr(const nlmsghdr& message, size_t header_size, int attr) {
    return nlmsg_find_attr(const_cast<nlmsghdr*>(&message), static_cast<int>(header_size), attr);
}

const nlattr* find_nested(const nlattr* parent, int attr) {
    return parent ? nla_find(static_cast<const nlattr*>(nla_data(parent)), nla_len(parent), attr) : nullptr;
}

namespace {

template <class T>
T attr_value(const nlattr* attr) {
    if (!attr || nla_len(attr) < static_cast<int>(sizeof(T)))
        throw NetlinkError(EPROTO, "netlink attribute missing or shorter than its type");
    T value;
    std::memcpy(&value, nla_data(attr), sizeof(value));
    return value;
}

}  // namespace

uint32_t attr_u32(const nlattr* attr) {
    return attr_value<uint32_t>(attr);
}
uint64_t attr_u64(const nlattr* attr) {
    return attr_value<uint64_t>(attr);
}

std::string attr_string(const nlattr* attr) {
    if (!attr) throw NetlinkError(EPROTO, "netlink attribute missing");
    const char* text = static_cast<const char*>(nla_data(attr));
    return std::string(text, strnlen(text, static_cast<size_t>(nla_len(attr))));
}

}  // namespace pfqd::nl
