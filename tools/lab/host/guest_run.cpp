// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
#include "lab/host/guest_run.hpp"

#include <fcntl.h>
#include <signal.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <deque>
#include <fstream>
#include <stdexcept>

#include "lab/common/launch.hpp"

namespace fs = std::filesystem;

namespace pfqd::lab {

namespace {

// What a kernel's log says when something is wrong; nothing else says these.
constexpr std::array kSplats = {"WARNING:",
                                "BUG:",
                                "KASAN:",
                                "UBSAN:",
                                "possible recursive locking",
                                "possible circular locking",
                                "possible irq lock inversion",
                                "inconsistent lock state",
                                "suspicious RCU usage",
                                "INFO: task",
                                "Oops",
                                "Kernel panic",
                                "list_add corruption",
                                "list_del corruption",
                                "refcount_t:",
                                "Kernel mode fault",
                                "held lock freed",
                                "invalid context"};

bool is_splat(const std::string& line) {
    if (line.starts_with("lab: ")) return false;
    for (const char* text : kSplats)
        if (line.find(text) != std::string::npos) return true;
    return false;
}

void write_text(const fs::path& path, const std::string& text) {
    std::ofstream file(path, std::ios::binary);
    file << text;
    file.close();
    if (!file) throw std::runtime_error("cannot write " + path.string() + " (is the disk full?)");
}

double seconds(const timeval& time) {
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) / 1e6;
}

// The child's part between fork and exec: async-signal-safe calls only.
[[noreturn]] void become_guest(const cpu_set_t& processor, const char* binary, const char* dir, int console,
                               int src, int modules, char* const argv[], char* const envp[]) {
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, nullptr);
    personality(ADDR_NO_RANDOMIZE);  // the gap behind the program becomes guest memory
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    sched_setaffinity(0, sizeof(processor), &processor);
    setpgid(0, 0);
    const int null = open("/dev/null", O_RDONLY);
    if (chdir(dir) < 0 || dup2(null, 0) < 0 || dup2(console, 1) < 0 || dup2(console, 2) < 0 ||
        dup2(src, kSrcFd) < 0 || dup2(modules, kModulesFd) < 0)
        _exit(126);
    execve(binary, argv, envp);
    _exit(127);
}

}  // namespace

ScratchDir::ScratchDir() {
    std::string name = (fs::temp_directory_path() / "pfqd-lab.XXXXXX").string();
    if (!mkdtemp(name.data())) throw_errno("create a directory like " + name);
    path_ = name;
}

ScratchDir::~ScratchDir() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
}

GuestRun::GuestRun(const Installation& installation, const Kernel& kernel, const GuestSpec& spec,
                   const GuestOptions& options)
    : options_(options), processor_(options.processors) {
    prepare(installation, spec);
    start(installation, kernel, spec.seed);
}

GuestRun::~GuestRun() {
    if (pid_ > 0) {
        kill_guest();
        waitpid(pid_, nullptr, 0);
    }
}

void GuestRun::prepare(const Installation& installation, const GuestSpec& spec) {
    fs::create_directory(dir() / "root");
    fs::copy_file(installation.guest(), dir() / "init");
    write_text(dir() / kSpecFile, nlohmann::json(spec).dump());
    write_text(dir() / kConsoleFile, "");
}

void GuestRun::start(const Installation& installation, const Kernel& kernel, uint64_t seed) {
    const Fd console(
        check(open((dir() / kConsoleFile).c_str(), O_WRONLY | O_APPEND | O_CLOEXEC), "open the console"));
    const Fd src(check(open(installation.source().c_str(), O_PATH | O_CLOEXEC), "open the checkout"));
    const Fd modules(check(open(kernel.modules.c_str(), O_PATH | O_CLOEXEC), "open the modules"));

    // The kernel mixes its command line into its random numbers: it is the same
    // for every run of one memory size.
    const std::string memory = "mem=" + std::to_string(options_.memory_mb) + "M";
    std::vector<const char*> argv = {
        "linux", memory.c_str(), "root=none", "rootfstype=hostfs", "rootflags=/proc/self/cwd/.",
        "ro",    "init=/init"};
    // The clock starts at a fixed second, in ns: it enters initial sequence numbers.
    if (!options_.real_time)
        argv.insert(argv.end(), {"time-travel=inf-cpu", "time-travel-start=1700000000000000000"});
    // Random numbers are there from the start; waiting for them would never
    // end in a clock that stands still.
    argv.insert(argv.end(), {"random.trust_cpu=on", "con=null", "con0=null,fd:1", "loglevel=5", "uml_dir=./",
                             "umid=lab", nullptr});
    const std::string seed_variable = "LAB_SEED=" + std::to_string(seed);
    std::array<const char*, 4> envp = {seed_variable.c_str(), "HOME=.", "TMPDIR=/dev/shm", nullptr};

    started_ = last_sign_ = std::chrono::steady_clock::now();
    pid_ = check(fork(), "fork");
    if (pid_ == 0)
        become_guest(processor_.set(), kernel.binary.c_str(), dir().c_str(), console.get(), src.get(),
                     modules.get(), const_cast<char**>(argv.data()), const_cast<char**>(envp.data()));
    setpgid(pid_, pid_);
}

