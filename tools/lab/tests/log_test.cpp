// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
#include "lab/host/results_log.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <functional>
#include <limits>
#include <nlohmann/json.hpp>
#include <sstream>

#include "lab/tests/fixtures.hpp"

namespace fs = std::filesystem;
using nlohmann::json;

namespace pfqd::lab {

namespace {

using namespace test;

constexpr double kInfinity = std::numeric_limits<double>::infinity();

fs::path put_log(const TempDir& dir, const std::vector<Record>& log) {
    return dir.file("log.bin", {reinterpret_cast<const char*>(log.data()), log.size() * sizeof(Record)});
}

std::vector<Record> some_log() {
    return synthetic_log(shipped_workload("w3"), 100, 1, 1);
}

TEST(Log, ComesBackAsItWas) {
    const TempDir dir;
    const auto log = some_log();
    const auto loaded = load_log(put_log(dir, log), 16);
    ASSERT_EQ(loaded.size(), log.size());
    EXPECT_EQ(std::memcmp(loaded.data(), log.data(), log.size() * sizeof(Record)), 0);
    EXPECT_TRUE(load_log(dir.file("empty", ""), 16).empty());
}

TEST(Log, MustBeWholeRecords) {
    const TempDir dir;
    const auto path = dir.file("log.bin", std::string(81, '\0'));
    EXPECT_NE(
        error_of([&] { load_log(path, 16); }).find("81 bytes are no whole number of records of 40 bytes"),
        std::string::npos);
}

struct Damage {
    const char* message;
    std::function<void(Record&)> apply;  // to record 50
};

class DamagedLog : public testing::TestWithParam<Damage> {};

TEST_P(DamagedLog, IsRefusedWithFileAndRecord) {
    const TempDir dir;
    auto log = some_log();
    GetParam().apply(log[50]);
    const auto path = put_log(dir, log);
    EXPECT_EQ(error_of([&] { load_log(path, 16); }),
              path.string() + ": record 50 is damaged: " + GetParam().message);
}

INSTANTIATE_TEST_SUITE_P(
    All, DamagedLog,
    testing::Values(Damage{"its id is not its position", [](Record& r) { r.id = 51; }},
                    Damage{"its size is out of range", [](Record& r) { r.bytes = 0; }},
                    Damage{"its size is out of range", [](Record& r) { r.bytes = (64 << 20) + 1; }},
                    Damage{"its host does not exist", [](Record& r) { r.src = 16; }},
                    Damage{"its host does not exist", [](Record& r) { r.dst = 65535; }},
                    Damage{"it is sent to its own sender", [](Record& r) { r.dst = r.src; }},
                    Damage{"its connection does not exist", [](Record& r) { r.conn = 64; }},
                    Damage{"it arrives before the record before it", [](Record& r) { r.at_ns = 0; }},
                    Damage{"it is sent before it arrives", [](Record& r) { r.sent_ns = r.at_ns - 1; }},
                    Damage{"it is done before it arrives", [](Record& r) { r.done_ns = r.at_ns - 1; }}));

TEST(Jsonl, HasOneLineAMessage) {
    const TempDir dir;
    Record finished{};
    finished.id = 0;
    finished.src = 3;
    finished.dst = 15;
    finished.conn = 31;
    finished.bytes = 1'000'000;
    finished.at_ns = 123;
    finished.sent_ns = 456;
    finished.done_ns = 59'999'999'999;
    Record stuck = finished;
    stuck.id = 1;
    stuck.done_ns = RPCLOAD_UNFINISHED;
    Record unsent = stuck;
    unsent.id = 2;
    unsent.sent_ns = RPCLOAD_UNFINISHED;
    const std::vector<Record> log = {finished, stuck, unsent};
    write_jsonl(dir.path() / "x.jsonl", log, std::vector<double>{1.00006, kInfinity, kInfinity});
    EXPECT_EQ(
        read_file(dir.path() / "x.jsonl"),
        R"({"id":0,"src":3,"dst":15,"conn":31,"bytes":1000000,"at_ns":123,"sent_ns":456,"done_ns":59999999999,"slowdown":1.0001})"
        "\n"
        R"({"id":1,"src":3,"dst":15,"conn":31,"bytes":1000000,"at_ns":123,"sent_ns":456,"done_ns":null,"slowdown":null})"
        "\n"
        R"({"id":2,"src":3,"dst":15,"conn":31,"bytes":1000000,"at_ns":123,"sent_ns":null,"done_ns":null,"slowdown":null})"
        "\n");
}

TEST(Jsonl, IsJsonAndExact) {
    const TempDir dir;
    const auto log = some_log();
    std::vector<double> slowdowns;
    for (size_t i = 0; i < log.size(); i++) slowdowns.push_back(0.999 + static_cast<double>(i * i) * 1.37);
    write_jsonl(dir.path() / "x.jsonl", log, slowdowns);
    std::istringstream lines(read_file(dir.path() / "x.jsonl"));
    size_t count = 0;
    for (std::string line; std::getline(lines, line); count++) {
        const json message = json::parse(line);
        EXPECT_EQ(message["id"], count);
        EXPECT_EQ(message["bytes"], log[count].bytes);
        EXPECT_EQ(message["done_ns"], log[count].done_ns);
        EXPECT_NEAR(message["slowdown"], slowdowns[count], 0.5001e-4);
    }
    EXPECT_EQ(count, log.size());
}

TEST(Jsonl, NeedsASlowdownForEveryMessage) {
    const TempDir dir;
    EXPECT_NE(error_of([&] {
                  write_jsonl(dir.path() / "x", some_log(), std::vector<double>{});
              }).find("100 messages with 0 slowdowns"),
              std::string::npos);
    EXPECT_FALSE(fs::exists(dir.path() / "x"));
}

// The largest cell has 1.13 million messages: a second, not a minute. Ten times slack
// for busy machines.
TEST(Jsonl, IsFast) {
    const TempDir dir;
    const auto log = synthetic_log(shipped_workload("w2"), 1'130'000, 1, 1);
    const std::vector<double> slowdowns(log.size(), 12.3456);
    const auto start = std::chrono::steady_clock::now();
    write_jsonl(dir.path() / "x.jsonl", log, slowdowns);
    const RunStats stats = compute(log, slowdowns);
    const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    RecordProperty("milliseconds", static_cast<int>(seconds * 1000));
    EXPECT_EQ(stats.messages, log.size());
    EXPECT_LT(seconds, 15);
}

}  // namespace

}  // namespace pfqd::lab
