// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
//
// A progress line on stderr: rewritten in place on a terminal, one every ten
// seconds elsewhere.
#pragma once

#include <chrono>
#include <string>

namespace pfqd::lab {

class ProgressLine {
  public:
    ProgressLine();
    ~ProgressLine();
    // fraction in 0..1 of all the work; text says what is going on.
    void update(double fraction, const std::string& text);
    // A line that stays.
    void note(const std::string& text);

  private:
    bool terminal_;
    bool shown_ = false;
    std::chrono::steady_clock::time_point started_;
    std::chrono::steady_clock::time_point last_;
};

// "1 h 5 min", "3 min 20 s", "12 s".
std::string duration_text(double seconds);

}  // namespace pfqd::lab
