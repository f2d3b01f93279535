// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
//
// Ideal times by hand. A byte lasts 8 bit / 25 Gbit/s = 320 ps, 8 bit / 10 Gbit/s =
// 800 ps, 8 bit / 100 Gbit/s = 80 ps. Each link of the fabric has 1 us of delay.
#include "lab/common/ideal.hpp"

#include <gtest/gtest.h>

#include "lab/tests/fixtures.hpp"

namespace pfqd::lab {

namespace {

using test::error_of;

constexpr uint64_t kDelayPs = 2 * 1'000'000;  // host to ToR to host

TEST(IdealTime, OneByteIsAPaddedFrame) {
    // 1 + 40 + 38 = 79 B, padded to 84 B, on two links.
    EXPECT_EQ(IdealTime::of_network({}).picoseconds(1), kDelayPs + 2 * 84 * 320);
    // 6 + 40 + 38 = 84: the first that needs no padding; 7 B take 85.
    EXPECT_EQ(IdealTime::of_network({}).picoseconds(6), kDelayPs + 2 * 84 * 320);
    EXPECT_EQ(IdealTime::of_network({}).picoseconds(7), kDelayPs + 2 * 85 * 320);
}

TEST(IdealTime, OneSegmentIsSerialisedTwice) {
    // MTU 3000: 2,960 B of payload, 3,038 B on the wire.
    EXPECT_EQ(IdealTime::of_network({}).picoseconds(2960), kDelayPs + 2 * 3038 * 320);
}

TEST(IdealTime, LaterFramesFollowBackToBack) {
    // 2,961 B: a full frame, then 1 B in a padded one. One link carries both frames,
    // the other adds the first: 3038 + 84 + 3038 B.
    EXPECT_EQ(IdealTime::of_network({}).picoseconds(2961), kDelayPs + (3038 + 84 + 3038) * 320);
}

TEST(IdealTime, AMegabyte) {
    // 1,000,000 = 337 * 2,960 + 2,480: 337 full frames of 3,038 B and one of
    // 2,480 + 78 = 2,558 B, then the first frame once more.
    EXPECT_EQ(IdealTime::of_network({}).picoseconds(1'000'000), kDelayPs + (337 * 3038 + 2558 + 3038) * 320);
}

TEST(IdealTime, TimestampsTakeTwelveBytesOfEachSegment) {
    NetworkSpec network;
    network.timestamps = true;
    // 2,948 B fit: 2948 + 52 + 38 = 3,038 B. One more makes a second frame of
    // 1 + 52 + 38 = 91 B.
    EXPECT_EQ(IdealTime::of_network(network).picoseconds(2948), kDelayPs + 2 * 3038 * 320);
    EXPECT_EQ(IdealTime::of_network(network).picoseconds(2949), kDelayPs + (3038 + 91 + 3038) * 320);
}

TEST(IdealTime, TheSlowestLinkCarriesAllFramesWhereverItIs) {
    const PathLink host{25'000'000'000, 1000}, uplink{100'000'000'000, 500}, slow{10'000'000'000, 2'000'000};
    // 6,000 B in MTU 1500: 4 full frames of 1460 + 78 = 1,538 B, then 160 + 78 = 238 B.
    const uint64_t all = 4 * 1538 + 238, first = 1538;
    const uint64_t expected = (1000 + 500 + 2'000'000) * 1000 + all * 800 + first * (320 + 80);
    EXPECT_EQ(IdealTime({host, uplink, slow}, {1500, 40}).picoseconds(6000), expected);
    EXPECT_EQ(IdealTime({slow, host, uplink}, {1500, 40}).picoseconds(6000), expected);
}

TEST(IdealTime, OtherTransportsBringTheirOwnHeaders) {
    // Homa: 56 + 20 B of headers, 2,924 B of payload at MTU 3000.
    const PathLink link{25'000'000'000, 1000};
    const IdealTime homa({link, link}, {3000, 76});
    EXPECT_EQ(homa.picoseconds(2924), kDelayPs + 2 * 3038 * 320);
    EXPECT_EQ(homa.picoseconds(2925), kDelayPs + (3038 + 1 + 76 + 38 + 3038) * 320);
}

TEST(IdealTime, RatesThatDoNotDivideLoseLessThanAPicosecond) {
    // 60 Gbit/s: 84 B last 11,200 ps exactly, 85 B 11,333.3.
    const IdealTime path({{60'000'000'000, 0}}, {3000, 40});
    EXPECT_EQ(path.picoseconds(1), 11'200u);
    EXPECT_EQ(path.picoseconds(7), 11'333u);
}

TEST(IdealTime, SlowdownIsTimeOverIdeal) {
    const IdealTime ideal = IdealTime::of_network({});
    // 2,960 B take 3,944.32 ns.
    EXPECT_DOUBLE_EQ(ideal.slowdown(100, 100 + 7889, 2960), 7889 / 3944.32);
}

TEST(IdealTime, RefusesImpossiblePaths) {
    const PathLink link{25'000'000'000, 1000};
    EXPECT_NE(error_of([] {
                  IdealTime({}, {3000, 40});
              }).find("number of links is 0, accepted are 1 to"),
              std::string::npos);
    EXPECT_NE(error_of([] { IdealTime({{0, 1}}, {3000, 40}); }).find("link rate"), std::string::npos);
    EXPECT_NE(error_of([] {
                  IdealTime({{1'000'000, UINT64_MAX}}, {3000, 40});
              }).find("link delay"),
              std::string::npos);
    EXPECT_NE(error_of([&] {
                  IdealTime({link}, {40, 40});
              }).find("MTU is 40, accepted are 41 to"),
              std::string::npos);
    EXPECT_NE(error_of([&] {
                  IdealTime({link}, {3000, 40}).picoseconds(0);
              }).find("message size is 0"),
              std::string::npos);
}

}  // namespace

}  // namespace pfqd::lab
