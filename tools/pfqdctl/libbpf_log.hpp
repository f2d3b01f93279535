// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
//
// libbpf prints warnings to standard error as it goes. While one of these lives they
// are kept instead, so that they can be part of one error message, or be dropped when
// what they warn of is expected.
#pragma once

#include <string>

namespace pfqd::ctl {

class LibbpfLog {
  public:
    LibbpfLog();
    ~LibbpfLog();
    LibbpfLog(const LibbpfLog&) = delete;
    LibbpfLog& operator=(const LibbpfLog&) = delete;

    // All of it, or only the kernel's own words about a refused netlink request.
    std::string text() const;
    std::string kernel_words() const;
};

}  // namespace pfqd::ctl
