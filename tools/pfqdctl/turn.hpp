// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
//
// One pfqdctl at a time on a device: looking and changing are several steps for the
// kernel. A name in the namespace of abstract sockets, which there is one of for each
// network namespace, is ours while this lives and free again whatever ends us.
//
// A name can be taken by anyone, so this is a courtesy between pfqdctls: after a while
// it goes on without, and its users have to stand a change between two steps.
#pragma once

#include "lab/common/fd.hpp"

namespace pfqd::ctl {

class Turn {
  public:
    explicit Turn(int ifindex);

  private:
    Fd socket_;
};

}  // namespace pfqd::ctl
