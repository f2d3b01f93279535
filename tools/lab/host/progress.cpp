// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
#include "lab/host/progress.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>

namespace pfqd::lab {

using namespace std::chrono_literals;

std::string duration_text(double seconds) {
    const auto total = static_cast<long>(seconds + 0.5);
    if (total >= 3600) return fmt::format("{} h {} min", total / 3600, total % 3600 / 60);
    if (total >= 60) return fmt::format("{} min {} s", total / 60, total % 60);
    return fmt::format("{} s", total);
}

ProgressLine::ProgressLine()
    : terminal_(isatty(STDERR_FILENO)), started_(std::chrono::steady_clock::now()), last_(started_) {}

ProgressLine::~ProgressLine() {
    if (shown_) std::fputs("\r\033[K", stderr);
}

void ProgressLine::update(double fraction, const std::string& text) {
    const auto now = std::chrono::steady_clock::now();
    if (now - last_ < (terminal_ ? 200ms : 10'000ms)) return;
    last_ = now;
    const double elapsed = std::chrono::duration<double>(now - started_).count();
    const std::string left = fraction > 0.005
                                 ? fmt::format("about {} left", duration_text(elapsed / fraction - elapsed))
                                 : "time left unknown yet";
    const std::string line = fmt::format("{:3.0f} % · {} · {}", fraction * 100, text, left);
    fmt::print(stderr, "{}{}{}", terminal_ ? "\r\033[K" : "", line, terminal_ ? "" : "\n");
    std::fflush(stderr);
    shown_ = terminal_;
}

void ProgressLine::note(const std::string& text) {
    fmt::print(stderr, "{}{}\n", shown_ ? "\r\033[K" : "", text);
    shown_ = false;
}

}  // namespace pfqd::lab
