// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
#include "pfqdctl/turn.hpp"

#include <fmt/format.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <chrono>
#include <cstddef>
#include <cstring>
#include <thread>

namespace pfqd::ctl {

namespace {

constexpr auto kPatience = std::chrono::seconds(5);
constexpr auto kPause = std::chrono::milliseconds(10);

}  // namespace

Turn::Turn(int ifindex) : socket_(check(socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0), "local socket")) {
    const std::string name = fmt::format("pfqdctl.device.{}", ifindex);
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::memcpy(address.sun_path + 1, name.data(), name.size());  // a first byte of 0: abstract
    const auto size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
    const auto start = std::chrono::steady_clock::now();
    while (bind(socket_.get(), reinterpret_cast<const sockaddr*>(&address), size) < 0) {
        if (errno != EADDRINUSE) throw_errno("bind a local socket");
        if (std::chrono::steady_clock::now() - start > kPatience) return;
        std::this_thread::sleep_for(kPause);
    }
}

}  // namespace pfqd::ctl
