// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
#include "pfqdctl/capability.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <linux/capability.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <vector>

#include "lab/common/fd.hpp"
#include "pfqdctl/failure.hpp"

namespace pfqd::ctl {

namespace {

class Effective {
  public:
    Effective() {
        __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
        check(static_cast<int>(syscall(SYS_capget, &header, data_.data())),
              "read this process's capabilities");
    }
    bool has(int capability) const {
        return data_.at(static_cast<size_t>(CAP_TO_INDEX(capability))).effective & CAP_TO_MASK(capability);
    }

  private:
    std::array<__user_cap_data_struct, _LINUX_CAPABILITY_U32S_3> data_{};
};

bool has(const Effective& effective, Capability capability) {
    if (capability == Capability::net_admin) return effective.has(CAP_NET_ADMIN);
    return effective.has(CAP_BPF) || effective.has(CAP_SYS_ADMIN);
}

}  // namespace

void need_capabilities(const std::string& purpose, std::initializer_list<Capability> needed) {
    const Effective effective;
    std::vector<const char*> all, missing;
    for (const Capability capability : needed) {
        const char* name = capability == Capability::net_admin ? "CAP_NET_ADMIN" : "CAP_BPF";
        all.push_back(name);
        if (!has(effective, capability)) missing.push_back(name);
    }
    if (missing.empty()) return;
    throw Failure(fmt::format("{} needs {}; this process lacks {}: run it as root", purpose,
                              fmt::join(all, " and "), fmt::join(missing, " and ")));
}

}  // namespace pfqd::ctl
