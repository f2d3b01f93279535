// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
//
// Guests that run at once have different processors, whoever started them.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <memory>
#include <vector>

#include "lab/host/processor.hpp"

namespace pfqd::lab {
namespace {

std::string family() {
    return "pfqd-test-" + std::to_string(getpid());
}

size_t allowed_count() {
    cpu_set_t allowed;
    check(sched_getaffinity(0, sizeof(allowed), &allowed), "sched_getaffinity");
    return static_cast<size_t>(CPU_COUNT(&allowed));
}

TEST(ProcessorTest, AllAreClaimedOnceThenAnyIsShared) {
    std::vector<std::unique_ptr<Processor>> held;
    cpu_set_t seen;
    CPU_ZERO(&seen);
    for (size_t i = 0; i < allowed_count(); i++) {
        held.push_back(std::make_unique<Processor>(Processor::From::first, family()));
        ASSERT_TRUE(held.back()->claimed());
        EXPECT_EQ(CPU_COUNT(&held.back()->set()), 1);
        CPU_OR(&seen, &seen, &held.back()->set());
    }
    EXPECT_EQ(static_cast<size_t>(CPU_COUNT(&seen)), allowed_count()) << "no processor twice";
    const Processor late(Processor::From::first, family());
    EXPECT_FALSE(late.claimed());
    EXPECT_EQ(CPU_COUNT(&late.set()), 1);
    CPU_OR(&seen, &seen, &late.set());
    EXPECT_EQ(static_cast<size_t>(CPU_COUNT(&seen)), allowed_count()) << "one of those that are allowed";
}

TEST(ProcessorTest, FirstAndLastAreTheEndsOfTheSet) {
    const Processor first(Processor::From::first, family() + "-first");
    const Processor last(Processor::From::last, family() + "-last");
    EXPECT_EQ(CPU_EQUAL(&first.set(), &last.set()) != 0, allowed_count() == 1);
}

TEST(ProcessorTest, IsFreeAgainWhenItsOwnerIsKilled) {
    int ready[2];
    check(pipe(ready), "pipe");
    const std::string name = family();
    const pid_t child = check(fork(), "fork");
    if (child == 0) {
        const Processor mine(Processor::From::first, name);
        const char said = mine.claimed() ? 'y' : 'n';
        if (write(ready[1], &said, 1) != 1) _exit(1);
        pause();
        _exit(0);
    }
    char said = 0;
    ASSERT_EQ(read(ready[0], &said, 1), 1);
    EXPECT_EQ(said, 'y');
    {
        const Processor other(Processor::From::first, name);
        EXPECT_EQ(other.claimed(), allowed_count() > 1);
    }
    kill(child, SIGKILL);
    waitpid(child, nullptr, 0);
    cpu_set_t first;
    {
        const Processor again(Processor::From::first, name);
        EXPECT_TRUE(again.claimed());
        first = again.set();
    }
    const Processor reference(Processor::From::first, name + "-reference");
    EXPECT_TRUE(CPU_EQUAL(&first, &reference.set())) << "the one that the child had";
    close(ready[0]);
    close(ready[1]);
}

}  // namespace
}  // namespace pfqd::lab
