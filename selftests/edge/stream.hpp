// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
//
// A TCP connection over IPv4 or IPv6 on which known bytes go both ways at once.
#pragma once

#include <fcntl.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <string>
#include <utility>

#include "selftests/lib/inet.hpp"
#include "selftests/lib/kernel.hpp"
#include "selftests/lib/link.hpp"

namespace pfqd::selftest {

class Stream {
  public:
    Stream(const nl::Netns& client, const nl::Netns& server, const std::string& server_address,
           uint16_t port = 7000) {
        const Address address(server_address, port);
        Fd listener;
        {
            In inside(server);
            listener = tcp_socket(address);
            check(bind(listener.get(), address.get(), address.size), "bind");
            check(listen(listener.get(), 1), "listen");
        }
        {
            In inside(client);
            sides_[0].fd = tcp_socket(address);
            check(connect(sides_[0].fd.get(), address.get(), address.size), "connect to " + server_address);
        }
        sides_[1].fd = Fd(check(accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC), "accept"));
        for (const Side& side : sides_) check(fcntl(side.fd.get(), F_SETFL, O_NONBLOCK), "O_NONBLOCK");
    }

    // So many bytes each way; false if one is wrong or they take longer than that.
    bool exchange(uint64_t bytes, uint64_t within_ns) {
        const uint64_t start = monotonic_ns();
        bool right = true;
        while (sides_[0].received < bytes || sides_[1].received < bytes) {
            if (!right || monotonic_ns() - start > within_ns) return false;
            for (Side& side : sides_) {
                send_some(side, bytes);
                right = receive_some(side) && right;
            }
            sleep_ns(100'000);
        }
        return right;
    }

  private:
    struct Side {
        Fd fd{};
        uint64_t sent = 0, received = 0;
    };

    static Fd tcp_socket(const Address& address) {
        return Fd(check(socket(address.storage.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0), "TCP socket"));
    }

    // A period of no power of two: no shift goes unseen.
    static uint8_t byte_at(uint64_t position) { return static_cast<uint8_t>(position % 251); }

    static void send_some(Side& side, uint64_t bytes) {
        std::array<uint8_t, 16384> chunk;
        while (side.sent < bytes) {
            const size_t size = std::min<uint64_t>(chunk.size(), bytes - side.sent);
            for (size_t i = 0; i < size; i++) chunk[i] = byte_at(side.sent + i);
            const ssize_t done = send(side.fd.get(), chunk.data(), size, MSG_NOSIGNAL);
            if (done < 0 && errno == EAGAIN) return;
            side.sent += static_cast<uint64_t>(check(static_cast<int>(done), "send"));
        }
    }

    static bool receive_some(Side& side) {
        std::array<uint8_t, 16384> chunk;
        ssize_t size;
        while ((size = recv(side.fd.get(), chunk.data(), chunk.size(), 0)) > 0)
            for (ssize_t i = 0; i < size; i++)
                if (chunk[static_cast<size_t>(i)] != byte_at(side.received++)) return false;
        return size == 0 || errno == EAGAIN;
    }

    std::array<Side, 2> sides_;
};

}  // namespace pfqd::selftest
