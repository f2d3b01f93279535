// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
#include "selftests/lib/gso_socket.hpp"

#include <arpa/inet.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include <cerrno>

namespace pfqd::selftest {

namespace {

// As in <linux/virtio_net.h>, which is not C++.
struct VnetHeader {
    uint8_t flags, gso_type;
    uint16_t hdr_len, gso_size, csum_start, csum_offset;
};
constexpr uint8_t kNeedsChecksum = 1, kGsoTcpV4 = 1, kGsoTcpV6 = 4;

constexpr size_t kTcpHeader = 20;
constexpr size_t kTcpChecksum = 16;  // offset in the TCP header

uint32_t sum16(const Bytes& frame, size_t from, size_t size) {
    uint32_t sum = 0;
    for (size_t i = from; i < from + size; i += 2) sum += static_cast<uint32_t>(frame[i] << 8 | frame[i + 1]);
    return sum;
}

// The kernel adds the rest of the sum for each segment.
void put_pseudo_header_sum(Bytes& frame, size_t transport, bool ipv6) {
    const size_t addresses = ipv6 ? 32 : 8;
    uint32_t sum = sum16(frame, transport - addresses, addresses);
    sum += IPPROTO_TCP + static_cast<uint32_t>(frame.size() - transport);
    while (sum >> 16) sum = (sum & 0xffff) + (sum >> 16);
    frame[transport + kTcpChecksum] = static_cast<uint8_t>(sum >> 8);
    frame[transport + kTcpChecksum + 1] = static_cast<uint8_t>(sum);
}

}  // namespace

GsoSocket::GsoSocket(const End& end) {
    In inside(end.netns());
    fd_ = Fd(check(socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, 0), "packet socket"));
    const int one = 1, room = 256 << 20;
    check(setsockopt(fd_.get(), SOL_SOCKET, SO_SNDBUFFORCE, &room, sizeof(room)), "SO_SNDBUFFORCE");
    check(setsockopt(fd_.get(), SOL_PACKET, PACKET_VNET_HDR, &one, sizeof(one)), "PACKET_VNET_HDR");
    sockaddr_ll address{};
    address.sll_family = AF_PACKET;
    address.sll_ifindex = end.ifindex();
    check(bind(fd_.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)),
          "bind a packet socket");
}

void GsoSocket::set_priority(int priority) {
    check(setsockopt(fd_.get(), SOL_SOCKET, SO_PRIORITY, &priority, sizeof(priority)), "SO_PRIORITY");
}

void GsoSocket::send(Bytes frame, uint16_t segment, bool ipv6) {
    const size_t transport = ETH_HLEN + (ipv6 ? 40 : 20);
    put_pseudo_header_sum(frame, transport, ipv6);
    VnetHeader header{};
    header.flags = kNeedsChecksum;
    header.gso_type = ipv6 ? kGsoTcpV6 : kGsoTcpV4;
    header.hdr_len = static_cast<uint16_t>(transport + kTcpHeader);
    header.gso_size = segment;
    header.csum_start = static_cast<uint16_t>(transport);
    header.csum_offset = kTcpChecksum;
    const iovec parts[] = {{&header, sizeof(header)}, {frame.data(), frame.size()}};
    const auto sent = static_cast<int>(writev(fd_.get(), parts, 2));
    if (sent < 0 && errno == ENOBUFS) return;  // a qdisc dropped it, and counts that
    check(sent, "send a GSO packet");
}

}  // namespace pfqd::selftest
