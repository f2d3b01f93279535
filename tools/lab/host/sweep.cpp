// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
//
// One loop looks after all guests of the sweep: it starts the next run when a
// place is free, polls those that run, turns a finished one into files at once,
// and listens for Ctrl-C. A failed run costs that run and the exit status.
#include "lab/host/sweep.hpp"

#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <sys/signalfd.h>

#include <algorithm>
#include <deque>
#include <fstream>
#include <list>
#include <memory>

#include "lab/common/workload.hpp"
#include "lab/host/progress.hpp"
#include "lab/host/results.hpp"
#include "lab/host/run_files.hpp"

namespace fs = std::filesystem;

namespace pfqd::lab {

namespace {

constexpr int kPollMs = 20;
constexpr size_t kConsoleLines = 15;

// SIGINT and SIGTERM as a readable descriptor; as before when it goes.
class Interrupts {
  public:
    Interrupts() {
        sigset_t set;
        sigemptyset(&set);
        sigaddset(&set, SIGINT);
        sigaddset(&set, SIGTERM);
        sigprocmask(SIG_BLOCK, &set, &before_);
        fd_ = Fd(check(signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK), "signalfd"));
    }
    ~Interrupts() { sigprocmask(SIG_SETMASK, &before_, nullptr); }
    // Waits at most kPollMs; true when a signal came.
    bool wait() const {
        pollfd entry{fd_.get(), POLLIN, 0};
        return ::poll(&entry, 1, kPollMs) > 0;
    }

  private:
    sigset_t before_;
    Fd fd_;
};

struct Active {
    const RunSpec* spec;
    std::unique_ptr<GuestRun> guest;
};

class Sweep {
  public:
    Sweep(const SweepPlan& plan, const Installation& installation)
        : plan_(plan),
          installation_(installation),
          kernel_(installation.kernel(plan.kernel)),
          generator_(sha256_file(installation.guest())),
          runs_(expand(plan, installation)) {}

    int run() {
        fs::create_directories(plan_.out / "runs");
        skip_done();
        Interrupts interrupts;
        bool interrupted = false;
        while ((!waiting_.empty() || !active_.empty()) && !interrupted) {
            while (!waiting_.empty() && active_.size() < plan_.jobs) start_next();
            interrupted = interrupts.wait();
            look_after();
            show();
        }
        active_.clear();
        if (done_ > 0) write_results(plan_.out);
        if (interrupted)
            progress_.note(
                fmt::format("interrupted: {} of {} runs are done and kept; the same command goes on", done_,
                            runs_.size()));
        return interrupted ? 130 : failed_ ? 1 : 0;
    }

  private:
    void skip_done() {
        for (const RunSpec& run : runs_) {
            if (run_is_done(run, run_identity(run, kernel_, generator_), plan_.out))
                done_++;
            else
                waiting_.push_back(&run);
        }
        if (done_) progress_.note(fmt::format("{} of {} runs are already there", done_, runs_.size()));
        already_ = done_;
    }

    void start_next() {
        const RunSpec* spec = waiting_.front();
        waiting_.pop_front();
        active_.push_back(
            {spec, std::make_unique<GuestRun>(installation_, kernel_, spec->guest, plan_.guest)});
    }

    void look_after() {
        for (auto it = active_.begin(); it != active_.end();) {
            if (!it->guest->poll()) {
                ++it;
                continue;
            }
            finish(*it);
            it = active_.erase(it);
        }
    }

    void finish(const Active& active) {
        std::string failure = active.guest->failure();
        if (failure.empty()) {
            try {
                write_run(*active.spec, *active.guest, run_identity(*active.spec, kernel_, generator_),
                          plan_.command, plan_.out);
            } catch (const std::exception& error) {
                failure = error.what();
            }
        }
        if (failure.empty()) {
            done_++;
            progress_.note(
                fmt::format("{} done in {}", active.spec->name(), duration_text(active.guest->wall_s())));
        } else {
            failed_++;
            progress_.note(fmt::format("pfqd-lab: run {} failed: {}\n  the guest's last messages:\n{}",
                                       active.spec->name(), failure,
                                       active.guest->console_tail(kConsoleLines)));
        }
    }

    void show() {
        if (active_.empty()) return;
        double fraction = static_cast<double>(done_ + failed_ - already_);
        std::string text;
        for (const Active& active : active_) {
            fraction += active.guest->progress_permille() / 1000.0;
            text += (text.empty() ? "" : ", ") + active.spec->name();
        }
        progress_.update(fraction / static_cast<double>(runs_.size() - already_), text);
    }

    const SweepPlan& plan_;
    const Installation& installation_;
    Kernel kernel_;
    std::string generator_;
    std::vector<RunSpec> runs_;
    std::deque<const RunSpec*> waiting_;
    std::list<Active> active_;
    size_t done_ = 0, failed_ = 0, already_ = 0;
    ProgressLine progress_;
};

}  // namespace

std::string RunSpec::name() const {
    std::string text = cell.name + "-" + config;
    for (char& c : text)
        if (c == ':') c = '_';
    for (const auto& [key, value] : settings) text += "-" + key + "=" + value;
    return text + "-s" + std::to_string(seed);
}

namespace {

GuestSpec guest_spec(const SweepPlan& plan, const Cell& cell, const Workload& workload,
                     const std::string& config, uint64_t seed, const Settings& settings) {
    GuestSpec guest;
    guest.mode = "run";
    guest.seed = seed;
    guest.load.load_bps = static_cast<uint64_t>(cell.load_gbps * 1e9 + 0.5);
    guest.load.duration_ns = plan.duration_ns.value_or(default_duration_ns(cell));
    for (const auto& point : workload.points()) guest.load.sizes.emplace_back(point.bytes, point.fraction);
    apply_configuration(config, guest.network);
    apply_settings(settings, guest);
    return guest;
}

}  // namespace

std::vector<RunSpec> expand(const SweepPlan& plan, const Installation& installation) {
    std::vector<RunSpec> runs;
    for (const std::string& cell_name : plan.cells) {
        const Cell cell = parse_cell(cell_name);
        const Workload workload = Workload::load(installation.workloads() / (cell.workload + ".txt"));
        for (uint64_t seed : plan.seeds)
            for (const std::string& config : plan.configs) {
                RunSpec run{
                    cell, config, seed, {}, guest_spec(plan, cell, workload, config, seed, plan.settings)};
                // A setting that changes nothing is no variant: its runs are the default's.
                for (const auto& setting : plan.settings) {
                    Settings others = plan.settings;
                    others.erase(setting.first);
                    const GuestSpec without = guest_spec(plan, cell, workload, config, seed, others);
                    if (nlohmann::json(without) != nlohmann::json(run.guest)) run.settings.insert(setting);
                }
                runs.push_back(std::move(run));
            }
    }
    return runs;
}

int run_sweep(const SweepPlan& plan, const Installation& installation) {
    return Sweep(plan, installation).run();
}

}  // namespace pfqd::lab
