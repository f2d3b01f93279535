// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
//
// UDP and TCP sockets of a test, each in the namespace of an End.
#pragma once

#include <netinet/in.h>

#include <cstdint>
#include <string>
#include <utility>

#include "lab/common/fd.hpp"
#include "selftests/lib/link.hpp"

namespace pfqd::selftest {

sockaddr_in inet_address(const std::string& ipv4, uint16_t port);

// Bound to that port, or with port 0 to any.
Fd udp_socket(const End& end, uint16_t port = 0);
void udp_send(int fd, const std::string& ipv4, uint16_t port, size_t size);

// An established connection: first the client's socket (on `client`), then the server's.
std::pair<Fd, Fd> tcp_connection(const End& client, const End& server, const std::string& server_ipv4,
                                 uint16_t port = 5001);

// Waits for something to read, at most that long in virtual time.
bool readable(int fd, uint64_t timeout_ns = 1'000'000'000);

}  // namespace pfqd::selftest
