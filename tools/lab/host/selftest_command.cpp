// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
#include "lab/host/selftest_command.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <fstream>
#include <set>
#include <sstream>
#include <stdexcept>
#include <thread>

#include "lab/host/guest_run.hpp"
#include "lab/host/progress.hpp"

namespace fs = std::filesystem;

namespace pfqd::lab {

namespace {

// The group that wants the kernel's detectors to fire (selftests/debug).
constexpr const char* kDetectorGroup = "debug";
constexpr size_t kConsoleLines = 30;

struct Program {
    std::string group;
    std::string path;  // below the checkout
};

void add_programs(std::vector<Program>& programs, const fs::path& source, const fs::path& base,
                  bool scripts) {
    if (!fs::exists(source / base)) return;
    for (const auto& group : fs::directory_iterator(source / base)) {
        if (!group.is_directory() || group.path().filename() == "lib") continue;
        for (const auto& file : fs::directory_iterator(group.path())) {
            if (!file.is_regular_file() || (scripts && file.path().extension() != ".sh")) continue;
            programs.push_back(
                {group.path().filename().string(), fs::relative(file.path(), source).string()});
        }
    }
}

std::vector<Program> find_programs(const Installation& installation, const std::vector<std::string>& groups) {
    std::vector<Program> all;
    add_programs(all, installation.source(), "build/selftests", false);
    add_programs(all, installation.source(), "selftests", true);
    std::sort(all.begin(), all.end(), [](const Program& a, const Program& b) { return a.path < b.path; });
    std::set<std::string> known;
    for (const Program& program : all) known.insert(program.group);
    for (const std::string& group : groups)
        if (!known.contains(group))
            throw std::invalid_argument(
                fmt::format("selftest group '{}' is none of {}", group, fmt::join(known, ", ")));
    std::erase_if(all, [&](const Program& program) {
        return !groups.empty() && std::find(groups.begin(), groups.end(), program.group) == groups.end();
    });
    return all;
}

std::string slurp(const fs::path& path) {
    std::ifstream file(path);
    return std::string((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
}

// The points that failed, each with what it has to say.
std::string failures_of(const std::string& tap) {
    std::istringstream lines(tap);
    std::string out;
    bool failing = false;
    for (std::string line; std::getline(lines, line);) {
        const bool point = line.starts_with("ok ") || line.starts_with("not ok ") || line.starts_with("1..");
        if (point) failing = line.starts_with("not ok ");
        if (failing || (!point && !line.starts_with("#") && !line.starts_with("TAP"))) out += line + "\n";
    }
    return out;
}

// The points that were skipped, each with its reason.
std::string skips_of(const std::string& tap) {
    std::istringstream lines(tap);
    std::string out;
    for (std::string line; std::getline(lines, line);)
        if (line.find("# SKIP") != std::string::npos) out += line + "\n";
    return out;
}

std::string indented(const std::string& text) {
    std::istringstream lines(text);
    std::string out;
    for (std::string line; std::getline(lines, line);) out += "    " + line + "\n";
    return out;
}

class Runner {
  public:
    Runner(const SelftestPlan& plan, const Installation& installation)
        : plan_(plan), installation_(installation), kernel_(installation.kernel(plan.kernel)) {}

    int run() {
        const std::vector<Program> programs = find_programs(installation_, plan_.groups);
        for (size_t i = 0; i < programs.size(); i++) {
            run_one(programs[i]);
            progress_.update(static_cast<double>(i + 1) / static_cast<double>(programs.size()), "selftests");
        }
        fmt::print("{} passed, {} failed", totals_.passed, totals_.failed);
        if (totals_.skipped) fmt::print(", {} skipped", totals_.skipped);
        fmt::print("\n");
        return totals_.failed ? 1 : 0;
    }

  private:
    // A guest for each program: what one leaves behind cannot help another.
    void run_one(const Program& program) {
        GuestSpec spec;
        spec.mode = "selftest";
        spec.programs = {program.path};
        GuestOptions options;
        options.stall = std::chrono::seconds(plan_.kernel.debug ? 600 : 240);
        options.allow_splats = program.group == kDetectorGroup;
        GuestRun guest(installation_, kernel_, spec, options);
        while (!guest.poll()) std::this_thread::sleep_for(std::chrono::milliseconds(10));

        const std::string tap = slurp(guest.dir() / "test-0.tap");
        const bool ran = guest.failure().empty();
        const bool clean = ran && guest.result()["tests"][0]["exit"] == 0;
        SelftestTotals totals = count_tap(tap, clean);
        if (!ran && !totals.failed) totals.failed++;
        // The runner's own eyes are tested too: it must have seen what the program saw.
        if (options.allow_splats && totals.passed && guest.splats().empty()) {
            fmt::print("    the runner saw no splat in the guest's log\n");
            totals.failed++;
        }
        report(program, guest, tap, totals);
    }

    void report(const Program& program, const GuestRun& guest, const std::string& tap,
                const SelftestTotals& totals) {
        totals_.passed += totals.passed;
        totals_.failed += totals.failed;
        totals_.skipped += totals.skipped;
        fmt::print("{} {}: {} passed, {} failed, {} skipped ({})\n", totals.failed ? "not ok" : "ok",
                   program.path, totals.passed, totals.failed, totals.skipped, duration_text(guest.wall_s()));
        if (totals.failed || plan_.verbose)
            fmt::print("{}", indented(plan_.verbose ? tap : failures_of(tap)));
        else if (totals.skipped)
            fmt::print("{}", indented(skips_of(tap)));
        if (!guest.failure().empty())
            fmt::print("    {}\n{}", guest.failure(), guest.console_tail(kConsoleLines));
        std::fflush(stdout);
    }

    const SelftestPlan& plan_;
    const Installation& installation_;
    Kernel kernel_;
    SelftestTotals totals_;
    ProgressLine progress_;
};

}  // namespace

SelftestTotals count_tap(const std::string& tap, bool exited_cleanly) {
    SelftestTotals totals;
    unsigned planned = 0, points = 0;
    bool plan_seen = false;
    std::istringstream lines(tap);
    for (std::string line; std::getline(lines, line);) {
        const bool ok = line.starts_with("ok "), not_ok = line.starts_with("not ok ");
        if (line.starts_with("1..")) {
            plan_seen = true;
            planned = static_cast<unsigned>(std::strtoul(line.c_str() + 3, nullptr, 10));
            if (planned == 0 && line.find("# SKIP") != std::string::npos) {
                totals.skipped = 1;
                return totals;
            }
        }
        if (ok || not_ok) points++;
        if (not_ok)
            totals.failed++;
        else if (ok && line.find("# SKIP") != std::string::npos)
            totals.skipped++;
        else if (ok)
            totals.passed++;
    }
    const bool complete = plan_seen && planned > 0 && points == planned;
    if ((!complete || !exited_cleanly) && totals.failed == 0) totals.failed++;
    return totals;
}

int run_selftest_command(const SelftestPlan& plan, const Installation& installation) {
    return Runner(plan, installation).run();
}

}  // namespace pfqd::lab
