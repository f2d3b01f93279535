// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
//
// pfqd-lab verify: is a run a function of its seed alone?
#pragma once

#include "lab/host/installation.hpp"

namespace pfqd::lab {

// Runs one small cell several times and compares the SHA-256 of the raw logs:
// same seed twice, another seed, and the same seed under another user, another
// environment and another working directory. Exit status 0 when all is as it
// must be.
int run_verify(const KernelChoice& choice, const Installation& installation);

}  // namespace pfqd::lab
