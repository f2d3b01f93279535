// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
//
// One boot of the guest, from an empty directory to its result.
//
// The directory holds what this boot differs by (spec.json) and receives what
// it produces. The User-Mode Linux process always sees the same command line, the
// same file names relative to its working directory and almost no environment,
// so that the seed is the only difference between two runs.
#pragma once

#include <chrono>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "lab/common/fd.hpp"
#include "lab/common/spec.hpp"
#include "lab/host/installation.hpp"
#include "lab/host/processor.hpp"

namespace pfqd::lab {

struct GuestOptions {
    uint32_t memory_mb = 1024;
    // A guest that reports nothing for so long has hung.
    std::chrono::seconds stall{120};
    bool allow_splats = false;  // the tests of the detectors want them
    Processor::From processors = Processor::From::first;
    bool real_time = false;  // the clock of the machine: for what code costs
};

// A directory of its own that is gone when the object is.
class ScratchDir {
  public:
    ScratchDir();
    ~ScratchDir();
    ScratchDir(ScratchDir&&) = delete;
    const std::filesystem::path& path() const { return path_; }

  private:
    std::filesystem::path path_;
};

class GuestRun {
  public:
    GuestRun(const Installation& installation, const Kernel& kernel, const GuestSpec& spec,
             const GuestOptions& options);
    ~GuestRun();  // kills a guest that still runs
    GuestRun(GuestRun&&) = delete;

    // Looks after the guest; true when it has ended. Never blocks.
    bool poll();

    // After poll() said true. Empty when all went well.
    const std::string& failure() const { return failure_; }
    const nlohmann::json& result() const { return result_; }
    const std::filesystem::path& dir() const { return scratch_.path(); }
    int progress_permille() const { return permille_; }
    pid_t pid() const { return pid_; }     // of the User-Mode Linux process; -1: it has ended
    bool ready() const { return ready_; }  // the guest has done its preparations
    double wall_s() const { return wall_s_; }
    double setup_s() const { return setup_s_; }
    double user_s() const { return user_s_; }
    double system_s() const { return system_s_; }
    long rss_kib() const { return rss_kib_; }
    // Lines of the kernel's log that report a bug.
    const std::vector<std::string>& splats() const { return splats_; }
    std::string console_tail(size_t lines) const;

  private:
    void prepare(const Installation& installation, const GuestSpec& spec);
    void start(const Installation& installation, const Kernel& kernel, uint64_t seed);
    void read_console();
    void finish(int status);
    void kill_guest();
    double elapsed() const;

    ScratchDir scratch_;
    GuestOptions options_;
    Processor processor_;
    pid_t pid_ = -1;
    std::chrono::steady_clock::time_point started_;
    std::chrono::steady_clock::time_point last_sign_;
    size_t console_size_ = 0;
    std::string partial_line_;
    std::string stalled_;
    bool ready_ = false;
    int permille_ = 0;
    double wall_s_ = 0, setup_s_ = 0, user_s_ = 0, system_s_ = 0;
    long rss_kib_ = 0;
    std::vector<std::string> splats_;
    std::string failure_;
    nlohmann::json result_;
};

}  // namespace pfqd::lab
