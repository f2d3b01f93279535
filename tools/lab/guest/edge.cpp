// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
#include "lab/guest/edge.hpp"

#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <stdexcept>
#include <string>

#include "lab/common/fd.hpp"
#include "lab/guest/mounts.hpp"

namespace pfqd::lab {

namespace {

// Runs it in the namespace that the thread is in; its words go to the run's log.
void run_pfqdctl(const std::string& port) {
    const std::string program = std::string(kSrcDir) + "/build/bin/pfqdctl";
    const pid_t child = check(fork(), "fork");
    if (child == 0) {
        execl(program.c_str(), "pfqdctl", "edge", "attach", port.c_str(), nullptr);
        perror(program.c_str());
        _exit(127);
    }
    int status = 0;
    check(waitpid(child, &status, 0), "wait for pfqdctl");
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
        throw std::runtime_error("pfqdctl edge attach " + port + " failed; is it built (make tools)?");
}

}  // namespace

void attach_edge(const Fabric& fabric) {
    fabric.tor().enter();
    for (size_t n = 0; n < fabric.internet().size(); n++) run_pfqdctl("i" + std::to_string(n));
}

}  // namespace pfqd::lab
