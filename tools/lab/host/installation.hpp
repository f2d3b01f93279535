// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
//
// Where the lab's parts are: the checkout, the guest program, and the cached
// kernel with the modules that were built against it.
#pragma once

#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <string>

namespace pfqd::lab {

struct KernelChoice {
    std::string version = "6.1";
    bool debug = false;
};

struct Kernel {
    std::filesystem::path binary;
    std::filesystem::path modules;
    nlohmann::json info;                        // info.json of scripts/lab-kernel
    std::map<std::string, std::string> hashes;  // module name to SHA-256
};

class Installation {
  public:
    // Found from the running program's own path: build/bin/pfqd-lab.
    static Installation find();
    // What a guest needs of this one and of the kernel, copied to a directory that
    // every user may read; `kernel` then names the copies.
    Installation copy_to(const std::filesystem::path& dir, Kernel& kernel) const;

    const std::filesystem::path& source() const { return source_; }
    std::filesystem::path guest() const { return source_ / "build/guest/pfqd-guest"; }
    std::filesystem::path workloads() const { return source_ / "tools/lab/workloads"; }
    std::filesystem::path kernel_script() const { return source_ / "scripts/lab-kernel"; }

    // The finished build; throws with the command that makes it when there is none.
    Kernel kernel(const KernelChoice& choice) const;

  private:
    std::filesystem::path source_;
};

std::string sha256_file(const std::filesystem::path& path);

}  // namespace pfqd::lab
