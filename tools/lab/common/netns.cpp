// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
#include "lab/common/netns.hpp"

#include <fcntl.h>
#include <sched.h>

namespace pfqd::nl {

Netns Netns::current() {
    return Netns(Fd(check(open("/proc/thread-self/ns/net", O_RDONLY | O_CLOEXEC), "open own netns")));
}

Netns Netns::create() {
    Netns before = current();
    check(unshare(CLONE_NEWNET), "new network namespace");
    Netns made = current();
    before.enter();
    return made;
}

void Netns::enter() const {
    check(setns(fd(), CLONE_NEWNET), "enter network namespace");
}

}  // namespace pfqd::nl
