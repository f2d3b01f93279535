// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
//
// Bulk flows between the hosts of the rack and those on the internet, while messages
// are sent: paper 6.3. Each internet host sends to one host of the rack and receives
// from it, with CUBIC and as fast as TCP lets it. A flow's two ends are processes of
// their own, which cost no virtual time.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <memory>
#include <nlohmann/json.hpp>
#include <vector>

#include "lab/guest/fabric.hpp"

namespace pfqd::lab {

class BulkFlows {
  public:
    // Connects them; none without hosts on the internet. Throws when a flow has
    // ECN that should have none, or the other way round.
    BulkFlows(const Fabric& fabric, const NetworkSpec& spec);
    ~BulkFlows();
    BulkFlows(const BulkFlows&) = delete;
    BulkFlows& operator=(const BulkFlows&) = delete;

    bool any() const { return !flows_.empty(); }
    // They send until end().
    void start();
    // At some time in between, ns since start().
    void half(uint64_t ns);
    // So many ns after start(); the flows end. {"interval_ns", "in": [...], "out": [...]}
    // with, for each flow in the order of the internet's hosts, "goodput_bps" (of bytes that
    // were acknowledged), "late_goodput_bps" (the same since half(), so without slow
    // start), "retransmits" (segments), "ce" (segments that arrived marked),
    // "min_rtt_us", "ecn", and why it was not faster: "cwnd" (segments, at the end),
    // "rwnd_limited_us" and "sndbuf_limited_us".
    nlohmann::json end(uint64_t ns);

  private:
    struct Flow;
    void connect(const Host& from, const Host& to, bool in, uint16_t port);
    void stop();

    std::vector<std::unique_ptr<Flow>> flows_;
    uint64_t half_ns_ = 0;
};

}  // namespace pfqd::lab
