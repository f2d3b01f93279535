// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
//
// What this process may do, asked before the kernel refuses without saying why.
#pragma once

#include <initializer_list>
#include <string>

namespace pfqd::ctl {

enum class Capability { net_admin, bpf };

// Throws Failure that names what is needed for `purpose` and what is missing.
// CAP_SYS_ADMIN stands for CAP_BPF, as in the kernel.
void need_capabilities(const std::string& purpose, std::initializer_list<Capability> needed);

}  // namespace pfqd::ctl
