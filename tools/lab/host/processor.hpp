// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
//
// The processor that a guest has to itself.
//
// A guest's kernel and the processes that it traces take turns, and a turn that has
// to wake another processor makes set-up five times slower: they stay on one. Two
// guests on the same one are half as fast, also when two labs do not know of each
// other. So a processor is claimed by a name among the abstract sockets, which all
// programs of a network namespace see, and which is free again however its owner ends.
#pragma once

#include <sched.h>

#include <string>

#include "lab/common/fd.hpp"

namespace pfqd::lab {

class Processor {
  public:
    enum class From { first, last };  // the order in which processors are tried

    // A free one of those that this process may use; when none is free, any. Claims of
    // another family do not matter: tests have their own.
    explicit Processor(From from = From::first, const std::string& family = "pfqd-lab");

    const cpu_set_t& set() const { return set_; }
    bool claimed() const { return static_cast<bool>(claim_); }

  private:
    cpu_set_t set_;
    Fd claim_;
};

}  // namespace pfqd::lab
