// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
#include "lab/host/results.hpp"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmath>
#include <csignal>
#include <sstream>

#include "lab/host/results_file.hpp"
#include "lab/host/results_summary.hpp"
#include "lab/tests/fixtures.hpp"

namespace fs = std::filesystem;
using nlohmann::json;

namespace pfqd::lab {

namespace {

using namespace test;
using Runs = std::vector<Run>;  // inside a TEST, Run is something of GoogleTest

json some_run(uint64_t seed = 1) {
    return run_json("w4:50", "pfqd", seed, synthetic_log(shipped_workload("w4"), 2000, seed, 1));
}

std::vector<std::string> lines_of(const fs::path& path) {
    std::istringstream text(read_file(path));
    std::vector<std::string> lines;
    for (std::string line; std::getline(text, line);) lines.push_back(line);
    return lines;
}

const json* find_cell(const json& summary, const std::string& cell, const std::string& config,
                      const json& variant) {
    for (const json& row : summary["cells"])
        if (row["cell"] == cell && row["config"] == config && row.value("variant", json()) == variant)
            return &row;
    return nullptr;
}

TEST(Summary, HasTheShapeThatWasPromised) {
    const TempDir dir;
    put_sweep(dir.path());
    write_results(dir.path());
    const json summary = json::parse(read_file(dir.path() / "summary.json"));
    EXPECT_EQ(summary["kernel"]["release"], "6.1.192");
    EXPECT_EQ(summary["modules"]["sch_pfqd"], std::string(64, 'a'));
    EXPECT_EQ(summary["parameters"]["network.mtu"], 3000);
    EXPECT_FALSE(summary["parameters"].contains("network.port_qdisc"));  // differs between cells
    ASSERT_EQ(summary["cells"].size(), 14u);
    for (const json& row : summary["cells"]) {
        for (const char* text : {"experiment", "cell", "config"}) EXPECT_TRUE(row[text].is_string()) << text;
        EXPECT_TRUE(row["seeds"].is_array());
        for (const char* tail :
             {"short_p50", "short_p99", "worst_short_decile_p99", "large_p50", "large_p99"})
            for (const char* end : {"", "_min", "_max"})
                EXPECT_TRUE(row[std::string(tail) + end].is_number()) << tail;
        for (const char* count : {"drops", "drops_host", "drops_tor", "marks", "marks_host", "marks_tor",
                                  "retransmits", "timeouts", "messages", "unfinished", "data_packets"})
            EXPECT_TRUE(row[count].is_number_unsigned()) << count;
        for (const char* seconds : {"wall_s", "setup_s", "packets_per_s"})
            EXPECT_TRUE(row[seconds].is_number()) << seconds;
        EXPECT_EQ(row["parameters"], json({{"network.port_qdisc", row["config"]}}));
    }
    const json random = {{"connection", "random"}};
    EXPECT_TRUE(find_cell(summary, "w4:50", "pfqd", json()));
    EXPECT_TRUE(find_cell(summary, "w4:50", "pfqd", random));
    EXPECT_EQ((*find_cell(summary, "w4:50", "dctcp", random))["seeds"], json({1, 3}));
    EXPECT_FALSE(find_cell(summary, "w4:80", "fq_codel", json()));
}

TEST(Summary, TakesMediansOfPercentilesAndSumsOfCounters) {
    Runs runs;
    for (uint64_t seed = 1; seed <= 3; seed++) runs.push_back(run_from_json(some_run(seed), "run"));
    runs[0].stats.shorts.p99 = 30;
    runs[1].stats.shorts.p99 = 10;
    runs[2].stats.shorts.p99 = 20;
    const json row = summary_json(runs)["cells"][0];
    EXPECT_EQ(row["short_p99"], 20);
    EXPECT_EQ(row["short_p99_min"], 10);
    EXPECT_EQ(row["short_p99_max"], 30);
    EXPECT_EQ(row["seeds"], json({1, 2, 3}));
    EXPECT_EQ(row["drops"], 3 * 13);
    EXPECT_EQ(row["drops_host"], 3);
    EXPECT_EQ(row["drops_tor"], 3 * 12);
    EXPECT_EQ(row["messages"], 6000);
    EXPECT_EQ(row["data_packets"], 3 * 524'000);
    EXPECT_DOUBLE_EQ(row["wall_s"], 72);
    EXPECT_DOUBLE_EQ(row["packets_per_s"], 3 * 524'000 / (72.0 - 6.0));

    runs.pop_back();  // an even number: the mean of the two
    EXPECT_EQ(summary_json(runs)["cells"][0]["short_p99"], 20);
    runs[1].stats.shorts.p99 = HUGE_VAL;
    EXPECT_TRUE(summary_json(runs)["cells"][0]["short_p99"].is_null());
    EXPECT_EQ(summary_json(runs)["cells"][0]["short_p99_min"], 30);
    runs[0].stats.shorts.p99 = HUGE_VAL;  // infinite twice is not "not a number"
    EXPECT_TRUE(std::isinf(*summarise(runs)[0].short_p99.median));
}

TEST(Summary, GivesNoPercentileThatASeedLacks) {
    Runs runs = {run_from_json(some_run(1), "run"), run_from_json(some_run(2), "run")};
    runs[1].stats.large.p99 = std::nullopt;
    EXPECT_TRUE(summary_json(runs)["cells"][0]["large_p99"].is_null());
    EXPECT_TRUE(summary_json(runs)["cells"][0]["large_p50"].is_number());
}

TEST(Summary, ShowsThatRunsHaveDifferentModules) {
    Runs runs = {run_from_json(some_run(1), "run"), run_from_json(some_run(2), "run")};
    runs[1].modules["wire"] = "other";
    const json modules = summary_json(runs)["modules"];
    EXPECT_TRUE(modules["sch_pfqd"].is_string());
    EXPECT_EQ(modules["wire"], json({std::string(64, 'b'), "other"}));
}

TEST(Results, HaveOneLineADecile) {
    const TempDir dir;
    put_run(dir.path(), "a", some_run(1));
    json other = some_run(2);
    other["variant"] = {{"connection", "random"}};
    put_run(dir.path(), "b", other);
    write_results(dir.path());
    const auto lines = lines_of(dir.path() / "results.jsonl");
    ASSERT_EQ(lines.size(), 20u);
    uint64_t messages = 0;
    for (size_t i = 0; i < lines.size(); i++) {
        const json line = json::parse(lines[i]);
        EXPECT_EQ(line["cell"], "w4:50");
        EXPECT_EQ(line["seed"], i < 10 ? 1 : 2);
        EXPECT_EQ(line["decile"], i % 10 + 1);
        EXPECT_EQ(line.contains("variant"), i >= 10);
        messages += line["count"].get<uint64_t>();
        EXPECT_LE(line["min_bytes"], line["max_bytes"]);
        EXPECT_LE(line["p50"], line["p99"]);
    }
    EXPECT_EQ(messages, 4000u);
}

TEST(Results, ComeInTheOrderOfTables) {
    const TempDir dir;
    put_sweep(dir.path());
    const auto runs = load_runs(dir.path());
    std::vector<std::string> seen;
    for (const auto& run : runs) {
        const std::string key = run.cell + " " + variant_text(run.variant) + " " + run.config;
        if (seen.empty() || seen.back() != key) seen.push_back(key);
    }
    EXPECT_EQ(seen.front(), "w4:50  fifo");
    EXPECT_EQ(seen[1], "w4:50  dctcp");
    EXPECT_EQ(seen[4], "w4:50 connection=random fifo");
    EXPECT_EQ(seen.back(), "w4:80 connection=random pfqd");
    EXPECT_TRUE(cell_before("w2:3.2g", "w2:50"));
    EXPECT_TRUE(cell_before("w5:80", "w1:50"));  // names outside the paper come last
}

struct Damage {
    const char* path;  // JSON pointer
    json value;        // null: remove it
    const char* field;
    const char* expected;
};

class DamagedRun : public testing::TestWithParam<Damage> {};

TEST_P(DamagedRun, IsRefusedWithFileAndField) {
    const TempDir dir;
    json run = some_run();
    const json::json_pointer where(GetParam().path);
    if (GetParam().value.is_null())
        run.at(where.parent_pointer()).erase(where.back());
    else
        run[where] = GetParam().value;
    put_run(dir.path(), "bad", run);
    const std::string error = error_of([&] { load_runs(dir.path()); });
    EXPECT_NE(error.find((dir.path() / "runs/bad.json").string()), std::string::npos) << error;
    EXPECT_NE(error.find("'" + std::string(GetParam().field) + "'"), std::string::npos) << error;
    EXPECT_NE(error.find(GetParam().expected), std::string::npos) << error;
    EXPECT_LT(error.size(), 500u);
}

INSTANTIATE_TEST_SUITE_P(
    All, DamagedRun,
    testing::Values(
        Damage{"/cell", json(), ".", "an object with a field 'cell'"}, Damage{"/cell", 5, "cell", "a text"},
        Damage{"/cell", "w4'; rm", "cell", "letters, digits"},
        Damage{"/cell", std::string(100'000, 'w'), "cell", "at most 64 bytes"},
        Damage{"/config", "", "config", "1 to 64"}, Damage{"/seed", -1, "seed", "a whole number from 0"},
        Damage{"/seed", 1.5, "seed", "a whole number from 0"},
        Damage{"/variant", json::array(), "variant", "an object"},
        Damage{"/variant/x", json::array(), "variant.x", "a text, number or truth value"},
        Damage{"/hash", "x", "hash", "an object"}, Damage{"/modules", 1, "modules", "an object"},
        Damage{"/wall_s", -0.5, "wall_s", "a number from 0"},
        Damage{"/setup_s", 25.0, "setup_s", "a number from 0 to 24"},
        Damage{"/counters/drops", json(), "counters", "'drops'"},
        Damage{"/counters/drops/total", 99, "counters.drops.total", "the sum of host and tor"},
        Damage{"/counters/unfinished", 2001, "counters.unfinished", "from 0 to 2000"},
        Damage{"/counters/messages", 1999, "counters.messages", "2000, as in stats"},
        Damage{"/stats/deciles", json::array(), "stats.deciles", "an array of 10 elements"},
        Damage{"/stats/deciles/3/p99", "1e9", "stats.deciles[3].p99", "a number from 0.999"},
        Damage{"/stats/deciles/3/p99", 0.5, "stats.deciles[3].p99", "a number from 0.999"},
        Damage{"/stats/deciles/3/count", 1, "stats.messages", "the sum of the deciles' counts"},
        Damage{"/stats/short/unfinished", 99999, "stats.short.unfinished", "a whole number"},
        Damage{"/stats/short_quantiles/0", 1, "stats.short_quantiles[0]", "an array of 2 elements"},
        Damage{"/stats/short_quantiles/0/0", 1.5, "stats.short_quantiles[0][0]", "from 0 to 1"}));

TEST(LoadRuns, RefusesWhatIsNoJson) {
    const TempDir dir;
    dir.file("runs/bad.json", "{\"experiment\": ");
    EXPECT_NE(error_of([&] { load_runs(dir.path()); }).find("bad.json: byte 16 is not JSON"),
              std::string::npos);
    dir.file("runs/bad.json", "\"\xff\"");
    EXPECT_NE(error_of([&] { load_runs(dir.path()); }).find("bad.json: byte 2 is not JSON"),
              std::string::npos);
    dir.file("runs/bad.json", std::string(1'000'000, '['));
    EXPECT_NE(error_of([&] { load_runs(dir.path()); }).find("nested deeper"), std::string::npos);
    dir.file("runs/bad.json", std::string(17 << 20, ' '));
    EXPECT_NE(error_of([&] { load_runs(dir.path()); }).find("more than the accepted"), std::string::npos);
    dir.file("runs/bad.json", "7");
    EXPECT_NE(error_of([&] { load_runs(dir.path()); }).find("field '.' is 7, expected an object"),
              std::string::npos);
}

TEST(LoadRuns, RefusesADirectoryWithoutRuns) {
    const TempDir dir;
    EXPECT_NE(error_of([&] { load_runs(dir.path()); }).find("is not a results directory"), std::string::npos);
    fs::create_directory(dir.path() / "runs");
    EXPECT_NE(error_of([&] { load_runs(dir.path()); }).find("holds no finished run"), std::string::npos);
    mkfifo((dir.path() / "runs/x.json").c_str(), 0600);
    EXPECT_NE(error_of([&] { load_runs(dir.path()); }).find("not a regular file"), std::string::npos);
}

TEST(LoadRuns, RefusesTwoRunsThatClaimToBeTheSame) {
    const TempDir dir;
    put_run(dir.path(), "a", some_run());
    put_run(dir.path(), "b", some_run());
    EXPECT_NE(error_of([&] { load_runs(dir.path()); }).find("a.json and b.json are the same"),
              std::string::npos);
}

TEST(AtomicFile, AppearsWholeOrNotAtAll) {
    const TempDir dir;
    const fs::path path = dir.file("out", "before");
    {
        AtomicFile file(path);
        file.write("half of");
        EXPECT_EQ(read_file(path), "before");
    }
    EXPECT_EQ(read_file(path), "before");
    EXPECT_EQ(std::distance(fs::directory_iterator(dir.path()), {}), 1) << "a temporary file is left";
    write_file_atomically(path, "after");
    EXPECT_EQ(read_file(path), "after");
    EXPECT_EQ(std::distance(fs::directory_iterator(dir.path()), {}), 1) << "a temporary file is left";
}

// A file size limit makes write() fail as a full disk does, in the middle of the file.
TEST(AtomicFile, AFullDiskIsAnErrorAndLeavesWhatWas) {
    const TempDir dir;
    const fs::path path = dir.file("out", "before");
    rlimit before{};
    getrlimit(RLIMIT_FSIZE, &before);
    const rlimit small{1000, before.rlim_max};
    std::signal(SIGXFSZ, SIG_IGN);
    setrlimit(RLIMIT_FSIZE, &small);
    const std::string error = error_of([&] { write_file_atomically(path, std::string(5000, 'x')); });
    setrlimit(RLIMIT_FSIZE, &before);
    std::signal(SIGXFSZ, SIG_DFL);
    EXPECT_NE(error.find("cannot write " + path.string() + ": File too large"), std::string::npos) << error;
    EXPECT_EQ(read_file(path), "before");
    EXPECT_EQ(std::distance(fs::directory_iterator(dir.path()), {}), 1);
    EXPECT_NE(error_of([] { write_file_atomically("/dev/full/x", ""); }).find("cannot create /dev/full/x"),
              std::string::npos);
}

}  // namespace

}  // namespace pfqd::lab
