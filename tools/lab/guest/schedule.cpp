// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
#include "lab/guest/schedule.hpp"

#include <queue>
#include <vector>

#include "lab/common/prng.hpp"
#include "lab/common/workload.hpp"

namespace pfqd::lab {

namespace {

// Few, large writes: one system call moves this many messages.
constexpr size_t kBatch = 2048;

class HostStream {
  public:
    HostStream(uint64_t seed, uint16_t host, double mean_gap_ns)
        : random_(seed * 65537 + host), host_(host), mean_gap_ns_(mean_gap_ns) {
        advance();
    }

    uint64_t next_ns() const { return static_cast<uint64_t>(at_ns_); }

    rpcload_message take(const Workload& sizes, uint32_t hosts) {
        rpcload_message message{};
        message.at_ns = next_ns();
        message.bytes = sizes.sample(random_.uniform());
        const auto other = static_cast<uint16_t>(random_.uniform() * (hosts - 1));
        message.src = host_;
        message.dst = other < host_ ? other : static_cast<uint16_t>(other + 1);
        message.pick = static_cast<uint32_t>(random_.uniform() * 4294967296.0);
        advance();
        return message;
    }

  private:
    void advance() { at_ns_ += random_.exponential(mean_gap_ns_); }

    Prng random_;
    uint16_t host_;
    double mean_gap_ns_;
    double at_ns_ = 0;
};

}  // namespace

uint64_t generate_schedule(const LoadSpec& load, uint32_t hosts, uint64_t seed,
                           const std::function<void(std::span<const rpcload_message>)>& sink) {
    std::vector<Workload::Point> points;
    for (const auto& [bytes, fraction] : load.sizes) points.push_back({bytes, fraction});
    const Workload sizes = Workload::from_points(points);
    const double mean_gap_ns = sizes.mean() * 8e9 / static_cast<double>(load.load_bps);

    std::vector<HostStream> streams;
    using Next = std::pair<uint64_t, uint16_t>;  // time, then host: ties have one order
    std::priority_queue<Next, std::vector<Next>, std::greater<>> queue;
    for (uint16_t host = 0; host < hosts; host++) {
        streams.emplace_back(seed, host, mean_gap_ns);
        queue.emplace(streams.back().next_ns(), host);
    }

    uint64_t count = 0;
    std::vector<rpcload_message> batch;
    batch.reserve(kBatch);
    while (queue.top().first < load.duration_ns) {
        const uint16_t host = queue.top().second;
        queue.pop();
        batch.push_back(streams[host].take(sizes, hosts));
        queue.emplace(streams[host].next_ns(), host);
        count++;
        if (batch.size() == kBatch) {
            sink(batch);
            batch.clear();
        }
    }
    if (!batch.empty()) sink(batch);
    return count;
}

}  // namespace pfqd::lab
