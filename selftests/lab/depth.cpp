// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
//
// The depth sampler: what it says of a backlog that is known, at known times; ports that
// are not there or go away; and that nonsense is refused and changes nothing.
#include <fcntl.h>
#include <linux/lab_depth.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <functional>
#include <vector>

#include "selftests/lib/frame.hpp"
#include "selftests/lib/kernel.hpp"
#include "selftests/lib/link.hpp"
#include "selftests/lib/packet_socket.hpp"
#include "selftests/lib/qdisc.hpp"
#include "selftests/lib/tap.hpp"

using namespace pfqd::selftest;
using pfqd::Fd;
namespace nl = pfqd::nl;

namespace {

constexpr size_t kFrame = 1000;           // bytes, as a qdisc counts them
constexpr uint64_t kRate = 1'000'000;     // bit/s: a frame is on the wire for 8 ms and a bit
constexpr uint64_t kFrameNs = 8'192'000;  // with preamble, FCS and gap
constexpr uint64_t kPeriod = 1'000'000;
constexpr uint32_t kNobody = 9999;  // no interface has this number

Fd open_device() {
    return Fd(pfqd::check(open("/dev/lab_depth", O_RDWR | O_CLOEXEC), "open /dev/lab_depth"));
}

lab_depth_start start_of(const std::vector<uint32_t>& ports, uint32_t samples, uint64_t period = kPeriod) {
    lab_depth_start start{};
    start.ports = reinterpret_cast<uintptr_t>(ports.data());
    start.count = static_cast<uint32_t>(ports.size());
    start.samples = samples;
    start.period_ns = period;
    return start;
}

int start(const Fd& device, const lab_depth_start& request) {
    return ioctl(device.get(), LAB_DEPTH_START, &request) ? errno : 0;
}

std::vector<uint32_t> samples_of(const Fd& device) {
    std::vector<uint32_t> values(1 << 16);
    const auto size = read(device.get(), values.data(), values.size() * sizeof(values[0]));
    values.resize(static_cast<size_t>(pfqd::check(static_cast<int>(size), "read")) / sizeof(values[0]));
    return values;
}

// A slow port whose qdisc holds what is sent.
struct Port {
    nl::Netns a = quiet_netns(), b = quiet_netns();
    std::pair<End, End> ends = make_wire(a, {.rate = kRate}, b, {.rate = kRate});
    PacketSocket sender{ends.first};

