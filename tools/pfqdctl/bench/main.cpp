// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
//
// edge-bench: what the edge costs a packet, by the kernel's own test run of a BPF
// program (BPF_PROG_TEST_RUN), on the kernel that it runs on and on one CPU. Each
// figure is the median of rounds in which all cases take turns, less what an empty
// program takes, or, for cases that write, less what putting the packet back takes.
//
// Where the clock stands still while code runs (the lab's kernel), the CPU's time
// stamp counter is read instead, and figures are in its ticks.
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <fmt/format.h>
#include <x86intrin.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cstring>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "lab/common/fd.hpp"
#include "pfqdctl/bench.skel.h"
#include "pfqdctl/failure.hpp"
#include "pfqdctl/libbpf_log.hpp"

namespace {

using Bytes = std::vector<uint8_t>;

struct Destroy {
    void operator()(bench_bpf* skeleton) const { bench_bpf__destroy(skeleton); }
};
using Skeleton = std::unique_ptr<bench_bpf, Destroy>;

constexpr size_t kPayload = 64;
constexpr uint8_t kEdgeClass = 0xfc;     // DSCP 63
constexpr uint8_t kStampedClass = 0x0c;  // DSCP 3: short class, band 0

uint16_t ipv4_checksum(const uint8_t* header) {
    uint32_t sum = 0;
    for (int i = 0; i < 20; i += 2) sum += static_cast<uint32_t>(header[i]) << 8 | header[i + 1];
    while (sum >> 16) sum = (sum & 0xffff) + (sum >> 16);
    return static_cast<uint16_t>(~sum);
}

Bytes ipv4_packet(uint8_t tos) {
    Bytes packet(20 + kPayload);
    packet[0] = 0x45;
    packet[1] = tos;
    packet[3] = static_cast<uint8_t>(packet.size());
    packet[8] = 64;
    packet[9] = 17;
    packet[12] = packet[16] = 10;
    packet[19] = 1;
    const uint16_t check = ipv4_checksum(packet.data());
    packet[10] = static_cast<uint8_t>(check >> 8);
    packet[11] = static_cast<uint8_t>(check);
    return packet;
}

Bytes ipv6_packet(uint8_t traffic_class) {
    Bytes packet(40 + kPayload);
    packet[0] = static_cast<uint8_t>(0x60 | traffic_class >> 4);
    packet[1] = static_cast<uint8_t>(traffic_class << 4);
    packet[5] = kPayload;
    packet[6] = 17;
    packet[8] = packet[24] = 0xfd;
    return packet;
}

Bytes frame(const Bytes& types, const Bytes& content) {
    constexpr size_t kAddresses = 12;
    Bytes bytes(kAddresses + types.size() + content.size(), 2);
    std::copy(types.begin(), types.end(), bytes.begin() + kAddresses);
    std::copy(content.rbegin(), content.rend(), bytes.rbegin());
    return bytes;
}

struct Case {
    const char* name;
    const char* program;
    const char* baseline;
    Bytes packet;
    Bytes after;  // what leaves the program
};

std::vector<Case> cases() {
    const Bytes v4{0x08, 0x00}, v6{0x86, 0xdd}, arp{0x08, 0x06};
    const Bytes new4 = frame(v4, ipv4_packet(0)), edge4 = frame(v4, ipv4_packet(kEdgeClass));
    const Bytes new6 = frame(v6, ipv6_packet(0)), edge6 = frame(v6, ipv6_packet(kEdgeClass));
    const Bytes tagged = frame({0x81, 0x00, 0, 5, 0x08, 0x00}, ipv4_packet(kEdgeClass));
    const Bytes trusted = frame(v4, ipv4_packet(kStampedClass)), other = frame(arp, Bytes(46));
    return {
        {"IPv4, stamped", "bench_stamp_ipv4", "bench_back_ipv4", new4, edge4},
        {"IPv6, stamped", "bench_stamp_ipv6", "bench_back_ipv6", new6, edge6},
        {"IPv4, DSCP 63 already", "pfqd_edge", "bench_nothing", edge4, edge4},
        {"IPv6, DSCP 63 already", "pfqd_edge", "bench_nothing", edge6, edge6},
        {"IPv4 behind a tag, DSCP 63", "pfqd_edge", "bench_nothing", tagged, tagged},
        {"IPv4, kept by trust", "pfqd_edge_trust", "bench_nothing", trusted, trusted},
        {"ARP", "pfqd_edge", "bench_nothing", other, other},
    };
}

// Two clocks, of which the one is used that moves while code runs.
struct Instant {
    std::chrono::steady_clock::time_point time = std::chrono::steady_clock::now();
    uint64_t ticks = __rdtsc();
};

struct Span {
    double ns = 0, ticks = 0;
};

class Bench {
  public:
    explicit Bench(uint32_t repeat) : repeat_(repeat) {
        const pfqd::ctl::LibbpfLog log;
        skeleton_.reset(bench_bpf__open());
        if (!skeleton_) pfqd::throw_errno("open the BPF object");
        const Bytes original = ipv4_packet(0);
        std::memcpy(&skeleton_->rodata->original_check, original.data() + 10, 2);
        if (const int error = bench_bpf__load(skeleton_.get()))
            throw pfqd::ctl::Failure(
                fmt::format("the kernel refuses the programs: {}\n{}", std::strerror(-error), log.text()));
    }

