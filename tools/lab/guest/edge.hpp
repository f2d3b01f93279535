// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
//
// The datacenter's edge, in front of the ports to the internet: pfqdctl edge attach.
#pragma once

#include "lab/guest/fabric.hpp"

namespace pfqd::lab {

// On every port of the switch behind which a host of the internet is. Throws with
// pfqdctl's words when that fails.
void attach_edge(const Fabric& fabric);

}  // namespace pfqd::lab
