// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
//
// Bulk TCP connections that run while a test looks at the queue: each side is a
// process of its own that writes, or reads and counts, until it is stopped.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "selftests/lib/link.hpp"

namespace pfqd::selftest {

struct BulkOptions {
    uint16_t port = 6000;
    std::string congestion{};  // TCP_CONGESTION, empty: the namespace's
    uint8_t tos = 0;           // IP_TOS of the sender
    uint64_t pacing = 0;       // SO_MAX_PACING_RATE, bytes/s; 0: none
};

class BulkFlow {
  public:
    BulkFlow(const End& sender, const End& receiver, const std::string& receiver_ipv4,
             const BulkOptions& options);
    ~BulkFlow();
    BulkFlow(BulkFlow&& other) noexcept;
    BulkFlow& operator=(BulkFlow&&) = delete;

    // Bytes that the receiving process has read so far.
    uint64_t delivered() const;

  private:
    struct Shared;  // memory that both processes and the test see
    struct Unmap {
        void operator()(Shared* shared) const;
    };
    std::unique_ptr<Shared, Unmap> shared_;
    std::vector<pid_t> children_;
};

}  // namespace pfqd::selftest
