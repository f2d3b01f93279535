// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
#include "lab/host/stats.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "lab/common/prng.hpp"
#include "lab/tests/fixtures.hpp"

namespace pfqd::lab {

namespace {

using namespace test;

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// n messages of one size with slowdowns 1 .. n.
std::vector<Record> ladder(uint32_t bytes, uint64_t n) {
    std::vector<Record> log;
    for (uint64_t i = n; i >= 1; i--) log.push_back(message(bytes, i));
    return log;
}

void append(std::vector<Record>& log, const std::vector<Record>& more) {
    log.insert(log.end(), more.begin(), more.end());
}

TEST(NearestRank, IsTheCeilingOfTheShare) {
    EXPECT_EQ(nearest_rank(1, 500), 0u);
    EXPECT_EQ(nearest_rank(1, 990), 0u);
    EXPECT_EQ(nearest_rank(100, 500), 49u);
    EXPECT_EQ(nearest_rank(100, 990), 98u);
    EXPECT_EQ(nearest_rank(101, 990), 99u);  // ceil(99.99) = 100th
    EXPECT_EQ(nearest_rank(200, 990), 197u);
    EXPECT_EQ(nearest_rank(3, 500), 1u);
}

TEST(Stats, PercentilesOfALadder) {
    const RunStats stats = compute(ladder(100, 1000), one_ns);
    EXPECT_EQ(stats.messages, 1000u);
    EXPECT_EQ(stats.shorts.p50, 500);
    EXPECT_EQ(stats.shorts.p99, 990);
    EXPECT_EQ(stats.worst_short_decile_p99, 990);
}

TEST(Stats, OfNothing) {
    const RunStats stats = compute(std::vector<Record>{}, one_ns);
    EXPECT_EQ(stats.messages, 0u);
    EXPECT_FALSE(stats.shorts.p50);
    EXPECT_FALSE(stats.worst_short_decile_p99);
    EXPECT_TRUE(stats.short_quantiles.empty());
    for (const Decile& decile : stats.deciles) EXPECT_EQ(decile.tail.count, 0u);
}

TEST(Stats, OfOneMessage) {
    const RunStats stats = compute(std::vector<Record>{message(300, 7)}, one_ns);
    EXPECT_EQ(stats.deciles[0].tail.count, 1u);
    EXPECT_EQ(stats.deciles[0].tail.p50, 7);
    EXPECT_EQ(stats.deciles[0].tail.p99, 7);
    for (size_t i = 1; i < kDeciles; i++) EXPECT_EQ(stats.deciles[i].tail.count, 0u) << i;
    EXPECT_EQ(stats.shorts.p99, 7);
    EXPECT_EQ(stats.short_quantiles.front().second, 7);
    EXPECT_EQ(stats.short_quantiles.back().second, 7);
}

TEST(Deciles, AreCutAtRanks) {
    std::vector<Record> log;
    for (uint32_t bytes = 25; bytes >= 1; bytes--) log.push_back(message(bytes, bytes));
    const RunStats stats = compute(log, one_ns);
    // Cuts at ceil(2.5 i): 3, 5, 8, 10, 13, 15, 18, 20, 23, 25.
    const std::array<uint32_t, kDeciles> largest = {3, 5, 8, 10, 13, 15, 18, 20, 23, 25};
    for (size_t i = 0; i < kDeciles; i++) {
        EXPECT_EQ(stats.deciles[i].max_bytes, largest[i]) << i;
        EXPECT_EQ(stats.deciles[i].min_bytes, i ? largest[i - 1] + 1 : 1) << i;
        EXPECT_EQ(stats.deciles[i].tail.count, largest[i] - (i ? largest[i - 1] : 0)) << i;
    }
}

TEST(Deciles, TiesJoinTheLowerDecile) {
    std::vector<Record> log = ladder(8, 31);  // 31 of 100 are 8 B
    for (uint32_t i = 0; i < 69; i++) log.push_back(message(100 + i, 1));
    const RunStats stats = compute(log, one_ns);
    EXPECT_EQ(stats.deciles[0].tail.count, 31u);
    EXPECT_EQ(stats.deciles[0].max_bytes, 8u);
    EXPECT_EQ(stats.deciles[1].tail.count, 0u);
    EXPECT_EQ(stats.deciles[2].tail.count, 0u);
    EXPECT_EQ(stats.deciles[3].tail.count, 9u);
    EXPECT_EQ(stats.deciles[4].tail.count, 10u);
    EXPECT_FALSE(stats.deciles[1].tail.p99);
}

// 30 % of W5 is exactly 1,000,000 B: wherever the cuts fall, one decile has them all.
TEST(Deciles, NeverSplitTheMegabytesOfW5) {
    const Workload w5 = shipped_workload("w5");
    for (uint64_t seed = 1; seed <= 20; seed++) {
        const auto log = synthetic_log(w5, 3900, seed, 1);
        const auto largest = static_cast<uint64_t>(std::count_if(
            log.begin(), log.end(), [](const Record& record) { return record.bytes == 1'000'000; }));
        EXPECT_NEAR(static_cast<double>(largest), 1170, 150);
        const RunStats stats = compute(log, one_ns);
        uint64_t counted = 0;
        int with_megabytes = 0;
        for (size_t i = 0; i < kDeciles; i++) {
            const Decile& decile = stats.deciles[i];
            counted += decile.tail.count;
            if (decile.max_bytes == 1'000'000) {
                with_megabytes++;
                EXPECT_GE(decile.tail.count, largest);
            }
            if (i > 0 && decile.tail.count > 0 && stats.deciles[i - 1].tail.count > 0) {
                EXPECT_LT(stats.deciles[i - 1].max_bytes, decile.min_bytes);
            }
        }
        EXPECT_EQ(with_megabytes, 1);
        EXPECT_EQ(counted, 3900u);
    }
}

TEST(Shorts, AreDecilesUpTo40000Bytes) {
    std::vector<Record> log;
    for (int decile = 0; decile < 10; decile++)
        append(log, ladder(decile < 4 ? 100 + decile : decile == 4 ? 40'000 : 40'001 + decile, 100));
    for (size_t i = 300; i < 400; i++) log[i].done_ns += 50;  // decile 4: slowdowns 51 .. 150
    const RunStats stats = compute(log, one_ns);
    EXPECT_EQ(stats.shorts.count, 500u);
    EXPECT_EQ(stats.worst_short_decile_p99, 149);
    // 400 values in 1 .. 100 and 100 in 51 .. 150; the 495th of 500 is 145.
    EXPECT_EQ(stats.shorts.p99, 145);
}

TEST(Shorts, ADecileThatReachesAbove40000IsNotShort) {
    std::vector<Record> log;
    for (uint32_t i = 0; i < 100; i++) log.push_back(message(39'905 + i, i + 1));
    const RunStats stats = compute(log, one_ns);
    // The last decile holds 39,995 to 40,004 B: its first six messages are not short.
    EXPECT_EQ(stats.deciles[9].min_bytes, 39'995u);
    EXPECT_EQ(stats.deciles[9].max_bytes, 40'004u);
    EXPECT_EQ(stats.shorts.count, 90u);
    EXPECT_EQ(stats.worst_short_decile_p99, 90);
}

TEST(Large, IsAbove255000AndNeedsAHundred) {
    std::vector<Record> log = ladder(255'000, 100);
    append(log, ladder(255'001, 99));
    RunStats stats = compute(log, one_ns);
    EXPECT_EQ(stats.large.count, 99u);
    EXPECT_FALSE(stats.large.p50);
    EXPECT_FALSE(stats.large.p99);
    EXPECT_TRUE(to_json(stats)["large"]["p99"].is_null());
    EXPECT_TRUE(stats.large_quantiles.empty());
    log.push_back(message(1'000'000, 1000));
    stats = compute(log, one_ns);
    EXPECT_EQ(stats.large.count, 100u);
    EXPECT_EQ(stats.large.p50, 50);
    EXPECT_EQ(stats.large.p99, 99);
}

TEST(Unfinished, CountsAsInfinitelySlow) {
    std::vector<Record> log = ladder(100, 99);
    log.push_back(unfinished_message(100));
    RunStats stats = compute(log, one_ns);
    EXPECT_EQ(stats.unfinished, 1u);
    EXPECT_EQ(stats.shorts.unfinished, 1u);
    EXPECT_EQ(stats.shorts.p50, 50);
    EXPECT_EQ(stats.shorts.p99, 99);  // the 99th of 100
    log.push_back(unfinished_message(100));
    stats = compute(log, one_ns);
    EXPECT_EQ(stats.shorts.p99, kInfinity);
    EXPECT_EQ(stats.worst_short_decile_p99, kInfinity);
    EXPECT_TRUE(to_json(stats)["short"]["p99"].is_null());
    EXPECT_TRUE(to_json(stats)["worst_short_decile_p99"].is_null());
    EXPECT_EQ(to_json(stats)["unfinished"], 2);
}

TEST(Slowdown, BelowOneIsAnErrorThatNamesTheMessage) {
    Record record = message(500, 0);
    record.id = 77;
    record.done_ns = record.at_ns + 998;
    const auto ideal = [](const Record&) -> uint64_t { return 1'000'000; };  // 1,000 ns
    const std::string error = error_of([&] { slowdowns(std::vector<Record>{record}, ideal); });
    EXPECT_NE(error.find("message 77 (500 B, host 0 to host 1"), std::string::npos) << error;
    EXPECT_NE(error.find("0.998"), std::string::npos) << error;
    record.done_ns = record.at_ns + 999;  // 0.999 is accepted
    EXPECT_DOUBLE_EQ(slowdowns(std::vector<Record>{record}, ideal).front(), 0.999);
    record.done_ns = record.at_ns - 1;
    EXPECT_NE(error_of([&] { slowdowns(std::vector<Record>{record}, ideal); }).find("done before it arrives"),
              std::string::npos);
}

TEST(Interval, HasTheKnownPositions) {
    // Bin(1000, 0.99): P(<= 982) = 0.0138 and P(<= 983) = 0.0264, around 0.025, so the
    // interval begins at the 983rd value; P(<= 995) = 0.9713 and P(<= 996) = 0.9899, around
    // 0.975, so it ends at the 997th.
    const RunStats stats = compute(ladder(100, 1000), one_ns);
    EXPECT_EQ(stats.shorts.p99_low, 983);
    EXPECT_EQ(stats.shorts.p99_high, 997);
    // 100 values cannot bound their P99 from above: P(Bin(100, 0.99) <= 99) = 0.634.
    const RunStats few = compute(ladder(100, 100), one_ns);
    EXPECT_FALSE(few.shorts.p99_high);
    EXPECT_TRUE(few.shorts.p99_low);
}

TEST(Interval, CoversTheTruthInNineteenOfTwentyCases) {
    constexpr int kTrials = 1000;
    Prng random(9);
    int covered = 0;
    for (int trial = 0; trial < kTrials; trial++) {
        std::vector<Record> log;
        for (int i = 0; i < 1000; i++)
            log.push_back(message(1, 1 + static_cast<uint64_t>(random.uniform() * 1e6)));
        const RunStats stats = compute(log, one_ns);
        covered += *stats.shorts.p99_low <= 990'000 && 990'000 <= *stats.shorts.p99_high;
    }
    // At least 95 % by construction, and not far above: 0.95 +- 4 standard errors of 0.0069.
    EXPECT_GE(covered, 0.95 * kTrials - 28);
    EXPECT_LE(covered, 0.985 * kTrials);
}

TEST(Quantiles, ReachFromTheSmallestToTheLargest) {
    const RunStats stats = compute(ladder(100, 10'000), one_ns);
    const Quantiles& quantiles = stats.short_quantiles;
    ASSERT_GT(quantiles.size(), 150u);
    EXPECT_EQ(quantiles.front(), std::pair(0.0, 1.0));
    EXPECT_EQ(quantiles.back(), std::pair(1.0, 10'000.0));
    for (const auto& [fraction, value] : quantiles)
        EXPECT_EQ(value, fraction == 0 ? 1 : std::ceil(fraction * 10'000 - 1e-6)) << fraction;
    EXPECT_TRUE(
        std::any_of(quantiles.begin(), quantiles.end(), [](const auto& one) { return one.first == 0.999; }));
}

TEST(StatsJson, ComesBackAsItWas) {
    std::vector<Record> log = synthetic_log(shipped_workload("w4"), 3000, 5, 2);
    const RunStats stats = compute(log, one_ns);
    EXPECT_EQ(to_json(stats_from_json(to_json(stats), "file")), to_json(stats));
}

TEST(StatsJson, KeepsInfinityApartFromNoValue) {
    std::vector<Record> log = ladder(100, 10);
    for (int i = 0; i < 10; i++) log.push_back(unfinished_message(100));
    const RunStats stats = stats_from_json(to_json(compute(log, one_ns)), "file");
    EXPECT_EQ(stats.shorts.p50, 10);
    EXPECT_EQ(stats.shorts.p99, kInfinity);
    EXPECT_FALSE(stats.large.p99);
    EXPECT_FALSE(stats.deciles[5].tail.p99);
}

}  // namespace

}  // namespace pfqd::lab
