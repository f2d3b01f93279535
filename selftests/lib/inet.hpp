// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
//
// UDP and TCP sockets of a test, each in the namespace of an End.
#pragma once

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <cstdint>
#include <cstring>
#include <stdexcept>
#include <string>
#include <utility>

#include "lab/common/fd.hpp"
#include "selftests/lib/link.hpp"

namespace pfqd::selftest {

// IPv4 or IPv6, as it is written.
struct Address {
    sockaddr_storage storage{};
    socklen_t size = 0;

    Address(const std::string& text, uint16_t port) {
        sockaddr_in v4{};
        sockaddr_in6 v6{};
        v4.sin_family = AF_INET;
        v6.sin6_family = AF_INET6;
        v4.sin_port = v6.sin6_port = htons(port);
        if (inet_pton(AF_INET, text.c_str(), &v4.sin_addr) == 1)
            set(v4);
        else if (inet_pton(AF_INET6, text.c_str(), &v6.sin6_addr) == 1)
            set(v6);
        else
            throw std::invalid_argument("'" + text + "' is no address");
    }
    const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&storage); }

  private:
    template <class T>
    void set(const T& address) {
        std::memcpy(&storage, &address, sizeof(address));
        size = sizeof(address);
    }
};

sockaddr_in inet_address(const std::string& ipv4, uint16_t port);

// Bound to that port, or with port 0 to any.
Fd udp_socket(const End& end, uint16_t port = 0);
void udp_send(int fd, const std::string& ipv4, uint16_t port, size_t size);

// An established connection: first the client's socket (on `client`), then the server's.
std::pair<Fd, Fd> tcp_connection(const End& client, const End& server, const std::string& server_address,
                                 uint16_t port = 5001);

// Waits for something to read, at most that long in virtual time.
bool readable(int fd, uint64_t timeout_ns = 1'000'000'000);

}  // namespace pfqd::selftest
