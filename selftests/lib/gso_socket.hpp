// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
//
// A packet socket that sends GSO packets, as a virtual machine's network card does.
#pragma once

#include <cstdint>

#include "lab/common/fd.hpp"
#include "selftests/lib/frame.hpp"
#include "selftests/lib/link.hpp"

namespace pfqd::selftest {

class GsoSocket {
  public:
    explicit GsoSocket(const End& end);

    void set_priority(int priority);

    // A TCP frame (make_frame's, of any length up to 64 KB) that stands for segments
    // of that many bytes of payload each.
    void send(Bytes frame, uint16_t segment, bool ipv6 = false);

  private:
    Fd fd_;
};

}  // namespace pfqd::selftest
