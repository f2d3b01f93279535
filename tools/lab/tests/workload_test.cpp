// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
#include "lab/common/workload.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "lab/common/prng.hpp"
#include "lab/tests/fixtures.hpp"

namespace pfqd::lab {

namespace {

using test::error_of;
using test::TempDir;

struct Expected {
    const char* name;
    size_t points;
    double mean;
    uint32_t largest;
};

class ShippedWorkload : public testing::TestWithParam<Expected> {};

TEST_P(ShippedWorkload, HasTheMeanAndPointsOfTheSources) {
    const Workload workload = test::shipped_workload(GetParam().name);
    EXPECT_EQ(workload.points().size(), GetParam().points);
    EXPECT_NEAR(workload.mean(), GetParam().mean, 0.05);
    EXPECT_EQ(workload.points().back().bytes, GetParam().largest);
}

// The mean of n samples lies within 5 standard errors; a wrong rule (interpolation, an
// off-by-one in the points) moves it by far more.
TEST_P(ShippedWorkload, SamplesHaveThatMean) {
    constexpr int kSamples = 2'000'000;
    const Workload workload = test::shipped_workload(GetParam().name);
    Prng random(42);
    double sum = 0, squares = 0;
    for (int i = 0; i < kSamples; i++) {
        const double bytes = workload.sample(random.uniform());
        sum += bytes;
        squares += bytes * bytes;
    }
    const double mean = sum / kSamples;
    const double error = std::sqrt((squares / kSamples - mean * mean) / kSamples);
    EXPECT_NEAR(mean, GetParam().mean, 5 * error);
}

INSTANTIATE_TEST_SUITE_P(All, ShippedWorkload,
                         testing::Values(Expected{"w1", 156, 192.8, 83'912},
                                         Expected{"w2", 95, 440.8, 1'000'000},
                                         Expected{"w3", 113, 2567.7, 1'000'000},
                                         Expected{"w4", 225, 61008.1, 1'000'000},
                                         Expected{"w5", 109, 386161.4, 1'000'000}),
                         [](const auto& info) { return info.param.name; });

TEST(Workload, SamplesTheFirstPointWhoseFractionReachesU) {
    const Workload workload = Workload::from_points({{10, 0.25}, {20, 0.5}, {40, 1}});
    EXPECT_EQ(workload.sample(0), 10u);
    EXPECT_EQ(workload.sample(0.25), 10u);  // fraction >= u
    EXPECT_EQ(workload.sample(std::nextafter(0.25, 1)), 20u);
    EXPECT_EQ(workload.sample(0.5), 20u);
    EXPECT_EQ(workload.sample(0.75), 40u);  // never a size in between
    EXPECT_EQ(workload.sample(std::nextafter(1.0, 0)), 40u);
    EXPECT_DOUBLE_EQ(workload.mean(), 10 * 0.25 + 20 * 0.25 + 40 * 0.5);
}

TEST(Workload, ReadsAUsersFile) {
    const TempDir dir;
    const auto path = dir.file("mine.txt", "# mine\n\n 100 0.5 # half\n1000\t1.0\r\n");
    const Workload workload = Workload::load(path);
    ASSERT_EQ(workload.points().size(), 2u);
    EXPECT_EQ(workload.points()[0].bytes, 100u);
    EXPECT_EQ(workload.points()[1].bytes, 1000u);
    EXPECT_DOUBLE_EQ(workload.mean(), 550);
}

struct Hostile {
    const char* content;
    const char* line;     // ":2:" or "" when the file as a whole is wrong
    const char* message;  // names the field and what is accepted
};

class HostileWorkload : public testing::TestWithParam<Hostile> {};

TEST_P(HostileWorkload, IsRefusedWithFileLineAndField) {
    const TempDir dir;
    const auto path = dir.file("bad.txt", GetParam().content);
    const std::string error = error_of([&] { Workload::load(path); });
    EXPECT_NE(error.find(path.string() + GetParam().line), std::string::npos) << error;
    EXPECT_NE(error.find(GetParam().message), std::string::npos) << error;
}

INSTANTIATE_TEST_SUITE_P(
    All, HostileWorkload,
    testing::Values(Hostile{"", "", "has no points"}, Hostile{"# only a comment\n", "", "has no points"},
                    Hostile{"10\n", ":1:", "expected two fields"},
                    Hostile{"10 0.5 9\n", ":1:", "expected two fields"},
                    Hostile{"10 0.5\nx 1\n", ":2:", "size 'x' is not a whole number from 1 to 67108864"},
                    Hostile{"0 1\n", ":1:", "size '0' is not"}, Hostile{"-5 1\n", ":1:", "size '-5' is not"},
                    Hostile{"1.5 1\n", ":1:", "size '1.5' is not"},
                    Hostile{"67108865 1\n", ":1:", "size '67108865' is not"},
                    Hostile{"99999999999999999999 1\n", ":1:", "is not a whole number"},
                    Hostile{"10 nan\n", ":1:", "is not a number above 0 and at most 1"},
                    Hostile{"10 inf\n", ":1:", "is not a number above 0 and at most 1"},
                    Hostile{"10 0\n", ":1:", "is not a number above 0"},
                    Hostile{"10 1.5\n", ":1:", "at most 1"},
                    Hostile{"10 0.5\n10 1\n", ":2:", "must be above the size before it, 10"},
                    Hostile{"10 0.5\n20 0.5\n", ":2:", "must be above the fraction before it"},
                    Hostile{"10 0.5\n20 0.9\n", ":2:", "the last fraction is"},
                    Hostile{"10 0.5\n20 1,0\n", ":2:", "fraction '1,0' is not"},
                    Hostile{"\x01\x02\xff 1\n", ":1:", "size '?\?\?' is not"}));

TEST(Workload, RefusesALineWithoutEnd) {
    const TempDir dir;
    const auto path = dir.file("long.txt", std::string(1 << 20, '7'));
    EXPECT_NE(error_of([&] { Workload::load(path); }).find(":1: the line has more than"), std::string::npos);
}

TEST(Workload, RefusesWhatIsNoFile) {
    const TempDir dir;
    EXPECT_NE(error_of([&] { Workload::load(dir.path() / "none"); }).find("no such workload file"),
              std::string::npos);
    EXPECT_NE(error_of([&] { Workload::load(dir.path()); }).find("no such workload file"), std::string::npos);
}

TEST(Workload, ChecksPointsThatDoNotComeFromAFile) {
    EXPECT_NE(error_of([] { Workload::from_points({}); }).find("0 points, expected 1 to"), std::string::npos);
    EXPECT_NE(error_of([] { Workload::from_points({{1, 0.5}, {1, 1}}); }).find("point 2"), std::string::npos);
    EXPECT_NE(error_of([] {
                  Workload::from_points({{1, std::nan("")}});
              }).find("point 1"),
              std::string::npos);
    EXPECT_NE(error_of([] { Workload::from_points({{1, 0.5}}); }).find("expected 1"), std::string::npos);
}

}  // namespace

}  // namespace pfqd::lab
