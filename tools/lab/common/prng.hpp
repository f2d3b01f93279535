// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
//
// Random numbers that are the same on every machine.
//
// The C++ standard fixes the output of mt19937_64 to the bit, but not that of its
// distributions, and the C library picks its log() by the processor it runs on. So
// the lab turns bits into numbers itself, with nothing but the basic operations
// that IEEE 754 fixes.
#pragma once

#include <cstdint>
#include <random>

namespace pfqd::lab {

// Natural logarithm of a positive, normal number; at most a few units in the last
// place from the true value.
double portable_log(double x);

class Prng {
  public:
    explicit Prng(uint64_t seed) : engine_(seed) {}

    uint64_t bits() { return engine_(); }
    // Uniform in [0, 1), a multiple of 2^-53.
    double uniform() { return static_cast<double>(bits() >> 11) * 0x1p-53; }
    // Exponential: the gaps of a Poisson process whose mean gap is `mean`.
    double exponential(double mean) { return -mean * portable_log(1 - uniform()); }

  private:
    std::mt19937_64 engine_;
};

}  // namespace pfqd::lab
