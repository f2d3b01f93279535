// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
#include "lab/guest/experiment.hpp"

#include <fcntl.h>
#include <linux/lab_rpcload.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <functional>
#include <optional>

#include "lab/common/fd.hpp"
#include "lab/common/launch.hpp"
#include "lab/guest/bulk.hpp"
#include "lab/guest/connections.hpp"
#include "lab/guest/counters.hpp"
#include "lab/guest/depth.hpp"
#include "lab/guest/edge.hpp"
#include "lab/guest/fabric.hpp"
#include "lab/guest/mounts.hpp"
#include "lab/guest/schedule.hpp"

namespace pfqd::lab {

namespace {

// A link that came up carries frames only once the kernel's link watch has seen
// it, which looks once a second. A SYN lost to that would leave its connection
// without a round-trip time, and with a retransmission timeout of 1 s or more.
constexpr uint64_t kLinksNs = 3'000'000'000;
// The handshakes are over long before; everything idle then starts alike.
constexpr uint64_t kSettleNs = 5'000'000;
// Progress is reported this often during traffic.
constexpr int kSteps = 50;
// While draining, stop at the first such step at which all is done.
constexpr uint64_t kDrainStepNs = 10'000'000;

void hand_over(const Fd& device, const GuestSpec& spec, const std::vector<Connection>& connections) {
    std::vector<rpcload_conn> conns;
    conns.reserve(connections.size());
    for (const Connection& connection : connections)
        conns.push_back({connection.tx.get(), connection.rx.get(), connection.src, connection.dst});

    rpcload_setup setup{};
    setup.conns = reinterpret_cast<uintptr_t>(conns.data());
    setup.count = static_cast<uint32_t>(conns.size());
    setup.hosts = spec.network.hosts;
    setup.choice = spec.load.connection == "random" ? RPCLOAD_CHOICE_RANDOM : RPCLOAD_CHOICE_IDLE;
    setup.chunk = spec.load.chunk;
    setup.whole = spec.load.whole;
    std::snprintf(setup.cc, sizeof(setup.cc), "%s", spec.network.cc.c_str());
    if (ioctl(device.get(), RPCLOAD_ADD_CONNS, &setup) == 0) return;
    if (errno == ESTALE)
        throw std::runtime_error("a socket does not run the congestion control '" + spec.network.cc +
                                 "' that the configuration asks for");
    throw_errno("hand connections to rpcload");
}

uint64_t write_schedule(const Fd& device, const GuestSpec& spec) {
    return generate_schedule(spec.load, spec.network.hosts, spec.seed,
                             [&](std::span<const rpcload_message> batch) {
                                 if (write(device.get(), batch.data(), batch.size_bytes()) !=
                                     static_cast<ssize_t>(batch.size_bytes()))
                                     throw_errno("write the schedule to rpcload");
                             });
}

void progress(uint64_t done_ns, uint64_t total_ns) {
    std::printf("%s%llu\n", kProgressLine, static_cast<unsigned long long>(done_ns * 1000 / total_ns));
    std::fflush(stdout);
}

// Runs to the end of the traffic and on until all is delivered or time is up. Says what time
// it is when half of the traffic is over (false), and when it is over (true).
rpcload_run run_traffic(const Fd& device, const LoadSpec& load, uint64_t messages,
                        const std::function<void(uint64_t, bool)>& mark) {
    rpcload_run run{};
    const uint64_t end_ns = load.duration_ns + load.drain_ns;
    const uint64_t step_ns = std::max<uint64_t>(load.duration_ns / kSteps, 1);
    while (run.until_ns < end_ns) {
        const bool draining = run.until_ns >= load.duration_ns;
        run.until_ns = std::min<uint64_t>(end_ns, run.until_ns + (draining ? kDrainStepNs : step_ns));
        check(ioctl(device.get(), RPCLOAD_RUN, &run), "run traffic");
        progress(run.until_ns, end_ns);
        const bool done = run.sent == messages && run.finished == messages;
        if (!draining && (done || run.until_ns >= load.duration_ns))
            mark(run.now_ns, true);
        else if (run.until_ns / step_ns == kSteps / 2)
            mark(run.now_ns, false);
        if (done) break;
    }
    return run;
}

void wait_ns(uint64_t ns) {
    const timespec time{static_cast<time_t>(ns / 1'000'000'000), static_cast<long>(ns % 1'000'000'000)};
    nanosleep(&time, nullptr);
}

// The counters once the last acknowledgements have arrived. When every message
// is done nothing may be left unaccounted for; a delayed ACK that happens to be
// on its way is worth another look.
Counters count_quiet(const Fabric& fabric, const Counters& before, bool all_done) {
    constexpr int kLooks = 5;
    for (int look = 1;; look++) {
        wait_ns(kSettleNs);
        const Counters counted = read_counters(fabric) - before;
        if (!all_done || counted.unaccounted_frames() == 0) return counted;
        if (look == kLooks)
            throw std::runtime_error("the switch took in " + std::to_string(counted.tor.rx_frames) +
                                     " frames, sent " + std::to_string(counted.tor.tx_frames) +
                                     " and counted " + std::to_string(counted.tor.qdiscs.drops) +
                                     " as dropped: a qdisc miscounts");
    }
}

void write_log(const Fd& device) {
    Fd out(check(
        open((std::string(kOutDir) + "/" + kLogFile).c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644),
        "create the log"));
    std::vector<rpcload_record> buffer(4096);
    for (;;) {
        ssize_t size = read(device.get(), buffer.data(), buffer.size() * sizeof(rpcload_record));
        check(static_cast<int>(size), "read the log from rpcload");
        if (size == 0) break;
        if (write(out.get(), buffer.data(), static_cast<size_t>(size)) != size) throw_errno("write the log");
    }
    check(fsync(out.get()), "write the log");
}

}  // namespace

nlohmann::json run_experiment(const GuestSpec& spec) {
    load_module("wire");
    load_module("sch_pfqd");
    load_module("rpcload");

    const Fabric fabric(spec.network, spec.seed);
    wait_ns(kLinksNs);
    const std::vector<Connection> connections = open_connections(fabric, spec.load.conns_per_pair);
    check_connections(spec.network, connections);

    Fd device(check(open("/dev/rpcload", O_RDWR | O_CLOEXEC), "open /dev/rpcload"));
    hand_over(device, spec, connections);
    const uint64_t messages = write_schedule(device, spec);
    if (messages == 0)
        throw std::runtime_error("the duration is too short for a single message at this load");
    attach_edge(fabric);
    BulkFlows bulk(fabric, spec.network);
    wait_ns(kSettleNs);
    const Counters before = read_counters(fabric);
    if (before.retransmits + before.timeouts > 0 && spec.network.loss_ppm == 0)
        throw std::runtime_error(
            "packets were lost before the traffic began: connections would not start alike");
    std::printf("%s\n", kReadyLine);
    std::fflush(stdout);

    nlohmann::json beside = nlohmann::json::object();
    std::optional<DepthSeries> depth;
    if (spec.load.depth_ns > 0) {
        load_module("depth");
        depth.emplace(fabric, spec.load.depth_ns, spec.load.duration_ns);
    }
    bulk.start();
    const rpcload_run run = run_traffic(device, spec.load, messages, [&](uint64_t now_ns, bool over) {
        if (!over) return bulk.half(now_ns);
        if (bulk.any()) beside["internet"] = bulk.end(now_ns);
        if (depth) beside["depth"] = depth->json();
    });
    const Counters counted = count_quiet(fabric, before, run.finished == messages);
    nlohmann::json counters = counters_json(counted);
    counters.update(beside);
    write_log(device);

    counters["messages"] = messages;
    counters["unfinished"] = messages - run.finished;
    counters["short_writes"] = run.short_writes;
    counters["send_errors"] = run.send_errors;
    return {{"status", "ok"},
            {"counters", counters},
            {"virtual_ns", run.now_ns},
            {"connections", connections.size()},
            {"congestion_control", spec.network.cc}};
}

}  // namespace pfqd::lab
