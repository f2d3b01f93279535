// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
#include "lab/guest/qdisc_bench.hpp"

#include <fcntl.h>
#include <linux/lab_qbench.h>
#include <sys/ioctl.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <map>
#include <stdexcept>

#include "lab/common/fd.hpp"
#include "lab/common/launch.hpp"
#include "lab/guest/mounts.hpp"
#include "lab/guest/qdisc_bench_ports.hpp"
#include "lab/guest/qdisc_bench_sockets.hpp"

namespace pfqd::lab {

namespace {

// A round measures at least so many operations of each contender.
constexpr uint32_t kOperations = 50'000;
// A batch that took so many times the median, and so long, was not ours alone: the
// machine ran something else. Work that a qdisc puts off and does at once stays far
// below.
constexpr uint32_t kForeign = 20;
constexpr uint64_t kForeignUs = 100;
// Shares of the progress line.
constexpr int kSocketsPermille = 250;

constexpr std::array kKinds = {"owned", "forwarded", "unhashed"};
static_assert(kKinds.size() == __QBENCH_PACKETS_MAX);

uint32_t kind_number(const std::string& name) {
    const auto found = std::find(kKinds.begin(), kKinds.end(), name);
    if (found == kKinds.end())
        throw std::runtime_error("packets '" + name + "' are none of owned, forwarded, unhashed");
    return static_cast<uint32_t>(found - kKinds.begin());
}

void progress(double fraction) {
    std::printf("%s%d\n", kProgressLine, static_cast<int>(fraction * 1000));
    std::fflush(stdout);
}

// Ticks and operations, without the batches that were not ours alone.
struct Sum {
    uint64_t ticks = 0, operations = 0, batches = 0, foreign = 0;

    void add(const std::vector<uint32_t>& batches_ticks, uint32_t total, uint32_t batch,
             uint64_t foreign_ticks) {
        std::vector<uint32_t> sorted = batches_ticks;
        std::nth_element(sorted.begin(), sorted.begin() + sorted.size() / 2, sorted.end());
        const uint64_t most = std::max(uint64_t{sorted[sorted.size() / 2]} * kForeign, foreign_ticks);
        for (size_t i = 0; i < batches_ticks.size(); i++) {
            batches++;
            if (batches_ticks[i] > most) {
                foreign++;
                continue;
            }
            ticks += batches_ticks[i];
            operations += std::min(batch, total - static_cast<uint32_t>(i) * batch);
        }
    }
};

class Bench {
  public:
    explicit Bench(const BenchSpec& spec) : spec_(spec) {
        load_module("sch_pfqd");
        load_module("qbench");
        // Nothing but the bench's packets is to reach the qdiscs.
        write_file("/proc/sys/net/ipv6/conf/all/disable_ipv6", "1");
        write_file("/proc/sys/net/ipv6/conf/default/disable_ipv6", "1");
        ports_ = make_bench_ports(socket_);
        device_ = Fd(check(open("/dev/qbench", O_RDWR | O_CLOEXEC), "open /dev/qbench"));
        make_sockets();
        check(ioctl(device_.get(), QBENCH_CLOCKS, &clocks_), "read the clocks");
    }

    nlohmann::json measure() {
        const nlohmann::json memory = measure_memory();
        const double groups = static_cast<double>(spec_.shapes.size() * spec_.kinds.size());
        nlohmann::json out = nlohmann::json::array();
        for (const BenchShape& shape : spec_.shapes)
            for (const std::string& kind : spec_.kinds) {
                out.push_back(
                    measure_group(shape, kind, static_cast<double>(out.size()) / groups, 1 / groups));
            }
        return {{"status", "ok"},
                {"groups", out},
                {"memory", memory},
                {"truesize", truesize_},
                {"frame", frame_},
                {"clock_ns", clocks_.ktime_ps / 1000.0},
                {"ticks_per_ns", static_cast<double>(clocks_.ticks_per_ms) / 1e6},
                {"overhead_ns", clocks_.overhead / (static_cast<double>(clocks_.ticks_per_ms) / 1e6)}};
    }

    // Backlog after backlog on one contender; where its code lies goes to kallsyms.txt.
    nlohmann::json run_for_profile() {
        const auto port = std::find_if(ports_.begin(), ports_.end(),
                                       [&](const BenchPort& p) { return p.name == spec_.profile; });
        if (port == ports_.end()) throw std::runtime_error("no contender '" + spec_.profile + "'");
        run(*port, spec_.shapes.at(0), spec_.kinds.at(0));
        write_file(std::string(kOutDir) + "/kallsyms.txt", read_file("/proc/kallsyms"));
        std::printf("%s\n", kReadyLine);
        std::fflush(stdout);
        const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(spec_.profile_s);
        while (std::chrono::steady_clock::now() < end) run(*port, spec_.shapes.at(0), spec_.kinds.at(0));
        return {{"status", "ok"}};
    }

  private:
    struct Measured {
        Sum enqueue, dequeue;
    };

    void make_sockets() {
        if (std::find(spec_.kinds.begin(), spec_.kinds.end(), "owned") == spec_.kinds.end()) return;
        uint32_t count = 0;
        for (const BenchShape& shape : spec_.shapes) count = std::max(count, shape.flows);
        sockets_ = make_established_sockets(
            count, [&](uint32_t made) { progress(kSocketsPermille / 1000.0 * made / count); });
        std::vector<int32_t> fds;
        for (const Fd& fd : sockets_) fds.push_back(fd.get());
        qbench_sockets request{reinterpret_cast<uintptr_t>(fds.data()), count, 0};
        check(ioctl(device_.get(), QBENCH_SET_SOCKETS, &request), "hand the sockets to qbench");
    }

