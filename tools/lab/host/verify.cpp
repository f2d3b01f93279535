// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
#include "lab/host/verify.hpp"

#include <fmt/format.h>
#include <grp.h>
#include <pwd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <functional>
#include <stdexcept>
#include <thread>

#include "lab/common/launch.hpp"
#include "lab/host/guest_run.hpp"
#include "lab/host/progress.hpp"
#include "lab/host/sweep.hpp"

namespace fs = std::filesystem;

namespace pfqd::lab {

namespace {

// One W4 80 % cell of 4 ms: about 2,600 messages, every mechanism in use.
RunSpec small_run(const Installation& installation, uint64_t seed) {
    SweepPlan plan;
    plan.cells = {"w4:80"};
    plan.configs = {"pfqd"};
    plan.seeds = {seed};
    plan.duration_ns = 4'000'000;
    return expand(plan, installation).front();
}

std::string log_hash(const Installation& installation, const Kernel& kernel, uint64_t seed) {
    const RunSpec run = small_run(installation, seed);
    GuestRun guest(installation, kernel, run.guest, GuestOptions{});
    while (!guest.poll()) std::this_thread::sleep_for(std::chrono::milliseconds(10));
    if (!guest.failure().empty()) throw std::runtime_error(guest.failure() + "\n" + guest.console_tail(15));
    return sha256_file(guest.dir() / kLogFile);
}

// Computes in a child process, whose changed identity ends with it.
std::string in_child(const std::function<std::string()>& compute) {
    int ends[2];
    check(pipe(ends), "pipe");
    const Fd in(ends[0]);
    Fd out(ends[1]);
    const pid_t pid = check(fork(), "fork");
    if (pid == 0) {
        std::string text;
        try {
            text = compute();
        } catch (const std::exception& error) {
            text = std::string("error: ") + error.what();
        }
        ssize_t written = write(out.get(), text.data(), text.size());
        _exit(written == static_cast<ssize_t>(text.size()) ? 0 : 1);
    }
    out = Fd();
    std::string text;
    char buffer[256];
    ssize_t size;
    while ((size = read(in.get(), buffer, sizeof(buffer))) > 0)
        text.append(buffer, static_cast<size_t>(size));
    int status = 0;
    waitpid(pid, &status, 0);
    if (status != 0 || text.starts_with("error: ")) throw std::runtime_error("verify: " + text);
    return text;
}

void become_nobody() {
    const passwd* user = getpwnam("nobody");
    if (!user) throw std::runtime_error("there is no user 'nobody'");
    check(setgroups(0, nullptr), "setgroups");
    check(setgid(user->pw_gid), "setgid");
    check(setuid(user->pw_uid), "setuid");
}

}  // namespace

int run_verify(const KernelChoice& choice, const Installation& installation) {
    const Kernel kernel = installation.kernel(choice);
    int wrong = 0;
    fmt::print("kernel {} · configuration {} · {}\ngenerator {}\n",
               kernel.info.at("source").get<std::string>(),
               kernel.info.at("config_sha256").get<std::string>().substr(0, 16),
               kernel.info.at("compiler").get<std::string>(), sha256_file(installation.guest()));
    auto show = [&](const std::string& what, const std::string& hash, bool good) {
        fmt::print("{}  {}  {}\n", good ? "ok    " : "FAILED", hash, what);
        std::fflush(stdout);
        wrong += !good;
    };

    const std::string first = log_hash(installation, kernel, 1);
    show("seed 1", first, true);
    const std::string again = log_hash(installation, kernel, 1);
    show("seed 1 again: equal", again, again == first);
    const std::string other = log_hash(installation, kernel, 2);
    show("seed 2: differs", other, other != first);
    const std::string moved = in_child([&] {
        fs::current_path("/usr");
        setenv("LANG", "tr_TR.UTF-8", 1);
        setenv("PFQD_VERIFY_PADDING", std::string(3000, 'x').c_str(), 1);
        unsetenv("HOME");
        const ScratchDir elsewhere;
        setenv("TMPDIR", elsewhere.path().c_str(), 1);
        return log_hash(installation, kernel, 1);
    });
    show("seed 1, another environment and working directory: equal", moved, moved == first);

    if (geteuid() != 0)
        fmt::print("skipped  another user: only root can become one\n");
    else {
        const ScratchDir shared;
        fs::permissions(shared.path(),
                        fs::perms::owner_all | fs::perms::others_read | fs::perms::others_exec);
        Kernel copied = kernel;
        const Installation copy = installation.copy_to(shared.path(), copied);
        const std::string nobody = in_child([&] {
            become_nobody();
            return log_hash(copy, copied, 1);
        });
        show("seed 1, user nobody: equal", nobody, nobody == first);
    }
    return wrong ? 1 : 0;
}

}  // namespace pfqd::lab
