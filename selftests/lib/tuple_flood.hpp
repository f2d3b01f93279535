// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
//
// A flood of small UDP frames, each of a tuple of its own: random ports and
// destinations, of random sources or of one, IPv4 and IPv6 in turn. Sent in batches,
// so that a million of them is a matter of seconds.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "lab/common/fd.hpp"
#include "lab/common/prng.hpp"
#include "selftests/lib/frame.hpp"
#include "selftests/lib/link.hpp"

namespace pfqd::selftest {

class TupleFlood {
  public:
    // Bytes of a frame: the smallest that hold an IPv6 and a UDP header.
    static constexpr size_t kFrameBytes = 62;

    // All from one source address, or from random ones.
    TupleFlood(const End& end, uint64_t seed, std::optional<uint32_t> source = {});

    // That many frames at once; they are for nobody, so no receiver looks at them.
    void send(uint32_t frames);
    uint64_t sent() const { return sent_; }

  private:
    void renew(Bytes& frame);

    Fd fd_;
    lab::Prng prng_;
    std::optional<uint32_t> source_;
    std::vector<Bytes> frames_;
    uint64_t sent_ = 0;
};

}  // namespace pfqd::selftest
