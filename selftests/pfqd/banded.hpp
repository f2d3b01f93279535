// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
//
// Frames that carry a stamp, as they come from a host that stamps.
#pragma once

#include "selftests/pfqd/port.hpp"

namespace pfqd::selftest {

inline uint8_t dsfield_of(uint8_t band, uint8_t rtt_class = PFQD_RTT_SHORT) {
    return static_cast<uint8_t>(PFQD_STAMP_DSCP(PFQD_STAMP_CODE(rtt_class, band)) << 2);
}

// The n-th data segment of a flow, with a stamp.
inline Bytes banded(char flow, uint32_t n, uint8_t band, size_t payload = kFull) {
    FrameOptions options;
    options.sport = static_cast<uint16_t>(1000 + flow);
    options.payload = payload;
    options.tag = n;
    options.dsfield = dsfield_of(band);
    return make_frame(options);
}

inline void queue_banded(Port& port, char flow, uint32_t first, uint32_t count, uint8_t band,
                         size_t payload = kFull) {
    for (uint32_t i = first; i < first + count; i++) port.queue(banded(flow, i, band, payload));
}

inline PfqdOptions with_completion() {
    return {.demote = 60'000'000, .completion = PFQD_SWITCH_ON};
}

}  // namespace pfqd::selftest
