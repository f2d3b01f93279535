// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
#include "lab/host/qdisc_bench_profile.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <map>
#include <memory>
#include <sstream>
#include <stdexcept>
#include <thread>

#include "lab/common/launch.hpp"

namespace fs = std::filesystem;

namespace pfqd::lab {

namespace {

constexpr uint32_t kSeconds = 3;
constexpr uint32_t kSpareSeconds = 2;  // the guest goes on while perf starts and ends
constexpr size_t kRows = 14;
constexpr size_t kConsoleLines = 20;

// The bench's own work between the batches: making packets look new, the socket's
// accounting of them, handing over the times.
constexpr std::array kOwn = {
    "qbench_",           "skb_set_owner_w", "sock_wfree", "sk_stream_write_space", "ip_send_check",
    "__local_bh_enable", "copy_to_user",    "raw_copy",   "skb_headers_offset_",   "do_op_one_page"};

class Symbols {
  public:
    explicit Symbols(const fs::path& kallsyms) {
        std::ifstream file(kallsyms);
        for (std::string line; std::getline(file, line);) {
            std::istringstream words(line);
            uint64_t address = 0;
            std::string type, name, module;
            words >> std::hex >> address >> type >> name >> module;
            if (type == "t" || type == "T" || type == "W" || type == "w")
                by_address_[address] = name + (module.empty() ? "" : " " + module);
        }
        if (by_address_.empty()) throw std::runtime_error("the guest left no kernel symbols");
    }

    std::string at(uint64_t address) const {
        auto next = by_address_.upper_bound(address);
        return next == by_address_.begin() ? "?" : std::prev(next)->second;
    }

  private:
    std::map<uint64_t, std::string> by_address_;
};

bool have_perf() {
    return WEXITSTATUS(std::system("perf --version >/dev/null 2>&1")) == 0;
}

// Records the process for kSeconds. -1: perf could not be started.
pid_t start_perf(pid_t target, const fs::path& data) {
    const std::string pid = std::to_string(target), out = data.string(), time = std::to_string(kSeconds);
    const std::array<const char*, 13> argv = {"perf",      "record", "-q",         "-F",
                                              "5000",      "-p",     pid.c_str(),  "-o",
                                              out.c_str(), "sleep",  time.c_str(), nullptr};
    posix_spawn_file_actions_t files;
    posix_spawn_file_actions_init(&files);
    posix_spawn_file_actions_addopen(&files, 1, "/dev/null", O_WRONLY, 0);
    posix_spawn_file_actions_addopen(&files, 2, "/dev/null", O_WRONLY, 0);
    pid_t child = -1;
    const int error = posix_spawnp(&child, "perf", &files, nullptr, const_cast<char**>(argv.data()), environ);
    posix_spawn_file_actions_destroy(&files);
    return error ? -1 : child;
}

// Parts of one thing, which is short on a machine and long in User-Mode Linux.
constexpr std::array kClock = {"ktime_get", "timer_read", "os_nsecs"};

template <class Names>
bool starts_with_any(const std::string& name, const Names& beginnings) {
    return std::any_of(beginnings.begin(), beginnings.end(),
                       [&](const char* beginning) { return name.starts_with(beginning); });
}

// What lies at the address of a line of perf script; empty: not the guest's kernel.
std::string name_of(const char* line, const Symbols& symbols) {
    constexpr const char* kClockName = "reading the clock";
    const uint64_t address = std::strtoull(line, nullptr, 16);
    if (address == 0 || address >> 63) return "";
    if (std::strstr(line, "clock_gettime")) return kClockName;
    if (std::strstr(line, "/libc.so")) return "";
    const std::string name = symbols.at(address);
    return starts_with_any(name, kClock) ? kClockName : name;
}

// Samples by function, without the bench's own and what the host did.
nlohmann::json count_samples(const fs::path& data, const Symbols& symbols) {
    const std::string command = "perf script -i '" + data.string() + "' -F ip,sym,dso 2>/dev/null";
    std::unique_ptr<FILE, int (*)(FILE*)> pipe(popen(command.c_str(), "r"), pclose);
    if (!pipe) throw std::runtime_error("cannot run perf script");
    std::map<std::string, uint64_t> counts;
    uint64_t total = 0;
    std::array<char, 512> line;
    while (fgets(line.data(), line.size(), pipe.get())) {
        const std::string name = name_of(line.data(), symbols);
        if (name.empty() || starts_with_any(name, kOwn)) continue;
        counts[name]++;
        total++;
    }
    std::vector<std::pair<std::string, uint64_t>> rows(counts.begin(), counts.end());
    std::sort(rows.begin(), rows.end(), [](const auto& a, const auto& b) { return a.second > b.second; });
    nlohmann::json out = {{"samples", total}, {"symbols", nlohmann::json::array()}};
    for (size_t i = 0; i < std::min(rows.size(), kRows); i++)
        out["symbols"].push_back(
            {{"symbol", rows[i].first},
             {"percent", 100.0 * static_cast<double>(rows[i].second) / static_cast<double>(total)}});
    return out;
}

nlohmann::json profile_one(const GuestSpec& spec, const GuestOptions& options,
                           const Installation& installation, const Kernel& kernel) {
    GuestRun guest(installation, kernel, spec, options);
    const ScratchDir scratch;
    const fs::path data = scratch.path() / "perf.data";
    pid_t perf = -1;
    while (!guest.poll()) {
        if (guest.ready() && perf < 0) perf = start_perf(guest.pid(), data);
        std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    if (perf > 0) waitpid(perf, nullptr, 0);
    if (!guest.failure().empty())
        throw std::runtime_error(guest.failure() + "\n" + guest.console_tail(kConsoleLines));
    if (!fs::exists(data) || fs::file_size(data) == 0) return nullptr;
    return count_samples(data, Symbols(guest.dir() / "kallsyms.txt"));
}

// pfqd does not look at hashes: "unhashed" is "forwarded". Bursts show nothing new.
std::vector<GuestSpec> specs_of(const GuestSpec& bench) {
    std::vector<GuestSpec> specs;
    for (const BenchShape& shape : bench.bench.shapes)
        for (const std::string& kind : bench.bench.kinds) {
            if (shape.burst > 1 || kind == "unhashed") continue;
            specs.push_back(bench);
            specs.back().bench.profile = "pfqd";
            specs.back().bench.profile_s = kSeconds + kSpareSeconds;
            specs.back().bench.shapes = {shape};
            specs.back().bench.kinds = {kind};
        }
    return specs;
}

}  // namespace

nlohmann::json profile_qdisc_bench(const GuestSpec& bench, const GuestOptions& options,
                                   const Installation& installation, const Kernel& kernel,
                                   ProgressLine& progress) {
    nlohmann::json out = nlohmann::json::array();
    if (!have_perf()) {
        progress.note("perf is not installed: no profile (apt-get install linux-perf)");
        return out;
    }
    const std::vector<GuestSpec> profiles = specs_of(bench);
    for (size_t i = 0; i < profiles.size(); i++) {
        const GuestSpec& spec = profiles[i];
        progress.update(static_cast<double>(i) / static_cast<double>(profiles.size()), "profiles");
        nlohmann::json profile = profile_one(spec, options, installation, kernel);
        if (profile.is_null()) {
            progress.note("perf cannot record here: no profile");
            break;
        }
        profile["flows"] = spec.bench.shapes[0].flows;
        profile["packets"] = spec.bench.shapes[0].packets;
        profile["kind"] = spec.bench.kinds[0];
        out.push_back(profile);
    }
    return out;
}

}  // namespace pfqd::lab
