// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
//
// What some runs measure besides their messages: how deep the switch's ports were, bulk
// flows to the internet, and what pfqd counts of its bands and classes. Parts of the
// run file's "counters"; a run without one has nothing there.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "lab/host/results_field.hpp"

namespace pfqd::lab {

// See tools/lab/common/depth_summary.hpp. Bytes.
struct DepthValues {
    uint64_t p50 = 0, p99 = 0, max = 0, mean = 0;
};
struct DepthMeasure {
    uint64_t period_ns = 0, samples = 0;
    DepthValues all, deepest;
    std::vector<uint64_t> port_max;
    uint64_t series_period_ns = 0;
    std::vector<uint64_t> series_deepest, series_mean;
};

// See tools/lab/guest/bulk.hpp.
struct BulkFlow {
    double goodput_bps = 0, late_goodput_bps = 0;
    uint64_t retransmits = 0, ce = 0, min_rtt_us = 0;
    bool ecn = false;
};
struct InternetMeasure {
    uint64_t interval_ns = 0;
    std::vector<BulkFlow> in, out;
};

// Packets by time spent queued, as <linux/pkt_sch_pfqd.h> says of PFQD_TIER_SOJOURN.
struct Sojourn {
    uint64_t packets = 0;
    std::vector<uint64_t> histogram;

    Sojourn& operator+=(const Sojourn& other);
    // The upper edge of the histogram's element in which the nearest-rank percentile lies,
    // ns. No value: no packets; infinity: the element has no upper edge.
    std::optional<double> at_most_ns(unsigned percent) const;
};
// Marked, and dropped, for being above a budget.
struct ClassCounts {
    uint64_t packets = 0, marks = 0, drops = 0;
};
inline constexpr std::array kClassNames = {"short", "long", "none"};
inline constexpr std::array kBandNames = {"0", "1", "2", "3", "4", "5", "none"};

// All pfqd of one side of the links.
struct PfqdMeasure {
    std::array<ClassCounts, kClassNames.size()> classes;
    std::array<Sojourn, kBandNames.size()> bands;
    Sojourn control;
    uint64_t serves_banded = 0, serves_ordinary = 0;
    uint64_t drops_limit = 0, drops_memlimit = 0;  // of all classes, because the qdisc was full

    PfqdMeasure& operator+=(const PfqdMeasure& other);
};

struct Measures {
    std::optional<DepthMeasure> depth;
    std::optional<InternetMeasure> internet;
    std::map<std::string, PfqdMeasure> pfqd;  // "host", "tor"
};

// From "counters"; throws when a part is there and is not what it should be.
Measures measures_from(const Field& counters);

}  // namespace pfqd::lab
