// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
#include "selftests/lib/exact_stream.hpp"

#include <fcntl.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>

#include "selftests/lib/inet.hpp"
#include "selftests/lib/kernel.hpp"

namespace pfqd::selftest {

namespace {

constexpr size_t kChunk = 64 * 1024;
constexpr uint64_t kStep = 1'000'000;  // ns

// The byte at a position: a period of no power of two, so that no shift goes unseen.
uint8_t byte_at(uint64_t position) {
    return static_cast<uint8_t>(position % 251);
}

void no_waiting(int fd) {
    check(fcntl(fd, F_SETFL, check(fcntl(fd, F_GETFL), "F_GETFL") | O_NONBLOCK), "O_NONBLOCK");
}

}  // namespace

ExactStream::ExactStream(const End& sender, const End& receiver, const std::string& receiver_ipv4,
                         const StreamOptions& options) {
    std::tie(out_, in_) = tcp_connection(sender, receiver, receiver_ipv4, options.port);
    if (options.pacing)
        check(setsockopt(out_.get(), SOL_SOCKET, SO_MAX_PACING_RATE, &options.pacing, sizeof(options.pacing)),
              "SO_MAX_PACING_RATE");
    if (!options.congestion.empty())
        check(setsockopt(out_.get(), IPPROTO_TCP, TCP_CONGESTION, options.congestion.data(),
                         static_cast<socklen_t>(options.congestion.size())),
              "TCP_CONGESTION " + options.congestion);
    no_waiting(out_.get());
    no_waiting(in_.get());
}

void ExactStream::send_until(uint64_t total) {
    std::array<uint8_t, kChunk> chunk;
    while (sent_ < total) {
        const size_t size = std::min<uint64_t>(chunk.size(), total - sent_);
        for (size_t i = 0; i < size; i++) chunk[i] = byte_at(sent_ + i);
        const ssize_t done = ::send(out_.get(), chunk.data(), size, MSG_NOSIGNAL);
        if (done < 0 && errno == EAGAIN) return;
        sent_ += static_cast<uint64_t>(check(static_cast<int>(done), "send on a stream"));
    }
}

bool ExactStream::receive() {
    std::array<uint8_t, kChunk> chunk;
    for (;;) {
        const ssize_t size = recv(in_.get(), chunk.data(), chunk.size(), 0);
        if (size < 0 && errno == EAGAIN) return right_;
        if (check(static_cast<int>(size), "receive from a stream") == 0) return right_;
        for (ssize_t i = 0; i < size; i++)
            right_ &= chunk[static_cast<size_t>(i)] == byte_at(received_ + static_cast<uint64_t>(i));
        received_ += static_cast<uint64_t>(size);
    }
}

bool ExactStream::finish(uint64_t total, uint64_t within_ns) {
    const uint64_t start = monotonic_ns();
    while (received_ < total && monotonic_ns() - start < within_ns) {
        send_until(total);
        sleep_ns(kStep);
        receive();
    }
    return right_ && received_ == total;
}

}  // namespace pfqd::selftest
