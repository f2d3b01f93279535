// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
//
// What the host's launcher and the guest's init agree on.
#pragma once

namespace pfqd::lab {

// Descriptors that the User-Mode Linux process inherits: the guest mounts the
// directories behind them.
inline constexpr int kSrcFd = 100;
inline constexpr int kModulesFd = 101;

// Files in the run's directory.
inline constexpr const char* kSpecFile = "spec.json";
inline constexpr const char* kResultFile = "result.json";
inline constexpr const char* kLogFile = "log.bin";
inline constexpr const char* kConsoleFile = "console.txt";

// Lines on the guest's console that tell the host how far a run has come.
inline constexpr const char* kReadyLine = "lab: ready";
inline constexpr const char* kProgressLine = "lab: progress ";  // permille

}  // namespace pfqd::lab
