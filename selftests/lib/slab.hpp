// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
//
// How much memory a slab cache of the kernel takes, from its directory in sysfs.
#pragma once

#include <cstdint>
#include <string>

namespace pfqd::selftest {

struct SlabUse {
    bool present = false;
    bool counted = false;  // a kernel without SLUB_DEBUG does not know
    uint64_t slabs = 0;
    uint64_t object_bytes = 0;
    uint64_t slab_bytes = 0;  // of one slab
    uint64_t bytes() const { return slabs * slab_bytes; }
};

// Zeroes when there is no such cache.
SlabUse slab_use(const std::string& name);

}  // namespace pfqd::selftest
