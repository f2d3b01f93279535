// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
//
// What one boot of the guest is to do. The host writes it as spec.json into the
// run's directory, the guest reads it from there: settings never travel on the
// kernel's command line, because the kernel mixes that into its random numbers.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace pfqd::lab {

// A qdisc and the options that the lab sets on it. `kind` is one of
//   bfifo     {limit}                 bytes
//   fq_codel  {}                      the kernel's defaults
//   red_step  {limit, threshold}      bytes; marks above threshold of instantaneous queue
//   pfqd      {limit, memlimit, ...}  names as in tc-pfqd(8), times with _us;
//                                     stamp and completion as enum pfqd_switch
struct QdiscSpec {
    std::string kind;
    nlohmann::json options = nlohmann::json::object();
};

struct NetworkSpec {
    uint32_t hosts = 16;
    uint64_t rate_bps = 25'000'000'000;  // every link; paper 3.4
    uint64_t delay_ns = 1000;            // every link; design.md 4
    uint32_t mtu = 3000;                 // paper 3.4
    uint64_t ring_ns = 5000;             // host transmit ring, time at line rate; paper 3.5
    std::string moderation = "psh";      // off | psh | all
    uint32_t moderation_ns = 8000;       // paper 3.5
    uint32_t lateness_ns = 0;            // wake-up lateness of hosts
    uint64_t loss_ppm = 0;               // on every wire
    bool gso = false;                    // design.md 4
    bool timestamps = false;             // TCP timestamps; design.md 4
    std::string cc = "cubic";
    uint32_t ecn = 2;           // net.ipv4.tcp_ecn
    bool route_ecn = false;     // the ecn feature of the hosts' routes
    uint32_t first_flight = 0;  // bytes; > 0: the host works initcwnd out from it
    uint32_t initcwnd = 0;      // of the hosts' routes, segments; 0: the kernel's 10
    uint32_t queues = 1;        // hardware transmit queues of a host
    uint32_t internet = 0;      // hosts behind the switch that are a long way off
    QdiscSpec host_qdisc{"fq_codel", nlohmann::json::object()};
    QdiscSpec port_qdisc{"bfifo", {{"limit", 1'000'000}}};
};

struct LoadSpec {
    uint32_t conns_per_pair = 32;     // paper 3.5
    std::string connection = "idle";  // idle | random
    uint32_t chunk = 0;               // bytes per send call, 0 = whole message
    bool whole = false;               // TCP sends only when a send call is copied
    uint64_t load_bps = 0;            // payload bits per second and host
    uint64_t duration_ns = 60'000'000;
    uint64_t drain_ns = 300'000'000;
    uint64_t depth_ns = 0;  // between two looks at the ports' depth; 0: nobody looks
    // The workload's points: size in bytes, cumulative fraction.
    std::vector<std::pair<uint32_t, double>> sizes;
};

// One backlog of the qdisc bench: packet i belongs to flow (i / burst) % flows.
struct BenchShape {
    uint32_t flows = 1;
    uint32_t packets = 1000;
    uint32_t burst = 1;
};

struct BenchSpec {
    std::vector<BenchShape> shapes;
    std::vector<std::string> kinds;  // owned | forwarded | unhashed, as enum qbench_packets
    uint32_t rounds = 9;             // after one that is not counted
    uint32_t batch = 64;             // operations between two readings of the clock
    // Not empty: the name of the only contender, which runs for so long, to be profiled.
    std::string profile;
    uint32_t profile_s = 0;
};

struct GuestSpec {
    // run | selftest | bench-qdisc | hang | panic (the last two test the watchdog)
    std::string mode;
    uint64_t seed = 1;
    NetworkSpec network;
    LoadSpec load;
    // For selftest: programs, paths below /run/lab/src.
    std::vector<std::string> programs;
    BenchSpec bench;
};

NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(QdiscSpec, kind, options)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(NetworkSpec, hosts, rate_bps, delay_ns, mtu, ring_ns, moderation,
                                   moderation_ns, lateness_ns, loss_ppm, gso, timestamps, cc, ecn, route_ecn,
                                   first_flight, initcwnd, queues, internet, host_qdisc, port_qdisc)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(LoadSpec, conns_per_pair, connection, chunk, whole, load_bps, duration_ns,
                                   drain_ns, depth_ns, sizes)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(BenchShape, flows, packets, burst)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(BenchSpec, shapes, kinds, rounds, batch, profile, profile_s)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(GuestSpec, mode, seed, network, load, programs, bench)

}  // namespace pfqd::lab
