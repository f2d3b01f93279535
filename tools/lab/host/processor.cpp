// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
#include "lab/host/processor.hpp"

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <stdexcept>
#include <string>
#include <vector>

namespace pfqd::lab {

namespace {

// Not valid when somebody else has it.
Fd claim(const std::string& family, int cpu) {
    Fd socket(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0));
    const std::string name = family + "/processor/" + std::to_string(cpu);
    sockaddr_un address{};
    if (name.size() >= sizeof(address.sun_path)) throw std::length_error("a long name: " + name);
    address.sun_family = AF_UNIX;
    std::memcpy(address.sun_path + 1, name.data(), name.size());  // a leading 0: abstract
    const auto length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
    if (!socket || bind(socket.get(), reinterpret_cast<const sockaddr*>(&address), length) < 0) return {};
    return socket;
}

std::vector<int> allowed_processors() {
    cpu_set_t allowed;
    check(sched_getaffinity(0, sizeof(allowed), &allowed), "sched_getaffinity");
    std::vector<int> list;
    for (int cpu = 0; cpu < CPU_SETSIZE; cpu++)
        if (CPU_ISSET(cpu, &allowed)) list.push_back(cpu);
    return list;
}

}  // namespace

Processor::Processor(From from, const std::string& family) {
    std::vector<int> processors = allowed_processors();
    if (from == From::last) std::reverse(processors.begin(), processors.end());
    // More guests than processors: this process's number spreads them, a little.
    int mine = processors[static_cast<size_t>(getpid()) % processors.size()];
    for (const int cpu : processors)
        if ((claim_ = claim(family, cpu))) {
            mine = cpu;
            break;
        }
    CPU_ZERO(&set_);
    CPU_SET(mine, &set_);
}

}  // namespace pfqd::lab
