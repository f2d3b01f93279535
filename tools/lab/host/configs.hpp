// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
//
// The names of the lab: cells (workload and load), configurations (what runs on
// hosts and ports), and the parameters that --set changes.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "lab/common/spec.hpp"

namespace pfqd::lab {

struct Cell {
    std::string name;      // "w4:50"
    std::string workload;  // "w4"
    double load_gbps;      // payload per host
};

// "wN:LOAD", LOAD a percentage of 25 Gbit/s or a rate such as "3.2g".
Cell parse_cell(const std::string& text);
// The cells of E1 in the paper's order.
const std::vector<std::string>& e1_cells();
// 60 ms of traffic, 20 ms for W2 and W3 (design.md 4).
uint64_t default_duration_ns(const Cell& cell);

struct Configuration {
    std::string name;
    std::string summary;
};
const std::vector<Configuration>& configurations();
// The first window in segments for so many bytes, never below the kernel's own.
uint32_t first_flight_segments(uint32_t bytes, uint32_t mtu);
// Applies the configuration to the network; throws for an unknown name.
void apply_configuration(const std::string& name, NetworkSpec& network);

// One --set NAME=VALUE, applied after the configuration. What follows from other
// parameters (initcwnd from the MTU) is worked out by apply_settings(), also for none.
using Settings = std::map<std::string, std::string>;
std::pair<std::string, std::string> parse_setting(const std::string& text);
void apply_settings(const Settings& settings, GuestSpec& spec);
std::string settings_help();

// "1-5", "1,3,7".
std::vector<uint64_t> parse_seeds(const std::string& text);
std::vector<std::string> split_list(const std::string& text);

}  // namespace pfqd::lab
