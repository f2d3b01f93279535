// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
//
// The qdisc bench in the guest: what does one enqueue and one dequeue cost?
//
// Every contender sits on a device of its own. It is made anew for each group (a
// shape of backlog and a kind of packets) and keeps what it keeps from one backlog
// to the next within the group. A round gives each of them a turn: one backlog that
// is not counted, then as many as give enough operations. Every second round goes
// through them backwards. The first round of a group is thrown away.
#pragma once

#include <nlohmann/json.hpp>

#include "lab/common/spec.hpp"

namespace pfqd::lab {

nlohmann::json run_qdisc_bench(const BenchSpec& spec);

}  // namespace pfqd::lab
