// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
#include "lab/guest/selftest.hpp"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdio>

#include "lab/common/fd.hpp"
#include "lab/common/launch.hpp"
#include "lab/guest/mounts.hpp"

namespace pfqd::lab {

namespace {

// Runs one program with stdout and stderr in test-<n>.tap; returns its status.
int run_program(const std::string& program, size_t number) {
    const std::string path = std::string(kSrcDir) + "/" + program;
    const std::string out = std::string(kOutDir) + "/test-" + std::to_string(number) + ".tap";
    Fd fd(check(open(out.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644), "create " + out));
    const pid_t pid = check(fork(), "fork");
    if (pid == 0) {
        // A network namespace of its own: no test sees another's devices.
        if (dup2(fd.get(), 1) < 0 || dup2(fd.get(), 2) < 0 || unshare(CLONE_NEWNET) < 0) _exit(126);
        const std::array<const char*, 5> env = {"PATH=/usr/sbin:/usr/bin:/sbin:/bin", "HOME=/tmp",
                                                "LC_ALL=C.UTF-8", "TERM=dumb", nullptr};
        const std::array<const char*, 2> argv = {path.c_str(), nullptr};
        execve(path.c_str(), const_cast<char**>(argv.data()), const_cast<char**>(env.data()));
        std::perror(path.c_str());
        _exit(127);
    }
    int status = 0;
    check(waitpid(pid, &status, 0), "wait for " + program);
    check(fsync(fd.get()), "write " + out);
    return status;
}

}  // namespace

nlohmann::json run_selftests(const GuestSpec& spec) {
    nlohmann::json tests = nlohmann::json::array();
    for (size_t i = 0; i < spec.programs.size(); i++) {
        std::printf("lab: test %s\n", spec.programs[i].c_str());
        std::fflush(stdout);
        const int status = run_program(spec.programs[i], i);
        std::printf("lab: test %s ended\n", spec.programs[i].c_str());
        std::printf("%s%zu\n", kProgressLine, (i + 1) * 1000 / spec.programs.size());
        std::fflush(stdout);
        tests.push_back({{"program", spec.programs[i]},
                         {"exit", WIFEXITED(status) ? WEXITSTATUS(status) : -1},
                         {"signal", WIFSIGNALED(status) ? WTERMSIG(status) : 0}});
    }
    return {{"status", "ok"}, {"tests", tests}};
}

}  // namespace pfqd::lab
