// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
#include "selftests/lib/packet_socket.hpp"

#include <arpa/inet.h>
#include <linux/errqueue.h>
#include <linux/if_packet.h>
#include <linux/net_tstamp.h>
#include <poll.h>
#include <sys/socket.h>

#include <array>
#include <cstring>
#include <functional>
#include <stdexcept>

#include "selftests/lib/kernel.hpp"

namespace pfqd::selftest {

namespace {

constexpr int kSocketBuffer = 256 << 20;  // bytes; a test's frames are never dropped for room
constexpr size_t kLargestFrame = 128 * 1024;
constexpr uint64_t kSendTimeout = 1'000'000'000;
// The kernel switches its stamping on from a work item, after the call returns.
constexpr uint64_t kStampingStarts = 1'000'000;

template <class T>
void set_option(int fd, int level, int option, const T& value, const char* what) {
    check(setsockopt(fd, level, option, &value, sizeof(value)), what);
}

bool wait_for(int fd, short events, uint64_t timeout_ns) {
    pollfd poll_fd{fd, events, 0};
    const timespec timeout{static_cast<time_t>(timeout_ns / 1'000'000'000),
                           static_cast<long>(timeout_ns % 1'000'000'000)};
    return check(ppoll(&poll_fd, 1, &timeout, nullptr), "poll a packet socket") > 0;
}

// One message, its control messages to the handler.
size_t receive_message(int fd, Bytes& buffer, sockaddr_ll& from, int flags,
                       const std::function<void(const cmsghdr&)>& handler) {
    alignas(cmsghdr) std::array<char, 512> control;
    iovec data{buffer.data(), buffer.size()};
    msghdr message{};
    message.msg_name = &from;
    message.msg_namelen = sizeof(from);
    message.msg_iov = &data;
    message.msg_iovlen = 1;
    message.msg_control = control.data();
    message.msg_controllen = control.size();
    const int size = check(static_cast<int>(recvmsg(fd, &message, flags)), "receive a frame");
    for (cmsghdr* header = CMSG_FIRSTHDR(&message); header; header = CMSG_NXTHDR(&message, header))
        handler(*header);
    return static_cast<size_t>(size);
}

uint64_t stamp_of(const cmsghdr& header) {
    scm_timestamping stamps;
    std::memcpy(&stamps, CMSG_DATA(const_cast<cmsghdr*>(&header)), sizeof(stamps));
    return static_cast<uint64_t>(stamps.ts[0].tv_sec) * 1'000'000'000 +
           static_cast<uint64_t>(stamps.ts[0].tv_nsec);
}

bool is_stamp(const cmsghdr& header) {
    return header.cmsg_level == SOL_SOCKET && header.cmsg_type == SCM_TIMESTAMPING;
}

}  // namespace

PacketSocket::PacketSocket(const End& end, bool outgoing) : buffer_(kLargestFrame) {
    In inside(end.netns());
    fd_ = Fd(check(socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, 0), "packet socket"));
    const int room = kSocketBuffer;
    set_option(fd(), SOL_SOCKET, SO_SNDBUFFORCE, room, "SO_SNDBUFFORCE");
    set_option(fd(), SOL_SOCKET, SO_RCVBUFFORCE, room, "SO_RCVBUFFORCE");
    set_option(fd(), SOL_PACKET, PACKET_IGNORE_OUTGOING, outgoing ? 0 : 1, "PACKET_IGNORE_OUTGOING");
    set_option(fd(), SOL_PACKET, PACKET_AUXDATA, 1, "PACKET_AUXDATA");
    time_sending(false);
    sockaddr_ll address{};
    address.sll_family = AF_PACKET;
    address.sll_protocol = htons(ETH_P_ALL);
    address.sll_ifindex = end.ifindex();
    check(bind(fd(), reinterpret_cast<sockaddr*>(&address), sizeof(address)), "bind a packet socket");
    sleep_ns(kStampingStarts);
}

void PacketSocket::time_sending(bool on) {
    int flags = SOF_TIMESTAMPING_RX_SOFTWARE | SOF_TIMESTAMPING_SOFTWARE | SOF_TIMESTAMPING_OPT_TSONLY;
    if (on) flags |= SOF_TIMESTAMPING_TX_SOFTWARE;
    set_option(fd(), SOL_SOCKET, SO_TIMESTAMPING, flags, "SO_TIMESTAMPING");
}

void PacketSocket::set_priority(uint32_t priority) {
    set_option(fd(), SOL_SOCKET, SO_PRIORITY, static_cast<int>(priority), "SO_PRIORITY");
}

void PacketSocket::set_mark(uint32_t mark) {
    set_option(fd(), SOL_SOCKET, SO_MARK, mark, "SO_MARK");
}

void PacketSocket::bypass_qdisc(bool on) {
    set_option(fd(), SOL_PACKET, PACKET_QDISC_BYPASS, on ? 1 : 0, "PACKET_QDISC_BYPASS");
}

void PacketSocket::send(const Bytes& frame) {
    const ssize_t sent = ::send(fd(), frame.data(), frame.size(), 0);
    check(static_cast<int>(sent), "send a frame");
    if (static_cast<size_t>(sent) != frame.size()) throw std::runtime_error("a frame was sent in part");
}

uint64_t PacketSocket::sent_at() {
    if (!wait_for(fd(), POLLERR, kSendTimeout))
        throw std::runtime_error("no stamp of a frame's sending within 1 s");
    sockaddr_ll from{};
    uint64_t at = 0;
    receive_message(fd(), buffer_, from, MSG_ERRQUEUE, [&](const cmsghdr& header) {
        if (is_stamp(header)) at = stamp_of(header);
    });
    if (!at) throw std::runtime_error("a message without a stamp on the error queue");
    return at;
}

uint64_t PacketSocket::send_timed(const Bytes& frame) {
    time_sending(true);
    send(frame);
    const uint64_t at = sent_at();
    time_sending(false);
    return at;
}

std::optional<Received> PacketSocket::receive(uint64_t timeout_ns) {
    if (!wait_for(fd(), POLLIN, timeout_ns)) return std::nullopt;
    Received received{};
    sockaddr_ll from{};
    const size_t size = receive_message(fd(), buffer_, from, 0, [&](const cmsghdr& header) {
        if (is_stamp(header)) received.at = stamp_of(header);
        if (header.cmsg_level == SOL_PACKET && header.cmsg_type == PACKET_AUXDATA) {
            tpacket_auxdata data;
            std::memcpy(&data, CMSG_DATA(const_cast<cmsghdr*>(&header)), sizeof(data));
            received.status = data.tp_status;
            received.full_size = data.tp_len;
        }
    });
    if (!received.at) throw std::runtime_error("a frame was received without a stamp");
    received.frame.assign(buffer_.begin(), buffer_.begin() + static_cast<std::ptrdiff_t>(size));
    received.pkttype = from.sll_pkttype;
    return received;
}

std::vector<Received> PacketSocket::receive_all(uint64_t quiet_ns) {
    std::vector<Received> all;
    while (auto received = receive(quiet_ns)) all.push_back(std::move(*received));
    return all;
}

}  // namespace pfqd::selftest
