// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
//
// The depth of the switch's ports over time, sampled by depth.ko.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>

#include "lab/common/fd.hpp"
#include "lab/guest/fabric.hpp"

namespace pfqd::lab {

class DepthSeries {
  public:
    // Looks at every port to a host of the rack once a period, for that long, from now on.
    DepthSeries(const Fabric& fabric, uint64_t period_ns, uint64_t duration_ns);

    // Stops looking; see depth_summary(). Throws when there was no time for a sample.
    nlohmann::json json();

  private:
    Fd fd_;
    size_t ports_;
    uint64_t period_ns_;
};

}  // namespace pfqd::lab
