// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
//
// The watchdog, with real guests: they need the lab kernel and are skipped
// without one (scripts/check builds it first).
#include <gtest/gtest.h>

#include <thread>

#include "lab/host/guest_run.hpp"

namespace pfqd::lab {
namespace {

class GuestRunTest : public testing::Test {
  protected:
    void SetUp() override {
        try {
            kernel_ = installation_.kernel({});
        } catch (const std::exception& error) {
            GTEST_SKIP() << error.what();
        }
    }

    std::string failure_of(const std::string& mode, std::string* tail = nullptr) {
        GuestSpec spec;
        spec.mode = mode;
        GuestOptions options;
        options.stall = std::chrono::seconds(3);
        GuestRun guest(installation_, kernel_, spec, options);
        dir_ = guest.dir();
        while (!guest.poll()) std::this_thread::sleep_for(std::chrono::milliseconds(10));
        if (tail) *tail = guest.console_tail(20);
        return guest.failure();
    }

    Installation installation_ = Installation::find();
    Kernel kernel_;
    std::filesystem::path dir_;
};

TEST_F(GuestRunTest, HangingGuestIsKilled) {
    EXPECT_EQ(failure_of("hang"), "the guest hung: no sign of life for 3 s");
    EXPECT_FALSE(std::filesystem::exists(dir_)) << "nothing is left behind";
}

TEST_F(GuestRunTest, PanicIsReportedWithTheLastMessages) {
    std::string tail;
    EXPECT_NE(failure_of("panic", &tail), "");
    EXPECT_NE(tail.find("Kernel panic"), std::string::npos) << tail;
}

TEST_F(GuestRunTest, RefusalOfTheGuestComesThrough) {
    EXPECT_EQ(failure_of("nonsense"),
              "spec.json: mode 'nonsense' is none of run, selftest, bench-qdisc, hang, panic");
}

TEST_F(GuestRunTest, GuestEndsWithItsObject) {
    GuestSpec spec;
    spec.mode = "hang";
    {
        GuestRun guest(installation_, kernel_, spec, {});
        dir_ = guest.dir();
    }
    EXPECT_FALSE(std::filesystem::exists(dir_));
}

}  // namespace
}  // namespace pfqd::lab
