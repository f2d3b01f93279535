// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
#include "lab/common/prng.hpp"

#include <cmath>

namespace pfqd::lab {

double portable_log(double x) {
    constexpr double kLn2 = 0.693147180559945309417;
    constexpr double kHalfSqrt = 0.707106781186547524401;
    int exponent = 0;
    double mantissa = std::frexp(x, &exponent);  // exact: [0.5, 1)
    if (mantissa < kHalfSqrt) {
        mantissa *= 2;
        exponent--;
    }
    // ln m = 2 artanh s with |s| <= 0.172: twelve terms reach the last bit.
    const double s = (mantissa - 1) / (mantissa + 1);
    const double square = s * s;
    double series = 0;
    for (int power = 23; power >= 1; power -= 2) series = series * square + 1.0 / power;
    return exponent * kLn2 + 2 * s * series;
}

}  // namespace pfqd::lab
