// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
#include "selftests/lib/inet.hpp"

#include <arpa/inet.h>
#include <poll.h>
#include <sys/socket.h>

#include <stdexcept>
#include <vector>

namespace pfqd::selftest {

sockaddr_in inet_address(const std::string& ipv4, uint16_t port) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    if (inet_pton(AF_INET, ipv4.c_str(), &address.sin_addr) != 1)
        throw std::invalid_argument("'" + ipv4 + "' is not an IPv4 address");
    return address;
}

Fd udp_socket(const End& end, uint16_t port) {
    In inside(end.netns());
    Fd fd(check(socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0), "UDP socket"));
    const sockaddr_in address = inet_address("0.0.0.0", port);
    check(bind(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)), "bind a UDP socket");
    return fd;
}

void udp_send(int fd, const std::string& ipv4, uint16_t port, size_t size) {
    const std::vector<char> data(size, 'u');
    const sockaddr_in address = inet_address(ipv4, port);
    check(static_cast<int>(sendto(fd, data.data(), data.size(), 0,
                                  reinterpret_cast<const sockaddr*>(&address), sizeof(address))),
          "send a datagram");
}

std::pair<Fd, Fd> tcp_connection(const End& client, const End& server, const std::string& server_address,
                                 uint16_t port) {
    const Address address(server_address, port);
    const int family = address.storage.ss_family, one = 1;
    Fd listener, connector;
    {
        In inside(server.netns());
        listener = Fd(check(socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0), "TCP socket"));
        check(setsockopt(listener.get(), SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one)), "SO_REUSEADDR");
        check(bind(listener.get(), address.get(), address.size), "bind a TCP socket");
        check(listen(listener.get(), 1), "listen");
    }
    {
        In inside(client.netns());
        connector = Fd(check(socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0), "TCP socket"));
        check(connect(connector.get(), address.get(), address.size), "connect to " + server_address);
    }
    Fd accepted(check(accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC), "accept"));
    return {std::move(connector), std::move(accepted)};
}

bool readable(int fd, uint64_t timeout_ns) {
    pollfd poll_fd{fd, POLLIN, 0};
    const timespec timeout{static_cast<time_t>(timeout_ns / 1'000'000'000),
                           static_cast<long>(timeout_ns % 1'000'000'000)};
    return check(ppoll(&poll_fd, 1, &timeout, nullptr), "poll") > 0;
}

}  // namespace pfqd::selftest
