// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
//
// TCP_REPAIR, made for moving connections between machines: connect() then makes
// an established socket at once and sends nothing. The sockets stay in that mode, in
// which closing them sends nothing either; everything that a qdisc looks at (state,
// hash, ports, pacing rate) is as in any established socket.
#include "lab/guest/qdisc_bench_sockets.hpp"

#include <arpa/inet.h>
#include <linux/tcp.h>
#include <netinet/in.h>
#include <sys/resource.h>
#include <sys/socket.h>

namespace pfqd::lab {

namespace {

constexpr uint32_t kFirstPeer = (10u << 24) + (64u << 16) + 1;  // 10.64.0.1
constexpr uint16_t kPeerPort = 4000;
// Far fewer than there are local ports, so that a free one is found at once.
constexpr uint32_t kPerPeer = 4096;
constexpr uint32_t kProgressStep = 2000;
constexpr uint32_t kOtherFiles = 256;

Fd make_established_socket(uint32_t number) {
    Fd fd(check(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), "socket"));
    const int on = TCP_REPAIR_ON;
    check(setsockopt(fd.get(), IPPROTO_TCP, TCP_REPAIR, &on, sizeof(on)), "TCP_REPAIR");
    sockaddr_in peer{};
    peer.sin_family = AF_INET;
    peer.sin_addr.s_addr = htonl(kFirstPeer + number / kPerPeer);
    peer.sin_port = htons(kPeerPort);
    check(connect(fd.get(), reinterpret_cast<const sockaddr*>(&peer), sizeof(peer)), "connect");
    return fd;
}

}  // namespace

std::vector<Fd> make_established_sockets(uint32_t count, const std::function<void(uint32_t)>& progress) {
    const rlimit files{count + kOtherFiles, count + kOtherFiles};
    check(setrlimit(RLIMIT_NOFILE, &files), "raise the limit of open files");
    std::vector<Fd> sockets;
    sockets.reserve(count);
    for (uint32_t i = 0; i < count; i++) {
        sockets.push_back(make_established_socket(i));
        if (i % kProgressStep == 0) progress(i);
    }
    return sockets;
}

}  // namespace pfqd::lab
