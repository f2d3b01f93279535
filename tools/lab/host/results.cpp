// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
#include "lab/host/results.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <tuple>

#include "lab/host/configs.hpp"
#include "lab/host/results_field.hpp"
#include "lab/host/results_file.hpp"
#include "lab/host/results_summary.hpp"

namespace fs = std::filesystem;
using nlohmann::json;

namespace pfqd::lab {

namespace {

constexpr size_t kMaxRunFile = 16 << 20;  // bytes; a real one has about 20,000
constexpr int kMaxDepth = 32;             // of nested JSON; a real one has 5
constexpr uint64_t kMaxCount = UINT64_C(1) << 53;
constexpr double kMaxSeconds = 1e8;

// A name that becomes part of tables, of file names and of gnuplot scripts.
std::string name_from(const Field& field) {
    const std::string text = field.text(64);
    const bool good = !text.empty() && std::all_of(text.begin(), text.end(), [](unsigned char c) {
        return std::isalnum(c) || c == '_' || c == '-' || c == ':' || c == '.' || c == '+';
    });
    if (!good) field.fail("1 to 64 letters, digits or _-:.+");
    return text;
}

SplitCounter split_from(const Field& field) {
    SplitCounter counter;
    counter.total = field.at("total").whole(0, kMaxCount);
    counter.host = field.at("host").whole(0, kMaxCount);
    counter.tor = field.at("tor").whole(0, kMaxCount);
    if (counter.total != counter.host + counter.tor) field.at("total").fail("the sum of host and tor");
    return counter;
}

Counters counters_from(const Field& field) {
    Counters counters;
    counters.drops = split_from(field.at("drops"));
    counters.marks = split_from(field.at("marks"));
    counters.retransmits = field.at("retransmits").whole(0, kMaxCount);
    counters.timeouts = field.at("timeouts").whole(0, kMaxCount);
    counters.messages = field.at("messages").whole(0, kMaxCount);
    counters.unfinished = field.at("unfinished").whole(0, counters.messages);
    counters.data_packets = field.at("data_packets").whole(0, kMaxCount);
    counters.short_writes = field.at("short_writes").whole(0, kMaxCount);
    return counters;
}

json variant_from(const Field& field) {
    for (const auto& [name, value] : field.object().items()) {
        const Field member = field.at(name);
        if (name.empty() || name.size() > 64) field.fail("names of 1 to 64 bytes");
        if (value.is_string())
            member.text(64);
        else if (!value.is_number() && !value.is_boolean())
            member.fail("a text, number or truth value");
    }
    return field.json();
}

// Nesting beyond kMaxDepth would end in the library's recursion.
json parse_file(const fs::path& path) {
    const std::string text = read_regular_file(path, kMaxRunFile);
    try {
        return json::parse(text, [&](int depth, json::parse_event_t, json&) {
            if (depth > kMaxDepth)
                throw std::runtime_error(fmt::format("{}: JSON nested deeper than the accepted {} levels",
                                                     path.string(), kMaxDepth));
            return true;
        });
    } catch (const json::parse_error& error) {
        throw std::runtime_error(fmt::format("{}: byte {} is not JSON", path.string(), error.byte));
    }
}

template <class Names>
bool before(const Names& order, const std::string& a, const std::string& b) {
    const auto rank = [&](const std::string& name) {
        return std::find(order.begin(), order.end(), name) - order.begin();
    };
    return std::tuple(rank(a), a) < std::tuple(rank(b), b);
}

bool run_before(const Run& a, const Run& b) {
    if (a.experiment != b.experiment) return a.experiment < b.experiment;
    if (a.cell != b.cell) return cell_before(a.cell, b.cell);
    if (a.variant != b.variant) return variant_text(a.variant) < variant_text(b.variant);
    if (a.config != b.config) return config_before(a.config, b.config);
    return a.seed < b.seed;
}

std::string decile_lines(const Run& run) {
    std::string text;
    const json stats = to_json(run.stats);
    for (size_t i = 0; i < kDeciles; i++) {
        const json& decile = stats["deciles"][i];
        json line = {{"experiment", run.experiment},
                     {"cell", run.cell},
                     {"config", run.config},
                     {"seed", run.seed},
                     {"decile", i + 1}};
        if (!run.variant.empty()) line["variant"] = run.variant;
        for (const char* key :
             {"min_bytes", "max_bytes", "count", "unfinished", "p50", "p99", "p99_low", "p99_high"})
            line[key] = decile[key];
        text += line.dump() + "\n";
    }
    return text;
}

}  // namespace

bool cell_before(const std::string& a, const std::string& b) {
    return before(e1_cells(), a, b);
}

bool config_before(const std::string& a, const std::string& b) {
    std::vector<std::string> order;
    for (const Configuration& one : configurations()) order.push_back(one.name);
    return before(order, a, b);
}

std::string variant_text(const json& variant) {
    std::string text;
    for (const auto& [name, value] : variant.items())
        text += fmt::format("{}{}={}", text.empty() ? "" : ", ", name,
                            value.is_string() ? value.get<std::string>() : value.dump());
    return text;
}

Run run_from_json(const json& document, const std::string& where) {
    const Field field(document, where);
    Run run;
    run.experiment = name_from(field.at("experiment"));
    run.cell = name_from(field.at("cell"));
    run.config = name_from(field.at("config"));
    run.variant = field.has("variant") ? variant_from(field.at("variant")) : json::object();
    run.seed = field.at("seed").whole(0, UINT64_MAX);
    run.hash = field.at("hash").object();
    run.parameters = field.at("parameters").object();
    run.modules = field.at("modules").object();
    run.kernel = field.at("kernel").json();
    run.command = field.has("command") ? field.at("command").text(65536) : "";
    run.stats = stats_from_json(field.at("stats").json(), where);
    run.counters = counters_from(field.at("counters"));
    run.measures = measures_from(field.at("counters"));
    if (run.stats.messages != run.counters.messages)
        field.at("counters").at("messages").fail(fmt::format("{}, as in stats", run.stats.messages));
    if (run.stats.unfinished != run.counters.unfinished)
        field.at("counters").at("unfinished").fail(fmt::format("{}, as in stats", run.stats.unfinished));
    run.wall_s = field.at("wall_s").number(0, kMaxSeconds);
    run.setup_s = field.at("setup_s").number(0, run.wall_s);
    run.packets_per_s = field.at("packets_per_s").number(0, 1e12);
    run.user_s = field.has("user_s") ? field.at("user_s").number(0, kMaxSeconds) : 0;
    run.sys_s = field.has("sys_s") ? field.at("sys_s").number(0, kMaxSeconds) : 0;
    run.rss_kib = field.has("rss_kib") ? field.at("rss_kib").whole(0, kMaxCount) : 0;
    return run;
}

std::vector<Run> load_runs(const fs::path& dir) {
    std::error_code error;
    if (!fs::is_directory(dir / "runs", error))
        throw std::runtime_error(
            fmt::format("{} is not a results directory: it has no directory 'runs'", dir.string()));
    std::vector<fs::path> files;
    for (const auto& entry : fs::directory_iterator(dir / "runs"))
        if (entry.path().extension() == ".json") files.push_back(entry.path());
    if (files.empty())
        throw std::runtime_error(fmt::format("{} holds no finished run", (dir / "runs").string()));
    std::sort(files.begin(), files.end());

    std::vector<Run> runs;
    for (const fs::path& file : files) {
        runs.push_back(run_from_json(parse_file(file), file.string()));
        runs.back().file = file.filename().string();
    }
    std::stable_sort(runs.begin(), runs.end(), run_before);
    for (size_t i = 1; i < runs.size(); i++)
        if (!run_before(runs[i - 1], runs[i]))
            throw std::runtime_error(fmt::format("{}: {} and {} are the same cell, configuration and seed",
                                                 (dir / "runs").string(), runs[i - 1].file, runs[i].file));
    return runs;
}

void write_results(const fs::path& dir) {
    const std::vector<Run> runs = load_runs(dir);
    std::string lines;
    for (const Run& run : runs) lines += decile_lines(run);
    write_file_atomically(dir / "results.jsonl", lines);
    write_file_atomically(dir / "summary.json", summary_json(runs).dump(2) + "\n");
}

}  // namespace pfqd::lab
