// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
//
// Four system calls a connection (a system call is 23 us of wall time in the
// guest): socket, bind, connect, accept. The client's port says which
// connection of which pair it is, because a qdisc may reorder the handshakes of
// different flows.
#include "lab/guest/connections.hpp"

#include <arpa/inet.h>
#include <linux/tcp.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include <stdexcept>

namespace pfqd::lab {

namespace {

constexpr uint16_t kServerPort = 4000;
constexpr uint16_t kFirstClientPort = 10000;
constexpr int kBacklog = 4096;
constexpr uint32_t kKernelInitcwnd = 10;

sockaddr_in address(uint32_t ip, uint16_t port) {
    sockaddr_in addr{};
    addr.sin_family = AF_INET;
    addr.sin_addr.s_addr = htonl(ip);
    addr.sin_port = htons(port);
    return addr;
}

Fd bound_socket(uint16_t port, int flags) {
    Fd fd(check(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | flags, 0), "socket"));
    const sockaddr_in any = address(INADDR_ANY, port);
    check(bind(fd.get(), reinterpret_cast<const sockaddr*>(&any), sizeof(any)), "bind");
    return fd;
}

Fd listener() {
    Fd fd = bound_socket(kServerPort, 0);
    check(listen(fd.get(), kBacklog), "listen");
    return fd;
}

void raise_file_limit(size_t files) {
    const rlimit limit{files, files};
    check(setrlimit(RLIMIT_NOFILE, &limit), "raise the limit of open files to " + std::to_string(files));
}

// Accepts what has arrived at host dst and files it by the client's address.
void accept_all(const Fabric& fabric, const Fd& server, uint16_t dst, uint32_t per_pair,
                std::vector<Connection>& connections) {
    const uint32_t hosts = static_cast<uint32_t>(fabric.hosts().size());
    for (uint32_t n = 0; n < (hosts - 1) * per_pair; n++) {
        sockaddr_in peer{};
        socklen_t size = sizeof(peer);
        Fd fd(
            check(accept4(server.get(), reinterpret_cast<sockaddr*>(&peer), &size, SOCK_CLOEXEC), "accept"));
        const uint32_t src = fabric.host_of(ntohl(peer.sin_addr.s_addr));
        const uint32_t index = ntohs(peer.sin_port) - kFirstClientPort - dst * per_pair;
        Connection& connection = connections.at((src * hosts + dst) * per_pair + index);
        if (src == dst || index >= per_pair || connection.rx)
            throw std::runtime_error("unexpected connection accepted at host " + std::to_string(dst));
        connection.rx = std::move(fd);
    }
}

}  // namespace

std::vector<Connection> open_connections(const Fabric& fabric, uint32_t per_pair) {
    const auto hosts = static_cast<uint16_t>(fabric.hosts().size());
    raise_file_limit(static_cast<size_t>(hosts) * hosts * per_pair * 2 + 1024);

    std::vector<Fd> servers;
    for (const Host& host : fabric.hosts()) {
        host.netns.enter();
        servers.push_back(listener());
    }

    std::vector<Connection> all(static_cast<size_t>(hosts) * hosts * per_pair);
    for (uint16_t src = 0; src < hosts; src++) {
        fabric.hosts()[src].netns.enter();
        for (uint16_t dst = 0; dst < hosts; dst++) {
            if (src == dst) continue;
            const sockaddr_in to = address(fabric.hosts()[dst].ip, kServerPort);
            for (uint32_t n = 0; n < per_pair; n++) {
                Fd fd =
                    bound_socket(static_cast<uint16_t>(kFirstClientPort + dst * per_pair + n), SOCK_NONBLOCK);
                if (connect(fd.get(), reinterpret_cast<const sockaddr*>(&to), sizeof(to)) < 0 &&
                    errno != EINPROGRESS)
                    throw_errno("connect");
                all[(src * hosts + dst) * per_pair + n] = Connection{std::move(fd), Fd(), src, dst};
            }
        }
    }
    for (uint16_t dst = 0; dst < hosts; dst++) accept_all(fabric, servers[dst], dst, per_pair, all);

    std::erase_if(all, [](const Connection& connection) { return !connection.tx; });
    return all;
}

void check_connections(const NetworkSpec& spec, const std::vector<Connection>& connections) {
    const bool ecn = spec.ecn == 1 || spec.route_ecn || spec.cc == "dctcp";
    const uint32_t window = spec.initcwnd ? spec.initcwnd : kKernelInitcwnd;
    for (const Connection& connection : connections) {
        tcp_info info{};
        socklen_t size = sizeof(info);
        check(getsockopt(connection.tx.get(), IPPROTO_TCP, TCP_INFO, &info, &size), "TCP_INFO");
        const bool has_ecn = info.tcpi_options & TCPI_OPT_ECN;
        if (has_ecn != ecn)
            throw std::runtime_error(std::string("a connection ") +
                                     (ecn ? "did not negotiate" : "negotiated") +
                                     " ECN, against the configuration");
        // A lost SYN costs the first window.
        if (spec.loss_ppm == 0 && info.tcpi_snd_cwnd != window)
            throw std::runtime_error("a connection's first window is " + std::to_string(info.tcpi_snd_cwnd) +
                                     " segments, not " + std::to_string(window));
    }
}

}  // namespace pfqd::lab
