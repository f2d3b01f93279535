// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
//
// The guest's file tree, and the fixed places in it.
//
// The root is the host's own, read-only, so a test can never harm the disk.
// What differs from machine to machine (checkout, modules, output) appears at
// the same guest paths everywhere: the host leaves the directories open at fixed
// file descriptors of the User-Mode Linux process, and hostfs reaches them
// through that process's /proc/self.
#pragma once

#include <string>

namespace pfqd::lab {

inline constexpr const char* kOutDir = "/run/lab/out";
inline constexpr const char* kSrcDir = "/run/lab/src";
inline constexpr const char* kModuleDir = "/run/lab/modules";

void mount_everything();
void write_file(const std::string& path, const std::string& text);
std::string read_file(const std::string& path);
void load_module(const std::string& name);

}  // namespace pfqd::lab
