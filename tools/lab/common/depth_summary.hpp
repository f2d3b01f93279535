// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
//
// From samples of how deep ports are to what a run's file says of them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <span>

namespace pfqd::lab {

// Points of a series over time; more than a plot shows.
inline constexpr size_t kDepthPoints = 600;

// `values` are rows of one number for each port, a row for each period; at least one row.
//   period_ns, samples, ports
//   all       {p50, p99, max, mean}: of every port in every sample, bytes
//   deepest   {p50, p99, max, mean}: of the deepest port in every sample
//   port_max  [...]: of each port
//   series    {period_ns, deepest: [...], mean: [...]}: equal stretches of the time, at most
//             kDepthPoints; the deepest that any port was in each, and the mean over ports
// Percentiles are nearest rank.
nlohmann::json depth_summary(std::span<const uint32_t> values, size_t ports, uint64_t period_ns);

}  // namespace pfqd::lab