double GuestRun::elapsed() const {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - started_).count();
}

void GuestRun::kill_guest() {
    kill(-pid_, SIGKILL);
    kill(pid_, SIGKILL);
}

void GuestRun::read_console() {
    std::ifstream file(dir() / kConsoleFile, std::ios::binary);
    file.seekg(static_cast<std::streamoff>(console_size_));
    std::string text((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
    if (text.empty()) return;
    console_size_ += text.size();
    last_sign_ = std::chrono::steady_clock::now();
    partial_line_ += text;
    size_t end;
    while ((end = partial_line_.find('\n')) != std::string::npos) {
        std::string line = partial_line_.substr(0, end);
        if (line.ends_with('\r')) line.pop_back();
        partial_line_.erase(0, end + 1);
        if (line == kReadyLine && !ready_) {
            ready_ = true;
            setup_s_ = elapsed();
        }
        if (line.starts_with(kProgressLine))
            permille_ = std::atoi(line.c_str() + std::string(kProgressLine).size());
        if (is_splat(line)) splats_.push_back(line);
    }
}

bool GuestRun::poll() {
    if (pid_ < 0) return true;
    read_console();
    int status = 0;
    rusage usage{};
    const pid_t ended = wait4(pid_, &status, WNOHANG, &usage);
    if (ended == 0) {
        if (std::chrono::steady_clock::now() - last_sign_ > options_.stall && stalled_.empty()) {
            stalled_ = "the guest hung: no sign of life for " + std::to_string(options_.stall.count()) + " s";
            kill_guest();
        }
        return false;
    }
    user_s_ = seconds(usage.ru_utime);
    system_s_ = seconds(usage.ru_stime);
    rss_kib_ = usage.ru_maxrss;
    finish(status);
    return true;
}

void GuestRun::finish(int status) {
    wall_s_ = elapsed();
    kill(-pid_, SIGKILL);  // helper processes of a guest that died
    pid_ = -1;
    read_console();
    std::ifstream file(dir() / kResultFile);
    result_ = nlohmann::json::parse(file, nullptr, false);
    if (!stalled_.empty())
        failure_ = stalled_;
    else if (WIFSIGNALED(status))
        failure_ = "the guest was killed by signal " + std::to_string(WTERMSIG(status));
    else if (WEXITSTATUS(status) == 127)
        failure_ = "the lab kernel could not be started";
    else if (WEXITSTATUS(status) != 0)
        failure_ = "the guest's kernel panicked (status " + std::to_string(WEXITSTATUS(status)) + ")";
    else if (result_.is_discarded() || !result_.is_object())
        failure_ = "the guest ended without a result (is the disk full?)";
    else if (result_.value("status", "") != "ok")
        failure_ = result_.value("message", "the guest gave no reason");
    else if (!splats_.empty() && !options_.allow_splats)
        failure_ = "the guest's kernel reports a bug: " + splats_.front();
}

std::string GuestRun::console_tail(size_t lines) const {
    std::ifstream file(dir() / kConsoleFile);
    std::deque<std::string> last;
    for (std::string line; std::getline(file, line);) {
        if (line.starts_with(kProgressLine)) continue;
        last.push_back("    " + line + "\n");
        if (last.size() > lines) last.pop_front();
    }
    std::string text;
    for (const std::string& line : last) text += line;
    return text;
}

}  // namespace pfqd::lab
