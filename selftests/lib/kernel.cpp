// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
#include "selftests/lib/kernel.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <sstream>
#include <stdexcept>

namespace pfqd::selftest {

namespace {

std::string module_path(const std::string& name) {
    const char* dir = std::getenv("LAB_MODULES");
    return std::string(dir ? dir : "/run/lab/modules") + "/" + name + ".ko";
}

}  // namespace

void load_module(const std::string& name, const std::string& parameters) {
    const std::string path = module_path(name);
    Fd fd(check(open(path.c_str(), O_RDONLY | O_CLOEXEC), "open " + path));
    if (syscall(SYS_finit_module, fd.get(), parameters.c_str(), 0) < 0 && errno != EEXIST)
        throw_errno("load " + path);
}

void unload_module(const std::string& name) {
    check(static_cast<int>(syscall(SYS_delete_module, name.c_str(), O_NONBLOCK)), "unload " + name);
}

bool module_loaded(const std::string& name) {
    struct stat info;
    return stat(("/sys/module/" + name + "/initstate").c_str(), &info) == 0;
}

std::string read_text(const std::string& path) {
    Fd fd(check(open(path.c_str(), O_RDONLY | O_CLOEXEC), "open " + path));
    std::string text;
    std::array<char, 8192> buffer;
    while (int size = check(static_cast<int>(read(fd.get(), buffer.data(), buffer.size())), "read " + path))
        text.append(buffer.data(), static_cast<size_t>(size));
    return text;
}

void write_text(const std::string& path, const std::string& text) {
    Fd fd(check(open(path.c_str(), O_WRONLY | O_CLOEXEC), "open " + path));
    check(static_cast<int>(write(fd.get(), text.data(), text.size())), "write '" + text + "' to " + path);
}

void set_sysctl(const std::string& name, const std::string& value) {
    write_text("/proc/sys/" + name, value);
}

uint64_t net_counter(const std::string& group, const std::string& name) {
    for (const char* file : {"/proc/thread-self/net/snmp", "/proc/thread-self/net/netstat"}) {
        std::istringstream lines(read_text(file));
        std::string names, values;
        while (std::getline(lines, names) && std::getline(lines, values)) {
            if (!names.starts_with(group + ":")) continue;
            std::istringstream name_words(names), value_words(values);
            std::string key, value;
            while (name_words >> key && value_words >> value)
                if (key == name) return std::stoull(value);
        }
    }
    throw std::runtime_error("the kernel counts no " + group + " " + name);
}

uint64_t monotonic_ns() {
    timespec now;
    check(clock_gettime(CLOCK_MONOTONIC, &now), "clock_gettime");
    return static_cast<uint64_t>(now.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(now.tv_nsec);
}

void sleep_ns(uint64_t ns) {
    timespec left{static_cast<time_t>(ns / 1'000'000'000), static_cast<long>(ns % 1'000'000'000)};
    while (clock_nanosleep(CLOCK_MONOTONIC, 0, &left, &left) == EINTR) {
    }
}

KernelLog::KernelLog() : fd_(check(open("/dev/kmsg", O_RDONLY | O_NONBLOCK | O_CLOEXEC), "open /dev/kmsg")) {
    check(static_cast<int>(lseek(fd_.get(), 0, SEEK_END)), "seek /dev/kmsg");
}

std::vector<std::string> KernelLog::read_new() {
    std::vector<std::string> lines;
    std::array<char, 8192> record;
    for (;;) {
        const ssize_t size = read(fd_.get(), record.data(), record.size());
        if (size < 0 && errno == EPIPE) continue;  // overwritten before it was read
        if (size < 0 && errno == EAGAIN) return lines;
        check(static_cast<int>(size), "read /dev/kmsg");
        // "priority,sequence,time,flags;text\n", then continuation lines
        std::string text(record.data(), static_cast<size_t>(size));
        text.erase(0, std::min(text.find(';'), text.size() - 1) + 1);
        lines.push_back(text.substr(0, text.find('\n')));
        seen_.push_back(lines.back());
    }
}

bool KernelLog::has(const std::string& text) {
    read_new();
    return std::any_of(seen_.begin(), seen_.end(),
                       [&](const std::string& line) { return line.find(text) != std::string::npos; });
}

}  // namespace pfqd::selftest
