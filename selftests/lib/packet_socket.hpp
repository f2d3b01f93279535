// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
//
// A packet socket on one interface: sends frames as they are, sees every frame
// that the interface receives, and knows both to the nanosecond. The kernel
// stamps a frame where the driver takes it over (sent) and where the driver
// hands it up (received); user space's own clock reads are later.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "lab/common/fd.hpp"
#include "selftests/lib/frame.hpp"
#include "selftests/lib/link.hpp"

namespace pfqd::selftest {

struct Received {
    Bytes frame;
    uint64_t at;         // ns, CLOCK_REALTIME as kept by the kernel
    uint8_t pkttype;     // PACKET_HOST, ...
    uint32_t status;     // TP_STATUS_* (checksum state)
    uint32_t full_size;  // of the packet in the kernel: more than an MTU is GRO's or GSO's
};

class PacketSocket {
  public:
    // Outgoing frames are only seen when asked for.
    explicit PacketSocket(const End& end, bool outgoing = false);

    void send(const Bytes& frame);
    // The kernel's stamp of when the oldest frame not asked about was sent.
    uint64_t sent_at();
    // Sends and returns sent_at(): for an idle link.
    uint64_t send_timed(const Bytes& frame);
    // Without this no frame is stamped at sending.
    void time_sending(bool on);
    void set_priority(uint32_t priority);
    void set_mark(uint32_t mark);
    void bypass_qdisc(bool on);

    // The next frame, or none when the link stays quiet for that long (virtual ns).
    std::optional<Received> receive(uint64_t timeout_ns = 100'000'000);
    // All frames until the link stays quiet for that long.
    std::vector<Received> receive_all(uint64_t quiet_ns = 100'000'000);

    int fd() const { return fd_.get(); }

  private:
    Fd fd_;
    Bytes buffer_;  // touched once: a page fault is dear in the guest
};

}  // namespace pfqd::selftest
