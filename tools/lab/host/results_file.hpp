// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
//
// A file that appears whole or not at all: written beside its place under another
// name, brought to the disk, and renamed. A full disk, Ctrl-C or a crash leaves what
// was there before.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "lab/common/fd.hpp"

namespace pfqd::lab {

class AtomicFile {
  public:
    explicit AtomicFile(const std::filesystem::path& path);
    ~AtomicFile();  // without commit(): nothing has happened
    AtomicFile(AtomicFile&&) = delete;

    // Large pieces, please: each is a system call.
    void write(std::string_view text);
    void commit();

  private:
    [[noreturn]] void fail(const char* doing) const;

    std::filesystem::path path_, temporary_;
    Fd fd_;
};

void write_file_atomically(const std::filesystem::path& path, std::string_view text);

// The whole file, which must be a regular one of at most `limit` bytes.
std::string read_regular_file(const std::filesystem::path& path, size_t limit);

}  // namespace pfqd::lab
