// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
//
// A workload: how large messages are. It is a step function: a list of sizes, each
// with the fraction of messages that are at most that large. A sample is always one
// of the listed sizes, nothing between (the rule of HomaModule's cp_node).
//
// The host reads a workload from a file (tools/lab/workloads/*.txt, or a user's own)
// and hands its points to the guest, which samples them. Both ends check them.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace pfqd::lab {

class Workload {
  public:
    struct Point {
        uint32_t bytes;   // message size
        double fraction;  // of messages that are at most this large
    };

    // Largest message: RPCLOAD_MAX_BYTES of lab_rpcload.h.
    static constexpr uint32_t kMaxBytes = 64U << 20;
    static constexpr size_t kMaxPoints = 65536;

    // Both throw std::runtime_error that says where and what is accepted: sizes from
    // 1 B up, fractions in (0, 1], both rising, the last fraction 1.
    static Workload load(const std::filesystem::path& path);
    static Workload from_points(std::vector<Point> points);

    // The size for a uniform random number in [0, 1).
    uint32_t sample(double u) const;
    double mean() const;  // bytes
    const std::vector<Point>& points() const { return points_; }

  private:
    std::vector<Point> points_;
};

}  // namespace pfqd::lab
