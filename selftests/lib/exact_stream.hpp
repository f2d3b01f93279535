// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
//
// A TCP connection on which every byte is known: what arrives is compared with what
// was sent, position by position. It is driven from the test's own loop, so a test can
// do things to the queue between two steps.
#pragma once

#include <cstdint>
#include <string>

#include "lab/common/fd.hpp"
#include "selftests/lib/link.hpp"

namespace pfqd::selftest {

struct StreamOptions {
    uint16_t port = 6500;
    uint64_t pacing = 0;       // SO_MAX_PACING_RATE, bytes/s; 0: none
    std::string congestion{};  // TCP_CONGESTION; empty: the namespace's
};

class ExactStream {
  public:
    ExactStream(const End& sender, const End& receiver, const std::string& receiver_ipv4,
                const StreamOptions& options);

    // Up to that many bytes are sent in all; none waits for the socket.
    void send_until(uint64_t total);
    // Reads what is there. False once a byte was not the one that was sent.
    bool receive();

    uint64_t sent() const { return sent_; }
    uint64_t received() const { return received_; }

    // Sends and receives until all `total` bytes have arrived; false when that takes
    // longer than so much virtual time, or a byte is wrong.
    bool finish(uint64_t total, uint64_t within_ns);

  private:
    Fd out_, in_;
    uint64_t sent_ = 0, received_ = 0;
    bool right_ = true;
};

}  // namespace pfqd::selftest
