// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
//
// Synthetic logs and results directories for the tests of everything that comes after
// a run.
#pragma once

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "lab/common/workload.hpp"
#include "lab/host/stats.hpp"

namespace pfqd::lab::test {

// A directory of its own, removed at the end.
class TempDir {
  public:
    TempDir();
    ~TempDir();
    TempDir(TempDir&&) = delete;
    const std::filesystem::path& path() const { return path_; }
    // Writes a file below it and returns its path.
    std::filesystem::path file(const std::string& name, const std::string& content) const;

  private:
    std::filesystem::path path_;
};

std::string read_file(const std::filesystem::path& path);

// What a call throws; fails the test when it does not.
std::string error_of(const std::function<void()>& call);

Workload shipped_workload(const std::string& name);

// Ideal time of 1000 ps for every message: a message's slowdown is its time in ns.
inline uint64_t one_ns(const Record&) {
    return 1000;
}

// A finished message with a given slowdown under one_ns.
Record message(uint32_t bytes, uint64_t slowdown);
Record unfinished_message(uint32_t bytes);

// A plausible log: sizes of a workload, slowdowns with a tail that grows with
// `heaviness`. Ids, hosts and times are those of a valid log.
std::vector<Record> synthetic_log(const Workload& workload, size_t count, uint64_t seed, double heaviness);

// What a run's file contains, for a log.
nlohmann::json run_json(const std::string& cell, const std::string& config, uint64_t seed,
                        const std::vector<Record>& log,
                        const nlohmann::json& variant = nlohmann::json::object());
void put_run(const std::filesystem::path& dir, const std::string& name, const nlohmann::json& run);

// W4 at two loads, four configurations, three seeds, and connection = random beside
// idle; one configuration is missing in one cell, and one run has a seed less.
void put_sweep(const std::filesystem::path& dir);

}  // namespace pfqd::lab::test
