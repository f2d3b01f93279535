// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
#include "lab/common/ideal.hpp"

#include <algorithm>
#include <stdexcept>
#include <string>

namespace pfqd::lab {

namespace {

// Bounds that keep every sum below 2^64 ps (213 days).
constexpr uint64_t kMinRate = 1'000;               // bit/s
constexpr uint64_t kMaxRate = 10'000'000'000'000;  // bit/s
constexpr uint64_t kMaxDelayNs = 10'000'000'000;
constexpr size_t kMaxLinks = 64;
constexpr uint64_t kMaxMtu = 65535;  // IPv4's total length

void expect(const char* field, uint64_t value, uint64_t low, uint64_t high) {
    if (value < low || value > high)
        throw std::runtime_error("ideal time: " + std::string(field) + " is " + std::to_string(value) +
                                 ", accepted are " + std::to_string(low) + " to " + std::to_string(high));
}

uint64_t serialisation_ps(uint64_t bytes, uint64_t rate_bps) {
    constexpr unsigned __int128 kBitPsPerByteSecond = 8'000'000'000'000;  // 8 bit, 1e12 ps
    const unsigned __int128 ps = bytes * kBitPsPerByteSecond / rate_bps;
    if (ps > UINT64_MAX / 4) throw std::runtime_error("ideal time: a message of more than 50 days");
    return static_cast<uint64_t>(ps);
}

}  // namespace

IdealTime::IdealTime(std::vector<PathLink> path, Framing framing)
    : path_(std::move(path)), framing_(framing) {
    expect("number of links", path_.size(), 1, kMaxLinks);
    expect("headers", framing_.headers, 0, kMaxMtu - 1);
    expect("MTU", framing_.mtu, framing_.headers + 1, kMaxMtu);
    for (size_t i = 0; i < path_.size(); i++) {
        expect("link rate (bit/s)", path_[i].rate_bps, kMinRate, kMaxRate);
        expect("link delay (ns)", path_[i].delay_ns, 0, kMaxDelayNs);
        delay_ps_ += path_[i].delay_ns * 1000;
        if (path_[i].rate_bps < path_[slowest_].rate_bps) slowest_ = i;
    }
}

IdealTime IdealTime::of_network(const NetworkSpec& network) {
    const PathLink link{network.rate_bps, network.delay_ns};
    return IdealTime({link, link}, tcp_framing(network.mtu, network.timestamps));
}

uint64_t IdealTime::wire_bytes(uint64_t payload) const {
    return std::max<uint64_t>(payload + framing_.headers + kEthernetBytes, kMinWireBytes);
}

uint64_t IdealTime::picoseconds(uint64_t bytes) const {
    expect("message size", bytes, 1, uint64_t{1} << 40);
    const uint64_t segment = framing_.mtu - framing_.headers;
    const uint64_t full = (bytes - 1) / segment;  // frames before the last
    const uint64_t first = wire_bytes(std::min(bytes, segment));
    const uint64_t all = full * wire_bytes(segment) + wire_bytes(bytes - full * segment);

    uint64_t ps = delay_ps_;
    for (size_t i = 0; i < path_.size(); i++)
        ps += serialisation_ps(i == slowest_ ? all : first, path_[i].rate_bps);
    return ps;
}

}  // namespace pfqd::lab
