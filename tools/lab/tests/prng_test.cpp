// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
#include "lab/common/prng.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

namespace pfqd::lab {

namespace {

// The C++ standard: the 10,000th number of a default-seeded mt19937_64.
TEST(Prng, IsTheStandardsEngine) {
    Prng random(5489);
    for (int i = 1; i < 10'000; i++) random.bits();
    EXPECT_EQ(random.bits(), 9981545732273789042u);
}

TEST(Prng, UniformTakesTheTop53Bits) {
    Prng bits(7), random(7);
    for (int i = 0; i < 1000; i++) {
        const double u = random.uniform();
        EXPECT_EQ(u, std::ldexp(static_cast<double>(bits.bits() >> 11), -53));
        EXPECT_GE(u, 0);
        EXPECT_LT(u, 1);
    }
}

TEST(Prng, LogarithmIsRightToTheLastBits) {
    for (double x = 0x1p-53; x < 4; x *= 1.0007) {
        const double expected = std::log(x);
        EXPECT_NEAR(portable_log(x), expected, 4e-16 * std::max(1.0, std::abs(expected))) << x;
    }
    EXPECT_EQ(portable_log(1), 0);
}

// -1000 ln(1 - u), computed with another implementation of engine and logarithm.
TEST(Prng, ExponentialIsTheLogarithmOfTheUniform) {
    Prng random(1);
    EXPECT_DOUBLE_EQ(random.exponential(1000), 143.72793716025822);
    EXPECT_DOUBLE_EQ(random.exponential(1000), 146.6537280891255);
}

// To the last bit: a compiler that fuses or reorders the arithmetic would change every
// schedule and every hash.
TEST(Prng, ExponentialIsFixedToTheBit) {
    Prng random(1);
    EXPECT_EQ(random.exponential(1000), 0x1.1f74b42df1b44p+7);
    EXPECT_EQ(random.exponential(1000), 0x1.254eb572b68a9p+7);
    EXPECT_EQ(random.exponential(1000), 0x1.2c0630a9d73ep+9);
}

TEST(Prng, ExponentialHasItsMeanAndMedian) {
    constexpr int kSamples = 1'000'000;
    Prng random(3);
    double sum = 0;
    int below_median = 0;
    for (int i = 0; i < kSamples; i++) {
        const double gap = random.exponential(50);
        ASSERT_GE(gap, 0);
        sum += gap;
        below_median += gap < 50 * std::log(2.0);
    }
    // Standard errors: mean 50 / 1000, share 0.0005.
    EXPECT_NEAR(sum / kSamples, 50, 5 * 0.05);
    EXPECT_NEAR(below_median / static_cast<double>(kSamples), 0.5, 5 * 0.0005);
}

}  // namespace

}  // namespace pfqd::lab
