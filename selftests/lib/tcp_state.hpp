// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
//
// What TCP_INFO tells of a connection. In a file of its own: libnl brings the C
// library's older idea of it along, which lacks most.
#pragma once

#include <cstdint>

namespace pfqd::selftest {

struct TcpState {
    uint32_t min_rtt_us;  // ~0: no sample yet
    uint32_t retransmits;
    uint32_t cwnd;  // segments
    bool ecn;       // negotiated
};

TcpState tcp_state(int fd);

}  // namespace pfqd::selftest
