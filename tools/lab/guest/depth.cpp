// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
#include "lab/guest/depth.hpp"

#include <fcntl.h>
#include <linux/lab_depth.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <stdexcept>
#include <vector>

#include "lab/common/depth_summary.hpp"

namespace pfqd::lab {

namespace {

std::vector<uint32_t> read_all(const Fd& fd) {
    std::vector<uint32_t> values, buffer(1 << 16);
    while (const int size = check(static_cast<int>(read(fd.get(), buffer.data(), buffer.size() * 4)),
                                  "read the depth of ports"))
        values.insert(values.end(), buffer.begin(), buffer.begin() + size / 4);
    return values;
}

}  // namespace

DepthSeries::DepthSeries(const Fabric& fabric, uint64_t period_ns, uint64_t duration_ns)
    : fd_(check(open("/dev/lab_depth", O_RDWR | O_CLOEXEC), "open /dev/lab_depth")),
      ports_(fabric.hosts().size()),
      period_ns_(period_ns) {
    std::vector<uint32_t> ports;
    for (const Host& host : fabric.hosts()) ports.push_back(static_cast<uint32_t>(host.port_index));
    lab_depth_start start{};
    start.ports = reinterpret_cast<uintptr_t>(ports.data());
    start.count = static_cast<uint32_t>(ports.size());
    start.samples = static_cast<uint32_t>(std::max<uint64_t>(1, duration_ns / period_ns));
    start.period_ns = period_ns;
    fabric.tor().enter();
    check(ioctl(fd_.get(), LAB_DEPTH_START, &start), "look at the depth of ports");
}

nlohmann::json DepthSeries::json() {
    check(ioctl(fd_.get(), LAB_DEPTH_STOP), "stop looking at the depth of ports");
    const std::vector<uint32_t> values = read_all(fd_);
    if (values.empty()) throw std::runtime_error("the traffic was shorter than one period of depth_us");
    return depth_summary(values, ports_, period_ns_);
}

}  // namespace pfqd::lab
