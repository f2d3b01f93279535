// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
#include "selftests/lib/tuple_flood.hpp"

#include <arpa/inet.h>
#include <linux/if_packet.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cstring>

namespace pfqd::selftest {

namespace {

constexpr size_t kBatch = 64;
constexpr int kSocketRoom = 256 << 20;  // bytes: the flood is stopped by the qdisc, not by its socket

// Offsets in a frame.
constexpr size_t kV4Source = 26, kV4Destination = 30, kV4Ports = 34, kV4Sum = 24;
constexpr size_t kV6Source = 34, kV6Destination = 50, kV6Ports = 54;

void put32(Bytes& frame, size_t at, uint32_t value) {
    const uint32_t network = htonl(value);
    std::memcpy(frame.data() + at, &network, sizeof(network));
}

void sum_ipv4(Bytes& frame) {
    frame[kV4Sum] = frame[kV4Sum + 1] = 0;
    uint32_t sum = 0;
    for (size_t i = ETH_HLEN; i < ETH_HLEN + 20; i += 2)
        sum += static_cast<uint32_t>(frame[i] << 8 | frame[i + 1]);
    while (sum >> 16) sum = (sum & 0xffff) + (sum >> 16);
    frame[kV4Sum] = static_cast<uint8_t>(~sum >> 8);
    frame[kV4Sum + 1] = static_cast<uint8_t>(~sum);
}

}  // namespace

TupleFlood::TupleFlood(const End& end, uint64_t seed, std::optional<uint32_t> source)
    : prng_(seed), source_(source) {
    In inside(end.netns());
    fd_ = Fd(check(socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, 0), "packet socket"));
    check(setsockopt(fd_.get(), SOL_SOCKET, SO_SNDBUFFORCE, &kSocketRoom, sizeof(kSocketRoom)),
          "SO_SNDBUFFORCE");
    sockaddr_ll address{};
    address.sll_family = AF_PACKET;
    address.sll_ifindex = end.ifindex();
    check(bind(fd_.get(), reinterpret_cast<sockaddr*>(&address), sizeof(address)), "bind a packet socket");
    for (size_t i = 0; i < kBatch; i++) {
        FrameOptions options;
        options.protocol = IPPROTO_UDP;
        options.ipv6 = i % 2;
        Bytes frame = make_frame(options);
        frame.resize(kFrameBytes);
        frames_.push_back(std::move(frame));
    }
}

void TupleFlood::renew(Bytes& frame) {
    const bool v6 = frame[12] == 0x86;
    const auto source = source_.value_or(static_cast<uint32_t>(prng_.bits()));
    put32(frame, v6 ? kV6Source : kV4Source, source);
    put32(frame, v6 ? kV6Destination : kV4Destination, static_cast<uint32_t>(prng_.bits()));
    put32(frame, v6 ? kV6Ports : kV4Ports, static_cast<uint32_t>(prng_.bits()));
    if (!v6) sum_ipv4(frame);
}

void TupleFlood::send(uint32_t frames) {
    std::array<iovec, kBatch> data;
    std::array<mmsghdr, kBatch> messages{};
    while (frames > 0) {
        const unsigned batch = std::min<unsigned>(frames, kBatch);
        for (unsigned i = 0; i < batch; i++) {
            renew(frames_[i]);
            data[i] = {frames_[i].data(), frames_[i].size()};
            messages[i].msg_hdr.msg_iov = &data[i];
            messages[i].msg_hdr.msg_iovlen = 1;
        }
        // One that the qdisc drops fails the call: it counts as sent and the rest follows.
        int done = sendmmsg(fd_.get(), messages.data(), batch, 0);
        if (done < 0 && errno != ENOBUFS) throw_errno("send a flood");
        if (done < 1) done = 1;
        frames -= static_cast<unsigned>(done);
        sent_ += static_cast<unsigned>(done);
    }
}

}  // namespace pfqd::selftest
