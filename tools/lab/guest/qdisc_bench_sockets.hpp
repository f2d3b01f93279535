// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
//
// Established TCP sockets without anybody at the other end.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "lab/common/fd.hpp"

namespace pfqd::lab {

// The local address, and how much of the network is reached through its device.
inline constexpr uint32_t kBenchAddress = (10u << 24) + 1;  // 10.0.0.1
inline constexpr uint8_t kBenchPrefix = 8;

// `progress` is called now and then with how many there are.
std::vector<Fd> make_established_sockets(uint32_t count, const std::function<void(uint32_t)>& progress);

}  // namespace pfqd::lab