    // One backlog, in and out; throws unless everything that went in came out.
    qbench_run run(const BenchPort& port, const BenchShape& shape, const std::string& kind) {
        const size_t batches = (shape.packets + spec_.batch - 1) / spec_.batch;
        enqueue_ticks_.assign(batches, 0);
        dequeue_ticks_.assign(batches, 0);
        qbench_run run{};
        run.enqueue_ticks = reinterpret_cast<uintptr_t>(enqueue_ticks_.data());
        run.dequeue_ticks = reinterpret_cast<uintptr_t>(dequeue_ticks_.data());
        run.ifindex = static_cast<uint32_t>(port.ifindex);
        run.kind = kind_number(kind);
        run.flows = shape.flows;
        run.packets = shape.packets;
        run.burst = shape.burst;
        run.batch = spec_.batch;
        check(ioctl(device_.get(), QBENCH_RUN, &run), "run the bench on " + port.name);
        if (run.refused || run.dropped || run.left || run.enqueued != shape.packets ||
            run.dequeued != shape.packets)
            throw std::runtime_error(
                port.name + ": of " + std::to_string(shape.packets) + " packets " +
                std::to_string(run.refused) + " were refused, " + std::to_string(run.dropped) + " dropped, " +
                std::to_string(run.dequeued) + " came out and " + std::to_string(run.left) + " stayed");
        truesize_ = run.truesize;
        frame_ = run.frame;
        return run;
    }

    Measured run_round(const BenchPort& port, const BenchShape& shape, const std::string& kind) {
        const uint64_t foreign = clocks_.ticks_per_ms * kForeignUs / 1000;
        Measured sums;
        run(port, shape, kind);  // what the others left in caches, or let grow old, is gone
        for (uint32_t done = 0; done < kOperations; done += shape.packets) {
            run(port, shape, kind);
            sums.enqueue.add(enqueue_ticks_, shape.packets, spec_.batch, foreign);
            sums.dequeue.add(dequeue_ticks_, shape.packets, spec_.batch, foreign);
        }
        return sums;
    }

    double ns(const Sum& sum) const {
        return static_cast<double>(sum.ticks) * 1e6 / static_cast<double>(clocks_.ticks_per_ms) /
               static_cast<double>(sum.operations);
    }

    nlohmann::json measure_group(const BenchShape& shape, const std::string& kind, double begin,
                                 double share) {
        std::map<std::string, nlohmann::json> out;
        for (const BenchPort& port : ports_) renew_qdisc(socket_, port);
        for (uint32_t round = 0; round <= spec_.rounds; round++) {
            for (size_t i = 0; i < ports_.size(); i++) {
                const BenchPort& port = ports_[round % 2 ? ports_.size() - 1 - i : i];
                const Measured measured = run_round(port, shape, kind);
                if (round == 0) continue;  // caches, tables and flows are made
                nlohmann::json& entry = out[port.name];
                entry["enqueue_ns"].push_back(ns(measured.enqueue));
                entry["dequeue_ns"].push_back(ns(measured.dequeue));
                entry["foreign_batches"] = entry.value("foreign_batches", uint64_t{0}) +
                                           measured.enqueue.foreign + measured.dequeue.foreign;
                entry["batches"] =
                    entry.value("batches", uint64_t{0}) + measured.enqueue.batches + measured.dequeue.batches;
            }
            progress(kSocketsPermille / 1000.0 +
                     (1 - kSocketsPermille / 1000.0) * (begin + share * (round + 1) / (spec_.rounds + 1)));
        }
        return {{"flows", shape.flows},
                {"packets", shape.packets},
                {"burst", shape.burst},
                {"kind", kind},
                {"qdiscs", out}};
    }

    // What the contenders take, each fresh, for the backlog with most flows. The bench's
    // packets are in memory before: pfifo, which takes nothing, goes first.
    nlohmann::json measure_memory() {
        const BenchShape& shape =
            *std::max_element(spec_.shapes.begin(), spec_.shapes.end(),
                              [](const BenchShape& a, const BenchShape& b) { return a.flows < b.flows; });
        run(ports_.back(), shape, spec_.kinds.at(0));
        nlohmann::json out;
        for (const BenchPort& port : ports_) {
            const qbench_run done = run(port, shape, spec_.kinds.at(0));
            const double grown = static_cast<double>(done.slab_peak) - static_cast<double>(done.slab_before);
            out[port.name] = {{"struct_bytes", done.instance},
                              {"setup_bytes", port.setup_bytes},
                              {"flows", shape.flows},
                              {"bytes_per_flow", grown / shape.flows}};
        }
        return out;
    }

    BenchSpec spec_;
    nl::Socket socket_;
    std::vector<BenchPort> ports_;
    std::vector<Fd> sockets_;
    Fd device_;
    qbench_clocks clocks_{};
    std::vector<uint32_t> enqueue_ticks_, dequeue_ticks_;
    uint32_t truesize_ = 0, frame_ = 0;
};

}  // namespace

nlohmann::json run_qdisc_bench(const BenchSpec& spec) {
    Bench bench(spec);
    return spec.profile.empty() ? bench.measure() : bench.run_for_profile();
}

}  // namespace pfqd::lab