    Port() {
        set_qdisc(ends.first, "bfifo", fifo_options(1'000'000));
        ends.first.wait_running();
    }
    uint32_t index() const { return static_cast<uint32_t>(ends.first.ifindex()); }
    int begin(const Fd& device, const lab_depth_start& request) const {
        const In in(a);
        return start(device, request);
    }
    void send(size_t frames) {
        FrameOptions options;
        options.payload = kFrame - 54;
        const Bytes frame = make_frame(options);
        if (frame.size() != kFrame) throw std::logic_error("the frame has another size");
        for (size_t i = 0; i < frames; i++) sender.send(frame);
    }
};

// Five frames at once: one is on the wire, four are queued, and each leaves when the one
// before it has been sent.
void test_known(Tap& tap) {
    Port port;
    const Fd device = open_device();
    port.send(5);
    tap.is("started", port.begin(device, start_of({port.index()}, 100)), 0);
    sleep_ns(200'000'000);
    const std::vector<uint32_t> depth = samples_of(device);
    tap.is("all samples", depth.size(), 100u);
    tap.is("at first what is not on the wire", depth.at(0), 4 * kFrame);
    size_t wrong = 0;
    for (size_t i = 0; i < depth.size(); i++) {
        const uint64_t sent = (i + 1) * kPeriod / kFrameNs;
        wrong += depth[i] != (sent < 4 ? (4 - sent) * kFrame : 0);
    }
    tap.is("samples that do not fit the wire's rate", wrong, 0u);
    tap.is("read to the end", samples_of(device).size(), 0u);
}

void test_ports(Tap& tap) {
    Port busy;
    Port idle;  // its number is of another namespace
    const Fd device = open_device();
    busy.send(3);
    tap.is("started", busy.begin(device, start_of({kNobody, busy.index(), busy.index()}, 2)), 0);
    sleep_ns(10'000'000);
    tap.ok(samples_of(device) == std::vector<uint32_t>{0, 2000, 2000, 0, 2000, 2000},
           "rows of all ports in their order, 0 for one that is not there");
}

void test_stop(Tap& tap) {
    Port port;
    const Fd device = open_device();
    tap.is("nothing before the start", samples_of(device).size(), 0u);
    tap.is("stopping before the start", ioctl(device.get(), LAB_DEPTH_STOP), 0);
    port.begin(device, start_of({port.index()}, 1000));
    sleep_ns(10 * kPeriod + kPeriod / 2);
    tap.is("stopped", ioctl(device.get(), LAB_DEPTH_STOP), 0);
    sleep_ns(10 * kPeriod);
    tap.is("samples up to there", samples_of(device).size(), 10u);
    tap.is("a series begins once", port.begin(device, start_of({port.index()}, 1)), EBUSY);
}

void test_gone(Tap& tap) {
    const Fd device = open_device();
    {
        Port port;
        port.send(5);
        port.begin(device, start_of({port.index()}, 20));
        sleep_ns(3 * kPeriod + kPeriod / 2);
        port.ends.first.remove();
        sleep_ns(3 * kPeriod);
    }
    sleep_ns(100 * kPeriod);  // and its namespace
    const std::vector<uint32_t> depth = samples_of(device);
    tap.is("samples go on", depth.size(), 20u);
    tap.is("before", depth.at(2), 4 * kFrame);
    tap.is("after", depth.at(4), 0u);
    for (int i = 0; i < 20; i++) {
        Port port;
        const Fd other = open_device();
        port.begin(other, start_of({port.index()}, 1000, LAB_DEPTH_MIN_PERIOD));
        port.send(3);
        sleep_ns(static_cast<uint64_t>(i) * 7'000);
    }
    tap.ok(true, "closed while it looks, 20 times (the kernel's log decides)");
}

void test_refusals(Tap& tap) {
    const Port port;
    const Fd device = open_device();
    const std::vector<uint32_t> ports(LAB_DEPTH_MAX_PORTS + 1, port.index());
    const auto refused = [&](const std::string& name, int want,
                             const std::function<void(lab_depth_start&)>& spoil) {
        lab_depth_start request = start_of(ports, 1);
        request.count = 1;
        spoil(request);
        tap.is(name, port.begin(device, request), want);
    };
    refused("no port", EINVAL, [](lab_depth_start& s) { s.count = 0; });
    refused("too many ports", EINVAL, [](lab_depth_start& s) { s.count = LAB_DEPTH_MAX_PORTS + 1; });
    refused("no sample", EINVAL, [](lab_depth_start& s) { s.samples = 0; });
    refused("too many samples", EINVAL, [](lab_depth_start& s) { s.samples = LAB_DEPTH_MAX_VALUES + 1; });
    refused("too many of both", EINVAL, [](lab_depth_start& s) {
        s.count = LAB_DEPTH_MAX_PORTS;
        s.samples = LAB_DEPTH_MAX_VALUES / LAB_DEPTH_MAX_PORTS + 1;
    });
    refused("a product beyond 32 bits", EINVAL, [](lab_depth_start& s) {
        s.count = LAB_DEPTH_MAX_PORTS;
        s.samples = 1U << 22;
    });
    refused("no period", EINVAL, [](lab_depth_start& s) { s.period_ns = 0; });
    refused("a short period", EINVAL, [](lab_depth_start& s) { s.period_ns = LAB_DEPTH_MIN_PERIOD - 1; });
    refused("a long period", EINVAL, [](lab_depth_start& s) { s.period_ns = 1'000'000'001; });
    refused("a bad address", EFAULT, [](lab_depth_start& s) { s.ports = 8; });
    tap.is("a bad request", ioctl(device.get(), LAB_DEPTH_START, 8), -1);
    tap.is("an unknown call", ioctl(device.get(), _IO('d', 99)), -1);
    tap.is("after all that: started", port.begin(device, start_of({port.index()}, 1)), 0);
    sleep_ns(2 * kPeriod);
    tap.is("and sampled", samples_of(device).size(), 1u);
}

}  // namespace

int main() {
    load_module("wire");
    load_module("depth");
    return run_tests({{"known backlog", test_known},
                      {"ports", test_ports},
                      {"stop", test_stop},
                      {"gone", test_gone},
                      {"refusals", test_refusals}});
}
