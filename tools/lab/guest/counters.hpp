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
};

Counters read_counters(const Fabric& fabric);
// What was counted since `before`.
nlohmann::json counters_json(const Counters& before, const Counters& after);

}  // namespace pfqd::lab
