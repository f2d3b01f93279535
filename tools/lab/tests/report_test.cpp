// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
#include "lab/host/report.hpp"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <algorithm>
#include <regex>
#include <set>
#include <sstream>

#include "lab/host/plot.hpp"
#include "lab/host/plot_figures.hpp"
#include "lab/host/report_page.hpp"
#include "lab/host/report_rows.hpp"
#include "lab/tests/fixtures.hpp"

namespace fs = std::filesystem;
using nlohmann::json;

namespace pfqd::lab {

namespace {

using namespace test;
using Runs = std::vector<Run>;  // inside a TEST, Run is something of GoogleTest

size_t occurrences(const std::string& text, const std::string& part) {
    size_t count = 0;
    for (size_t at = text.find(part); at != text.npos; at = text.find(part, at + part.size())) count++;
    return count;
}

bool has(const std::string& text, const std::string& part) {
    return text.find(part) != text.npos;
}

// Drawn once: twelve pictures take a second.
class ReportPage : public testing::Test {
  protected:
    static void SetUpTestSuite() {
        const TempDir dir;
        put_sweep(dir.path());
        testing::internal::CaptureStdout();
        testing::internal::CaptureStderr();
        status_ = report(dir.path(), {});
        terminal_ = testing::internal::GetCapturedStdout();
        testing::internal::GetCapturedStderr();
        page_ = read_file(dir.path() / "report.html");
    }
    static inline int status_ = -1;
    static inline std::string terminal_, page_;
};

TEST_F(ReportPage, Succeeds) {
    EXPECT_EQ(status_, 0);
    EXPECT_TRUE(page_.starts_with("<!DOCTYPE html>"));
    EXPECT_TRUE(page_.ends_with("</html>\n"));
}

TEST_F(ReportPage, RefersToNothingOutsideItself) {
    EXPECT_FALSE(std::regex_search(
        page_,
        std::regex("https?:|//[a-z0-9]+\\.|<link|<script|<img|@import|<iframe|<object", std::regex::icase)));
    // Every reference, whatever its form, is one inside the page.
    const std::regex reference("(?:href|src)=[\"']([^\"']*)|url\\(([^)]*)\\)");
    for (std::sregex_iterator it(page_.begin(), page_.end(), reference), end; it != end; ++it) {
        const std::string target = (*it)[1].matched ? (*it)[1] : (*it)[2];
        EXPECT_TRUE(target.starts_with("#")) << target;
        EXPECT_TRUE(has(page_, "id=\"" + target.substr(1) + "\"") ||
                    has(page_, "id='" + target.substr(1) + "'"))
            << target;
    }
}

TEST_F(ReportPage, HasNoIdTwice) {
    std::set<std::string> seen;
    const std::regex id(" id=[\"']([^\"']*)");
    for (std::sregex_iterator it(page_.begin(), page_.end(), id), end; it != end; ++it)
        EXPECT_TRUE(seen.insert((*it)[1]).second) << (*it)[1];
    EXPECT_GT(seen.size(), 20u);
}

TEST_F(ReportPage, DrawsEveryCellAndSaysWhatItDraws) {
    // Two cells with two variants: three pictures each.
    EXPECT_EQ(occurrences(page_, "<svg"), 12u);
    EXPECT_EQ(occurrences(page_, "role=\"img\" aria-label=\"w4:"), 12u);
    EXPECT_EQ(occurrences(page_, "<figcaption>"), 12u);
    EXPECT_FALSE(has(page_, "<title>Gnuplot</title>"));
}

TEST_F(ReportPage, HoldsWhatAReaderNeedsToCheckAndRepeatIt) {
    for (const char* text : {"scope=\"col\"", "scope=\"row\"", "network.mtu", "3000", "6.1.192", "gcc 12.2.0",
                             "Slowdown", "Decile", "Equal sizes are never split", "infinitely fast",
                             "build/bin/pfqd-lab run e1 --cell w4:50,w4:80 --seeds 1-3 --out results",
                             "connection=random", "(225 elements)"})
        EXPECT_TRUE(has(page_, text)) << text;
    EXPECT_TRUE(has(page_, std::string(64, 'a')));               // module
    EXPECT_TRUE(has(page_, "log_sha256 00000000000000000000"));  // each run's log
    EXPECT_EQ(occurrences(page_, "log_sha256 "), 41u);
}

TEST_F(ReportPage, IsHonestAboutGaps) {
    for (const std::string* text : {&page_, &terminal_}) {
        EXPECT_TRUE(has(*text, "w4:80: fq_codel has not run"));
        EXPECT_TRUE(has(*text, "w4:50 (connection=random): dctcp lacks seed 2"));
        EXPECT_TRUE(has(*text, "not run"));
    }
}

TEST_F(ReportPage, TerminalTableIsAligned) {
    EXPECT_FALSE(has(terminal_, "\x1b"));  // no colour
    std::istringstream lines(terminal_);
    std::string upper, lower, rule, row;
    std::getline(lines, upper);
    std::getline(lines, lower);
    std::getline(lines, rule);
    // Every right-aligned cell ends where its column's rule ends.
    std::vector<size_t> ends;
    for (size_t i = 0; i < rule.size(); i++)
        if (rule[i] == '-' && (i + 1 == rule.size() || rule[i + 1] != '-')) ends.push_back(i);
    ASSERT_EQ(ends.size(), 17u);
    size_t rows = 0;
    while (std::getline(lines, row) && !row.starts_with("Slowdown")) {
        if (row.empty() || has(row, "not run")) continue;
        rows++;
        for (size_t i = 3; i < ends.size(); i++) {
            ASSERT_LT(ends[i], row.size()) << row;
            EXPECT_NE(row[ends[i]], ' ') << row;
            if (ends[i] + 1 < row.size()) {
                EXPECT_EQ(row[ends[i] + 1], ' ') << row;
            }
        }
    }
    EXPECT_EQ(rows, 14u);
}

// "pfqd.control" means nothing to a FIFO: that it did not run with it is no gap.
TEST(Report, MissesNoConfigurationThatASettingDoesNotConcern) {
    const auto log = synthetic_log(shipped_workload("w4"), 500, 1, 1);
    const json particular = {{"pfqd.control", "256"}}, general = {{"mtu", "1500"}};
    const Runs runs = {run_from_json(run_json("w4:50", "fifo", 1, log), "run"),
                       run_from_json(run_json("w4:50", "pfqd", 1, log), "run"),
                       run_from_json(run_json("w4:50", "pfqd", 1, log, general), "run"),
                       run_from_json(run_json("w4:50", "pfqd", 1, log, particular), "run")};
    const auto groups = group(summarise(runs));
    EXPECT_EQ(gaps(groups), std::vector<std::string>{"w4:50 (mtu=1500): fifo has not run"});
    EXPECT_EQ(occurrences(main_table(groups, false).text(), "not run"), 1u);
}

TEST(Report, SaysWhatTheRunsDifferIn) {
    const auto log = synthetic_log(shipped_workload("w4"), 500, 1, 1);
    Runs runs = {run_from_json(run_json("w4:50", "fifo", 1, log), "run"),
                 run_from_json(run_json("w4:50", "pfqd", 2, log), "run")};
    EXPECT_TRUE(differences(runs).empty());  // the logs' own hashes differ, of course
    runs[1].modules["wire"] = "other";
    runs[1].hash["generator_sha256"] = "other";
    EXPECT_EQ(differences(runs), (std::vector<std::string>{"not all runs have the same generator_sha256",
                                                           "not all runs have the same module wire"}));
    EXPECT_TRUE(has(report_page(runs), "<li>not all runs have the same module wire</li>"));
    runs[1].kernel = "other";
    EXPECT_EQ(differences(runs).size(), 3u);
}

TEST(Report, EscapesWhatRunsSay) {
    const TempDir dir;
    json run = run_json("w4:50", "pfqd", 1, synthetic_log(shipped_workload("w4"), 500, 1, 1));
    run["command"] = "<script>alert(1)</script>";
    run["kernel"] = "<b>\"&'";
    run["variant"] = {{"connection", "<i>"}};
    run["hash"]["compiler"] = "<u>";
    run["parameters"]["network"]["mtu"] = "<s>";
    const std::string page = report_page(Runs{run_from_json(run, "run")});
    for (const char* tag : {"<script", "<b>", "<i>", "<u>", "<s>"}) EXPECT_FALSE(has(page, tag)) << tag;
    EXPECT_TRUE(has(page, "&lt;script&gt;alert(1)&lt;/script&gt;"));
    EXPECT_TRUE(has(page, "&lt;b&gt;&quot;&amp;&#39;"));
}

TEST(Report, SurvivesRunsWithoutAnyFinishedMessage) {
    std::vector<Record> log = synthetic_log(shipped_workload("w4"), 300, 1, 1);
    for (Record& record : log) record.done_ns = RPCLOAD_UNFINISHED;
    const Runs runs = {run_from_json(run_json("w4:50", "fifo", 1, log), "run")};
    const std::string page = report_page(runs);
    EXPECT_TRUE(has(page, ">inf<"));
    EXPECT_EQ(occurrences(page, "<svg"), 0u);
}

TEST(Report, PrintsJsonWhenAsked) {
    const TempDir dir;
    put_run(dir.path(), "a", run_json("w4:50", "pfqd", 1, synthetic_log(shipped_workload("w4"), 500, 1, 1)));
    testing::internal::CaptureStdout();
    testing::internal::CaptureStderr();
    EXPECT_EQ(report(dir.path(), {.json = true, .html = dir.path() / "other.html"}), 0);
    testing::internal::GetCapturedStderr();
    EXPECT_EQ(json::parse(testing::internal::GetCapturedStdout()),
              json::parse(read_file(dir.path() / "summary.json")));
    EXPECT_TRUE(fs::exists(dir.path() / "other.html"));
    EXPECT_FALSE(fs::exists(dir.path() / "report.html"));
}

TEST(Plot, ReportsGnuplotsError) {
    EXPECT_TRUE(has(error_of([] { run_gnuplot("plot nonsense(\n"); }), "gnuplot failed"));
}

TEST(Plot, SaysHowToInstallGnuplot) {
    const std::string before = getenv("PATH");
    setenv("PATH", "/nonexistent", 1);
    const std::string error = error_of([] { run_gnuplot(""); });
    setenv("PATH", before.c_str(), 1);
    EXPECT_TRUE(has(error, "apt-get install -y --no-install-recommends gnuplot-nox")) << error;
}

TEST(Texts, OfNumbers) {
    EXPECT_EQ(slowdown_text(1.0), "1.00");
    EXPECT_EQ(slowdown_text(9.994), "9.99");
    EXPECT_EQ(slowdown_text(9.996), "10.0");
    EXPECT_EQ(slowdown_text(99.96), "100");
    EXPECT_EQ(slowdown_text(12345.6), "12,346");
    EXPECT_EQ(slowdown_text(std::nullopt), "-");
    EXPECT_EQ(slowdown_text(HUGE_VAL), "inf");
    EXPECT_EQ(count_text(0), "0");
    EXPECT_EQ(count_text(999), "999");
    EXPECT_EQ(count_text(1000), "1,000");
    EXPECT_EQ(count_text(1234567), "1,234,567");
    EXPECT_EQ(seeds_text(std::vector<uint64_t>{1, 2, 3, 5}), "1-3,5");
    EXPECT_EQ(seeds_text(std::vector<uint64_t>{1, 2}), "1,2");
    EXPECT_EQ(bytes_text(315), "315");
    EXPECT_EQ(bytes_text(49408), "49.4k");
    EXPECT_EQ(bytes_text(1000), "1k");
    EXPECT_EQ(bytes_text(20000), "20k");
    EXPECT_EQ(bytes_text(123857), "124k");
    EXPECT_EQ(bytes_text(999'600), "1M");
    EXPECT_EQ(bytes_text(1'000'000), "1M");
}

TEST(Table, RefusesARowOfAnotherLength) {
    Table table({{"", "a"}, {"", "b"}});
    EXPECT_EQ(error_of([&] { table.add({"1"}); }), "a row of 1 cells in a table of 2");
}

}  // namespace

}  // namespace pfqd::lab
