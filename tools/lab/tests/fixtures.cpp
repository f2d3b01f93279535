// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
#include "lab/tests/fixtures.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include <fstream>
#include <stdexcept>

#include "lab/common/ideal.hpp"
#include "lab/common/prng.hpp"
#include "lab/host/installation.hpp"

namespace fs = std::filesystem;
using nlohmann::json;

namespace pfqd::lab::test {

TempDir::TempDir() {
    std::string name = (fs::temp_directory_path() / "pfqd-test.XXXXXX").string();
    if (!mkdtemp(name.data())) throw std::runtime_error("cannot create " + name);
    path_ = name;
}

TempDir::~TempDir() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
}

fs::path TempDir::file(const std::string& name, const std::string& content) const {
    fs::create_directories((path_ / name).parent_path());
    std::ofstream(path_ / name, std::ios::binary) << content;
    return path_ / name;
}

std::string read_file(const fs::path& path) {
    std::ifstream file(path, std::ios::binary);
    if (!file) throw std::runtime_error("cannot read " + path.string());
    return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

std::string error_of(const std::function<void()>& call) {
    try {
        call();
    } catch (const std::exception& error) {
        return error.what();
    }
    ADD_FAILURE() << "nothing was thrown";
    return "";
}

Workload shipped_workload(const std::string& name) {
    return Workload::load(Installation::find().workloads() / (name + ".txt"));
}

Record message(uint32_t bytes, uint64_t slowdown) {
    Record record{};
    record.bytes = bytes;
    record.at_ns = 1000;
    record.sent_ns = 1000;
    record.done_ns = 1000 + slowdown;
    record.dst = 1;
    return record;
}

Record unfinished_message(uint32_t bytes) {
    Record record = message(bytes, 1);
    record.done_ns = RPCLOAD_UNFINISHED;
    return record;
}

std::vector<Record> synthetic_log(const Workload& workload, size_t count, uint64_t seed, double heaviness) {
    constexpr uint16_t kHosts = 16;
    const IdealTime ideal = IdealTime::of_network({});
    Prng random(seed);
    std::vector<Record> log;
    double at_ns = 0;
    for (size_t i = 0; i < count; i++) {
        at_ns += random.exponential(2500);
        Record record{};
        record.id = static_cast<uint32_t>(i);
        record.at_ns = record.sent_ns = static_cast<uint64_t>(at_ns);
        record.bytes = workload.sample(random.uniform());
        record.src = static_cast<uint16_t>(random.uniform() * kHosts);
        record.dst = static_cast<uint16_t>(
            (record.src + 1 + static_cast<uint16_t>(random.uniform() * (kHosts - 1))) % kHosts);
        record.conn = static_cast<uint16_t>(random.uniform() * 32);
        const double queueing = heaviness * random.exponential(1) * random.exponential(1);
        const double ideal_ns = static_cast<double>(ideal.picoseconds(record.bytes)) / 1000;
        record.done_ns = record.at_ns + static_cast<uint64_t>(ideal_ns * (1 + queueing)) + 1;
        log.push_back(record);
    }
    return log;
}

json run_json(const std::string& cell, const std::string& config, uint64_t seed,
              const std::vector<Record>& log, const json& variant) {
    const IdealTime ideal = IdealTime::of_network({});
    const RunStats stats =
        compute(log, [&](const Record& record) { return ideal.picoseconds(record.bytes); });
    const uint64_t drops = config == "fifo" ? 700 : 12;
    return {
        {"experiment", "e1"},
        {"cell", cell},
        {"config", config},
        {"variant", variant},
        {"seed", seed},
        {"hash",
         {{"kernel_source", "linux-source 6.1.192-1"},
          {"config_sha256", std::string(64, 'c')},
          {"compiler", "gcc 12.2.0"},
          {"generator_sha256", std::string(64, 'e')},
          {"log_sha256", fmt::format("{:064x}", seed * 7919 + config.size())}}},
        {"parameters",
         {{"network", {{"hosts", 16}, {"rate_bps", 25'000'000'000}, {"mtu", 3000}, {"port_qdisc", config}}},
          {"load", {{"duration_ns", 60'000'000}, {"sizes", std::vector<int>(225, 1)}}}}},
        {"stats", to_json(stats)},
        {"counters",
         {{"drops", {{"total", drops + 1}, {"host", 1}, {"tor", drops}}},
          {"marks", {{"total", 5}, {"host", 0}, {"tor", 5}}},
          {"retransmits", drops},
          {"timeouts", 3},
          {"messages", stats.messages},
          {"unfinished", stats.unfinished},
          {"data_packets", 524'000},
          {"short_writes", 0}}},
        {"wall_s", 24.0},
        {"setup_s", 2.0},
        {"packets_per_s", 524'000 / 22.0},
        {"rss_kib", 300'000},
        {"user_s", 9.5},
        {"sys_s", 14.0},
        {"kernel", {{"release", "6.1.192"}, {"flavour", "lab"}}},
        {"modules", {{"sch_pfqd", std::string(64, 'a')}, {"wire", std::string(64, 'b')}}},
        {"command", "pfqd-lab run e1 --cell w4:50,w4:80 --seeds 1-3 --out results"}};
}

void put_run(const fs::path& dir, const std::string& name, const json& run) {
    fs::create_directories(dir / "runs");
    std::ofstream(dir / "runs" / (name + ".json")) << run.dump();
}

void put_sweep(const fs::path& dir) {
    const Workload w4 = shipped_workload("w4");
    const std::vector<std::pair<std::string, double>> configs = {
        {"fifo", 8}, {"dctcp", 3}, {"fq_codel", 2}, {"pfqd", 0.7}};
    for (const char* cell : {"w4:50", "w4:80"})
        for (const bool random : {false, true})
            for (const auto& [config, heaviness] : configs)
                for (uint64_t seed = 1; seed <= 3; seed++) {
                    if (std::string(cell) == "w4:80" && config == "fq_codel") continue;
                    if (std::string(cell) == "w4:50" && config == "dctcp" && random && seed == 2) continue;
                    const double load = std::string(cell) == "w4:80" ? 3 : 1;
                    const auto log = synthetic_log(
                        w4, 5000, seed,
                        heaviness * load * (random ? 2.5 : 1) * (1 + 0.1 * static_cast<double>(seed)));
                    const json variant = random ? json{{"connection", "random"}} : json::object();
                    put_run(dir, fmt::format("{}-{}-{}-s{}", cell, config, random, seed),
                            run_json(cell, config, seed, log, variant));
                }
}

}  // namespace pfqd::lab::test
