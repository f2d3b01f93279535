// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
//
// A network namespace held by a file descriptor: a host or a switch of the lab.
#pragma once

#include "lab/common/fd.hpp"

namespace pfqd::nl {

class Netns {
  public:
    // The one this thread is in.
    static Netns current();
    // A new one; this thread is back where it was when the call returns.
    static Netns create();

    int fd() const { return fd_.get(); }
    // Moves this thread into it.
    void enter() const;

  private:
    explicit Netns(Fd fd) : fd_(std::move(fd)) {}
    Fd fd_;
};

}  // namespace pfqd::nl
