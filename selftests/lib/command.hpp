// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
//
// Commands as an operator types them, run in the namespace that the test is in.
#pragma once

#include <fcntl.h>
#include <linux/capability.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdint>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

#include "lab/common/fd.hpp"

namespace pfqd::selftest {

struct Outcome {
    int status = -1;   // exit status; 128 and more: killed by a signal
    std::string text;  // standard output and error, as they came
};

// A command that runs until wait() is called.
class Running {
  public:
    // Without the capabilities in that set (bit N: capability N).
    explicit Running(const std::vector<std::string>& words, uint64_t without = 0) {
        std::array<int, 2> ends;
        check(pipe2(ends.data(), O_CLOEXEC), "pipe");
        output_ = Fd(ends[0]);
        const Fd in(ends[1]);
        pid_ = check(fork(), "fork");
        if (pid_ == 0) execute(words, without, in.get());
    }

    Outcome wait() {
        Outcome outcome;
        std::array<char, 4096> buffer;
        ssize_t size;
        while ((size = read(output_.get(), buffer.data(), buffer.size())) > 0)
            outcome.text.append(buffer.data(), static_cast<size_t>(size));
        int status = 0;
        check(waitpid(pid_, &status, 0), "wait");
        outcome.status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
        return outcome;
    }

  private:
    [[noreturn]] static void execute(const std::vector<std::string>& words, uint64_t without, int output) {
        dup2(output, 1);
        dup2(output, 2);
        drop(without);
        std::vector<char*> arguments;
        for (const std::string& word : words) arguments.push_back(const_cast<char*>(word.c_str()));
        arguments.push_back(nullptr);
        execvp(arguments[0], arguments.data());
        perror(arguments[0]);
        _exit(127);
    }

    // From the bounding set too: root's exec would have them back.
    static void drop(uint64_t without) {
        if (!without) return;
        for (int capability = 0; capability < 64; capability++)
            if (without >> capability & 1) syscall(SYS_prctl, 24 /* PR_CAPBSET_DROP */, capability, 0, 0, 0);
    }

    Fd output_;
    pid_t pid_;
};

inline std::vector<std::string> words_of(const std::string& line) {
    std::istringstream stream(line);
    std::vector<std::string> words;
    for (std::string word; stream >> word;) words.push_back(word);
    return words;
}

// The line is split at spaces: no quotes.
inline Outcome run(const std::string& line) {
    return Running(words_of(line)).wait();
}

// For steps of the test itself: they must succeed.
inline std::string must(const std::string& line) {
    Outcome outcome = run(line);
    if (outcome.status != 0)
        throw std::runtime_error("'" + line + "' ended with " + std::to_string(outcome.status) + ": " +
                                 outcome.text);
    return outcome.text;
}

}  // namespace pfqd::selftest
