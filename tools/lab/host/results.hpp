// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
//
// A results directory. Each run leaves runs/NAME.json (settings, hashes, statistics,
// counters) and runs/NAME.jsonl (its messages); everything else is computed from the
// former: results.jsonl and summary.json here, tables and plots in report.hpp.
#pragma once

#include <cstdint>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "lab/host/measures.hpp"
#include "lab/host/stats.hpp"

namespace pfqd::lab {

// Of all qdiscs and wires of one side.
struct SplitCounter {
    uint64_t total = 0, host = 0, tor = 0;
};

struct Counters {
    SplitCounter drops, marks;
    uint64_t retransmits = 0, timeouts = 0;
    uint64_t messages = 0, unfinished = 0;
    uint64_t data_packets = 0, short_writes = 0;
};

// runs/NAME.json
struct Run {
    std::string file;  // its name, without directory
    std::string experiment, cell, config;
    nlohmann::json variant;  // {"connection": "random"}: what --set changed
    uint64_t seed = 0;
    nlohmann::json hash;        // what the log's SHA-256 depends on, and that hash
    nlohmann::json parameters;  // everything the guest was told
    nlohmann::json kernel;
    nlohmann::json modules;  // name to SHA-256
    std::string command;     // what the user typed; may be empty
    RunStats stats;
    Counters counters;
    Measures measures;
    double wall_s = 0, setup_s = 0, packets_per_s = 0, user_s = 0, sys_s = 0;
    uint64_t rss_kib = 0;
};

// Checked as what it is: a text from anywhere. `where` goes into the error.
Run run_from_json(const nlohmann::json& json, const std::string& where);

// All runs of a directory, in the order of tables: cell, variant, configuration, seed.
// Throws when there is none, when one is damaged, or two claim to be the same.
std::vector<Run> load_runs(const std::filesystem::path& dir);

// The order of tables for names of cells and configurations.
bool cell_before(const std::string& a, const std::string& b);
bool config_before(const std::string& a, const std::string& b);

// "connection=random, mtu=1500"; empty for the defaults.
std::string variant_text(const nlohmann::json& variant);

// Writes DIR/results.jsonl and DIR/summary.json from DIR/runs.
void write_results(const std::filesystem::path& dir);

}  // namespace pfqd::lab
