// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
//
// pfqdctl edge of this checkout, as an operator types it.
#pragma once

#include <unistd.h>

#include <array>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>
#include <vector>

#include "selftests/lib/command.hpp"

namespace pfqd::selftest {

// Of this checkout: build/bin is beside the directory of the groups.
inline std::string built_program(const std::string& name) {
    std::array<char, 4096> path{};
    check(static_cast<int>(readlink("/proc/self/exe", path.data(), path.size() - 1)), "read /proc/self/exe");
    std::string dir(path.data());
    for (int i = 0; i < 3; i++) dir.erase(dir.rfind('/'));
    return dir + "/bin/" + name;
}

inline Running start_edge(const std::string& arguments, uint64_t without = 0) {
    std::vector<std::string> words = words_of("edge " + arguments);
    words.insert(words.begin(), built_program("pfqdctl"));
    return Running(words, without);
}

// pfqdctl edge ...
inline Outcome edge(const std::string& arguments, uint64_t without = 0) {
    return start_edge(arguments, without).wait();
}

inline nlohmann::json edge_json(const std::string& arguments) {
    const Outcome outcome = edge(arguments + " --json");
    if (outcome.status != 0) throw std::runtime_error("pfqdctl edge " + arguments + ": " + outcome.text);
    return nlohmann::json::parse(outcome.text);
}

// What the edge of a device has counted.
inline nlohmann::json edge_packets(const std::string& device) {
    return edge_json("show " + device).at(0).at("packets");
}

}  // namespace pfqd::selftest
