// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
#include "lab/host/run_files.hpp"

#include <fmt/format.h>

#include <fstream>
#include <stdexcept>

#include "lab/common/ideal.hpp"
#include "lab/common/launch.hpp"
#include "lab/host/results.hpp"
#include "lab/host/results_file.hpp"
#include "lab/host/results_log.hpp"
#include "lab/host/stats.hpp"

namespace fs = std::filesystem;

namespace pfqd::lab {

namespace {

fs::path run_file(const fs::path& out, const RunSpec& run, const std::string& suffix) {
    return out / "runs" / (run.name() + suffix);
}

// What makes a run void whatever its numbers say.
void check_counters(const nlohmann::json& counters) {
    for (const char* name : {"short_writes", "send_errors"})
        if (const auto count = counters.at(name).get<uint64_t>())
            throw std::runtime_error(
                fmt::format("{} is {} and must be 0: a message was not written whole", name, count));
}

}  // namespace

nlohmann::json run_identity(const RunSpec& run, const Kernel& kernel, const std::string& generator_sha256) {
    return {{"kernel", kernel.info},
            {"kernel_source", kernel.info.at("source")},
            {"config_sha256", kernel.info.at("config_sha256")},
            {"compiler", kernel.info.at("compiler")},
            {"generator_sha256", generator_sha256},
            {"modules", kernel.hashes},
            {"parameters", run.guest}};
}

void write_run(const RunSpec& run, const GuestRun& guest, const nlohmann::json& identity,
               const std::string& command, const fs::path& out) {
    const nlohmann::json& counters = guest.result().at("counters");
    check_counters(counters);
    const fs::path log = guest.dir() / kLogFile;
    const std::vector<Record> records = load_log(log, run.guest.network.hosts);
    const IdealTime ideal = IdealTime::of_network(run.guest.network);
    const std::vector<double> slow =
        slowdowns(records, [&](const Record& record) { return ideal.picoseconds(record.bytes); });
    const RunStats stats = compute(records, slow);

    nlohmann::json hash = identity;
    for (const char* elsewhere : {"kernel", "modules", "parameters"}) hash.erase(elsewhere);
    hash["log_sha256"] = sha256_file(log);
    const double traffic_s = guest.wall_s() - guest.setup_s();
    const nlohmann::json json = {
        {"experiment", "e1"},
        {"cell", run.cell.name},
        {"config", run.config},
        {"variant", run.settings},
        {"seed", run.seed},
        {"hash", hash},
        {"parameters", identity.at("parameters")},
        {"kernel", identity.at("kernel")},
        {"modules", identity.at("modules")},
        {"command", command},
        {"stats", to_json(stats)},
        {"counters", counters},
        {"wall_s", guest.wall_s()},
        {"setup_s", guest.setup_s()},
        {"packets_per_s", static_cast<double>(counters.at("data_packets").get<uint64_t>()) / traffic_s},
        {"rss_kib", static_cast<uint64_t>(guest.rss_kib())},
        {"user_s", guest.user_s()},
        {"sys_s", guest.system_s()},
    };
    run_from_json(json, run.name());
    write_jsonl(run_file(out, run, ".jsonl"), records, slow);
    write_file_atomically(run_file(out, run, ".json"), json.dump(1) + "\n");
}

bool run_is_done(const RunSpec& run, const nlohmann::json& identity, const fs::path& out) {
    std::ifstream file(run_file(out, run, ".json"));
    if (!file) return false;
    const nlohmann::json json = nlohmann::json::parse(file, nullptr, false);
    if (!json.is_object() || !json.contains("hash") || !json["hash"].is_object()) return false;
    nlohmann::json found = json["hash"];
    found.erase("log_sha256");
    for (const char* name : {"kernel", "modules", "parameters"})
        found[name] = json.value(name, nlohmann::json());
    return found == identity && fs::exists(run_file(out, run, ".jsonl"));
}

}  // namespace pfqd::lab
