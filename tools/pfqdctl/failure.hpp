// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
//
// How pfqdctl ends: its exit statuses, and the exception that becomes "pfqdctl: ..."
// and status 1.
#pragma once

#include <stdexcept>

namespace pfqd::ctl {

enum ExitStatus {
    kDone = 0,         // the system is as asked, now or already before
    kFailed = 1,       // refused, not permitted, no such device
    kUsage = 2,        // wrong command line
    kNotAttached = 3,  // show: there is nothing on the device
};

class Failure : public std::runtime_error {
    using std::runtime_error::runtime_error;
};

}  // namespace pfqd::ctl
