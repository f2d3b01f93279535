// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
#include "lab/host/results_file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <stdexcept>

namespace fs = std::filesystem;

namespace pfqd::lab {

AtomicFile::AtomicFile(const fs::path& path) : path_(path), temporary_(path) {
    // The process id keeps two writers apart; a leftover of a crash is overwritten.
    temporary_ += fmt::format(".tmp{}", getpid());
    fd_ = Fd(open(temporary_.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0644));
    if (!fd_) fail("create");
}

AtomicFile::~AtomicFile() {
    if (fd_) unlink(temporary_.c_str());
}

void AtomicFile::fail(const char* doing) const {
    throw std::runtime_error(fmt::format("cannot {} {}: {}", doing, path_.string(), std::strerror(errno)));
}

void AtomicFile::write(std::string_view text) {
    while (!text.empty()) {
        const ssize_t size = ::write(fd_.get(), text.data(), text.size());
        if (size < 0 && errno == EINTR) continue;
        if (size < 0) fail("write");
        text.remove_prefix(static_cast<size_t>(size));
    }
}

void AtomicFile::commit() {
    // Some file systems report a full disk only here.
    if (fsync(fd_.get()) < 0) fail("write");
    if (rename(temporary_.c_str(), path_.c_str()) < 0) fail("put in place");
    fd_ = Fd();
}

void write_file_atomically(const fs::path& path, std::string_view text) {
    AtomicFile file(path);
    file.write(text);
    file.commit();
}

std::string read_regular_file(const fs::path& path, size_t limit) {
    // O_NONBLOCK: a FIFO put here must not stop us before fstat() refuses it.
    const Fd fd(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
    if (!fd) throw std::runtime_error(fmt::format("cannot read {}: {}", path.string(), std::strerror(errno)));
    struct stat info {};
    if (fstat(fd.get(), &info) < 0 || !S_ISREG(info.st_mode))
        throw std::runtime_error(fmt::format("cannot read {}: not a regular file", path.string()));
    std::string text;
    for (;;) {
        const size_t before = text.size();
        text.resize(before + (1 << 20));
        const ssize_t size = read(fd.get(), text.data() + before, text.size() - before);
        text.resize(before + static_cast<size_t>(size > 0 ? size : 0));
        if (size < 0 && errno != EINTR)
            throw std::runtime_error(fmt::format("cannot read {}: {}", path.string(), std::strerror(errno)));
        if (size == 0) return text;
        if (text.size() > limit)
            throw std::runtime_error(
                fmt::format("cannot read {}: more than the accepted {} bytes", path.string(), limit));
    }
}

}  // namespace pfqd::lab