    // The packet becomes what the program made of it.
    Span run(const char* program, Bytes& packet) {
        const int fd = bpf_program__fd(bpf_object__find_program_by_name(skeleton_->obj, program));
        LIBBPF_OPTS(bpf_test_run_opts, options);
        Bytes out(packet.size());
        options.data_in = packet.data();
        options.data_size_in = static_cast<uint32_t>(packet.size());
        options.data_out = out.data();
        options.data_size_out = static_cast<uint32_t>(out.size());
        options.repeat = static_cast<int>(repeat_);
        const Instant start;
        const int error = bpf_prog_test_run_opts(fd, &options);
        const Instant end;
        if (error)
            throw pfqd::ctl::Failure(fmt::format("test run of {}: {}", program, std::strerror(-error)));
        packet = out;
        return {std::chrono::duration<double, std::nano>(end.time - start.time).count() / repeat_,
                static_cast<double>(end.ticks - start.ticks) / repeat_};
    }

  private:
    uint32_t repeat_;
    Skeleton skeleton_;
};

double median(std::vector<double> values) {
    std::sort(values.begin(), values.end());
    return values[values.size() / 2];
}

struct Result {
    std::string name;
    std::vector<double> ns, ticks;
};

std::vector<Result> measure(uint32_t repeat, unsigned rounds) {
    Bench bench(repeat);
    const std::vector<Case> all = cases();
    std::vector<Result> results;
    for (const Case& one : all) results.push_back({one.name, {}, {}});
    for (unsigned round = 0; round <= rounds; round++) {
        for (size_t i = 0; i < all.size(); i++) {
            Bytes packet = all[i].packet, same = all[i].packet;
            const Span with = bench.run(all[i].program, packet);
            const Span without = bench.run(all[i].baseline, same);
            if (packet != all[i].after || same != all[i].packet)
                throw pfqd::ctl::Failure(fmt::format("{}: the packet is not as it should be", all[i].name));
            if (round == 0) continue;  // warms up
            results[i].ns.push_back(with.ns - without.ns);
            results[i].ticks.push_back(with.ticks - without.ticks);
        }
    }
    return results;
}

void report(const std::vector<Result>& results, bool json) {
    nlohmann::ordered_json list = nlohmann::ordered_json::array();
    const bool virtual_time =
        std::all_of(results.begin(), results.end(), [](const Result& one) { return median(one.ns) == 0; });
    if (!json)
        fmt::print("{:<28} {:>14} {:>14}\n", "packet", virtual_time ? "TSC ticks" : "ns",
                   virtual_time ? "" : "packets/s");
    for (const Result& one : results) {
        const double ns = median(one.ns), ticks = median(one.ticks);
        list.push_back({{"packet", one.name}, {"tsc_ticks", ticks}});
        if (!virtual_time) list.back().update({{"ns", ns}, {"packets_per_s", 1e9 / ns}});
        if (json) continue;
        if (virtual_time)
            fmt::print("{:<28} {:>14.1f}\n", one.name, ticks);
        else
            fmt::print("{:<28} {:>14.1f} {:>14.0f}\n", one.name, ns, 1e9 / ns);
    }
    if (json) fmt::print("{}\n", list.dump(1));
}

int dispatch(int argc, char** argv) {
    CLI::App app{
        "edge-bench: what the edge's BPF program costs a packet on this kernel.\n"
        "Needs CAP_BPF and CAP_NET_ADMIN; attaches nothing."};
    uint32_t repeat = 1'000'000;
    unsigned rounds = 11;
    bool json = false;
    app.add_option("--repeat", repeat, "runs between two readings of the clock")
        ->check(CLI::Range(1000, 100'000'000))
        ->capture_default_str();
    app.add_option("--rounds", rounds, "rounds, over which medians are taken")
        ->check(CLI::Range(1, 1000))
        ->capture_default_str();
    app.add_flag("--json", json, "say it as JSON");
    app.footer("\nExamples:\n  edge-bench\n  edge-bench --rounds 31 --json\n");
    try {
        app.parse(argc, argv);
    } catch (const CLI::ParseError& error) {
        return app.exit(error) == 0 ? pfqd::ctl::kDone : pfqd::ctl::kUsage;
    }
    report(measure(repeat, rounds), json);
    return pfqd::ctl::kDone;
}

}  // namespace

int main(int argc, char** argv) {
    try {
        return dispatch(argc, argv);
    } catch (const std::exception& error) {
        fmt::print(stderr, "edge-bench: {}\n", error.what());
        return pfqd::ctl::kFailed;
    }
}
