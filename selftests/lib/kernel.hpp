// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
//
// The kernel under test: its modules, its settings, its log.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "lab/common/fd.hpp"

namespace pfqd::selftest {

// From the guest's module directory, or the one that LAB_MODULES names; one that
// is loaded already is fine.
void load_module(const std::string& name, const std::string& parameters = "");
void unload_module(const std::string& name);
bool module_loaded(const std::string& name);

std::string read_text(const std::string& path);
void write_text(const std::string& path, const std::string& text);

// "net/ipv4/tcp_ecn", in the namespace that this thread is in.
void set_sysctl(const std::string& name, const std::string& value);

// A counter of /proc/net/snmp or netstat, of the namespace that this thread is in.
uint64_t net_counter(const std::string& group, const std::string& name);

uint64_t monotonic_ns();
void sleep_ns(uint64_t ns);

// The kernel's log from the moment of construction on.
class KernelLog {
  public:
    KernelLog();
    // Lines since the last call.
    std::vector<std::string> read_new();
    // Reads on; true when a line contains the text. The lines are kept in seen().
    bool has(const std::string& text);
    const std::vector<std::string>& seen() const { return seen_; }

  private:
    Fd fd_;
    std::vector<std::string> seen_;
};

}  // namespace pfqd::selftest
