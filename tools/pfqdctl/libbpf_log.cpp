// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
#include "pfqdctl/libbpf_log.hpp"

#include <bpf/libbpf.h>

#include <array>
#include <cstdarg>
#include <cstdio>

namespace pfqd::ctl {

namespace {

constexpr std::string_view kKernel = "Kernel error message: ";

// libbpf's callback has no argument of ours.
std::string kept;

int keep(libbpf_print_level level, const char* format, va_list arguments) {
    if (level == LIBBPF_DEBUG) return 0;
    va_list again;
    va_copy(again, arguments);
    const int size = std::vsnprintf(nullptr, 0, format, arguments);
    if (size > 0) {
        std::string line(static_cast<size_t>(size) + 1, '\0');
        std::vsnprintf(line.data(), line.size(), format, again);
        line.pop_back();
        kept += line;
    }
    va_end(again);
    return 0;
}

}  // namespace

LibbpfLog::LibbpfLog() {
    kept.clear();
    libbpf_set_print(keep);
}

LibbpfLog::~LibbpfLog() {
    libbpf_set_print(nullptr);
}

std::string LibbpfLog::text() const {
    return kept;
}

std::string LibbpfLog::kernel_words() const {
    const size_t start = kept.rfind(kKernel);
    if (start == std::string::npos) return {};
    const size_t from = start + kKernel.size();
    return kept.substr(from, kept.find('\n', from) - from);
}

}  // namespace pfqd::ctl
