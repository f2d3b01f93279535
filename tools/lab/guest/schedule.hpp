// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
//
// The open arrival process: every host sends messages at exponential gaps to a
// uniformly chosen other host, sizes drawn from the workload (the sampling
// rules of HomaModule's cp_node, seeded). Each host has its own stream of random
// numbers, so one seed gives the same messages whatever the network does.
#pragma once

#include <linux/lab_rpcload.h>

#include <functional>
#include <span>

#include "lab/common/spec.hpp"

namespace pfqd::lab {

// Calls sink with batches of messages in order of time; returns their number.
uint64_t generate_schedule(const LoadSpec& load, uint32_t hosts, uint64_t seed,
                           const std::function<void(std::span<const rpcload_message>)>& sink);

}  // namespace pfqd::lab
