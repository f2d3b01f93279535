// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
#include "lab/host/qdisc_bench.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <stdexcept>
#include <thread>

#include "lab/host/guest_run.hpp"
#include "lab/host/progress.hpp"
#include "lab/host/qdisc_bench_profile.hpp"
#include "lab/host/qdisc_bench_report.hpp"
#include "lab/host/sweep.hpp"

namespace pfqd::lab {

namespace {

// Packets of 2,304 bytes, sockets of 4 KB, and the flows of every contender.
constexpr uint32_t kMemoryMb = 2048;
constexpr uint32_t kFlowsMax = 100'000;
// A shorter backlog fits into a cache line or two and says little.
constexpr uint32_t kPacketsMin = 1000;
// A second shape of middling flow counts: flows that have more than one packet.
constexpr uint32_t kDepth = 16, kBurst = 4, kDepthFlowsMax = 4096;
constexpr size_t kConsoleLines = 20;

uint32_t parse_flows(const std::string& text) {
    uint32_t flows = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), flows);
    if (error != std::errc() || end != text.data() + text.size() || flows < 1 || flows > kFlowsMax)
        throw std::invalid_argument(
            fmt::format("flows '{}' is not a number from 1 to {}, such as 1000", text, kFlowsMax));
    return flows;
}

std::vector<BenchShape> shapes_of(const std::string& flow_list) {
    std::vector<BenchShape> shapes;
    for (const std::string& text : split_list(flow_list)) {
        const uint32_t flows = parse_flows(text);
        shapes.push_back({flows, std::max(flows, kPacketsMin), 1});
        if (flows > 1 && flows <= kDepthFlowsMax) shapes.push_back({flows, flows * kDepth, kBurst});
    }
    return shapes;
}

std::vector<std::string> kinds_of(const std::string& list) {
    const std::vector<std::string> kinds = split_list(list);
    for (const std::string& kind : kinds)
        if (kind != "owned" && kind != "forwarded" && kind != "unhashed")
            throw std::invalid_argument(
                fmt::format("packets '{}' are none of owned, forwarded, unhashed", kind));
    return kinds;
}

GuestOptions guest_options() {
    GuestOptions options;
    options.memory_mb = kMemoryMb;
    options.real_time = true;
    options.processors = Processor::From::last;  // away from processor 0 and its interrupts
    return options;
}

nlohmann::json run_guest(const GuestSpec& spec, const Installation& installation, const Kernel& kernel,
                         ProgressLine& progress) {
    GuestRun guest(installation, kernel, spec, guest_options());
    while (!guest.poll()) {
        progress.update(guest.progress_permille() / 1000.0, "qdisc bench");
        std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
    if (!guest.failure().empty())
        throw std::runtime_error(guest.failure() + "\n" + guest.console_tail(kConsoleLines));
    return guest.result();
}

}  // namespace

int run_qdisc_bench_command(const QdiscBenchPlan& plan, const Installation& installation) {
    GuestSpec spec;
    spec.mode = "bench-qdisc";
    spec.bench.shapes = shapes_of(plan.flows);
    spec.bench.kinds = kinds_of(plan.kinds);
    spec.bench.rounds = plan.rounds;
    spec.bench.batch = plan.batch;
    const Kernel kernel = installation.kernel(plan.kernel);

    nlohmann::json result;
    {
        ProgressLine progress;
        result = run_guest(spec, installation, kernel, progress);
    }
    nlohmann::json summary = summarize_qdisc_bench(result);
    summary["kernel"] = kernel.info;
    if (plan.profile) {
        ProgressLine progress;
        summary["profiles"] = profile_qdisc_bench(spec, guest_options(), installation, kernel, progress);
    }
    if (plan.json)
        fmt::print("{}\n", summary.dump(2));
    else
        fmt::print("{}", qdisc_bench_text(summary));
    return 0;
}

}  // namespace pfqd::lab
