// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
#include "selftests/lib/slab.hpp"

#include <unistd.h>

#include "selftests/lib/kernel.hpp"

namespace pfqd::selftest {

SlabUse slab_use(const std::string& name) {
    const std::string dir = "/sys/kernel/slab/" + name + "/";
    SlabUse use;
    if (access(dir.c_str(), F_OK) < 0) return use;
    const auto number = [&](const char* file) { return std::stoull(read_text(dir + file)); };
    use.present = true;
    use.object_bytes = number("slab_size");
    use.slab_bytes = static_cast<uint64_t>(sysconf(_SC_PAGESIZE)) << number("order");
    // "slabs" is only there in kernels that can debug slabs
    use.counted = access((dir + "slabs").c_str(), F_OK) == 0;
    if (use.counted) use.slabs = number("slabs");
    return use;
}

}  // namespace pfqd::selftest
