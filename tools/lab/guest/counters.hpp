// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
//
// Everything that a run counts besides its messages.
#pragma once

#include <nlohmann/json.hpp>

#include "lab/guest/fabric.hpp"

namespace pfqd::lab {

struct Counters {
    SideCounters host;
    SideCounters tor;
    uint64_t retransmits = 0;  // TCP segments sent again
    uint64_t timeouts = 0;     // TCP retransmission timeouts

    Counters operator-(const Counters& before) const;
    // Frames that came into the switch and neither left it nor were counted as
    // dropped: 0 on a quiet network, or a qdisc or wire miscounts.
    int64_t unaccounted_frames() const;
};

Counters read_counters(const Fabric& fabric);
nlohmann::json counters_json(const Counters& counters);

}  // namespace pfqd::lab
