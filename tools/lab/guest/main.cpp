// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
//
// pfqd-guest: process 1 of the lab's guest.
//
// It mounts the guest's file tree, reads what to do from spec.json, does it,
// writes result.json (the only proof of success: a guest that powers off says
// nothing), and ends the guest.
#include <fcntl.h>
#include <linux/reboot.h>
#include <sys/reboot.h>
#include <unistd.h>

#include <cstdio>
#include <ctime>
#include <exception>

#include "lab/common/launch.hpp"
#include "lab/common/spec.hpp"
#include "lab/guest/experiment.hpp"
#include "lab/guest/mounts.hpp"
#include "lab/guest/qdisc_bench.hpp"
#include "lab/guest/selftest.hpp"

namespace {

using namespace pfqd::lab;

nlohmann::json act() {
    const auto spec =
        nlohmann::json::parse(read_file(std::string(kOutDir) + "/" + kSpecFile)).get<GuestSpec>();
    if (spec.mode == "run") return run_experiment(spec);
    if (spec.mode == "selftest") return run_selftests(spec);
    if (spec.mode == "bench-qdisc") return run_qdisc_bench(spec.bench);
    // For the watchdog's own tests: a guest that hangs, and one whose kernel panics.
    if (spec.mode == "hang") pause();
    if (spec.mode == "panic") _exit(1);
    throw std::runtime_error("spec.json: mode '" + spec.mode +
                             "' is none of run, selftest, bench-qdisc, hang, panic");
}

// Booting takes no virtual time, so the clock is at 0 here, and TCP takes a time
// stamp of 0 us for none at all (WARN_ON in tcp_clean_rtx_queue()).
void leave_zero() {
    const timespec second{1, 0};
    nanosleep(&second, nullptr);
}

void attach_console() {
    const int fd = open("/dev/console", O_RDWR);
    if (fd < 0) return;
    for (int target : {0, 1, 2}) dup2(fd, target);
    if (fd > 2) close(fd);
}

}  // namespace

int main() {
    if (getpid() != 1) {
        std::fputs("pfqd-guest: runs as process 1 of the lab's guest; see pfqd-lab --help\n", stderr);
        return 2;
    }
    nlohmann::json result;
    try {
        mount_everything();
        attach_console();
        leave_zero();
        result = act();
    } catch (const std::exception& error) {
        std::printf("lab: failed: %s\n", error.what());
        result = {{"status", "error"}, {"message", error.what()}};
    }
    try {
        write_file(std::string(kOutDir) + "/" + kResultFile, result.dump(2) + "\n");
    } catch (const std::exception& error) {
        std::printf("lab: failed: %s\n", error.what());
    }
    sync();
    reboot(RB_POWER_OFF);
}
