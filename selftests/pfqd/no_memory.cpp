// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
//
// Every allocation of pfqd fails once: making a qdisc, changing its table, and
// packets that come while there is no memory for a flow. Bug 14 (a failed init that
// the core resets and destroys) with the memory itself failing.
//
// The kernel fails the n-th allocation of a task that says so (fault injection, in
// the debug kernel): n counts up until nothing is left to fail.
#include <fcntl.h>
#include <sys/mount.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <functional>

#include "selftests/pfqd/port.hpp"

using namespace pfqd::selftest;
namespace nl = pfqd::nl;

namespace {

constexpr const char* kNth = "/proc/thread-self/fail-nth";
constexpr const char* kDebugfs = "/sys/kernel/debug";
constexpr int kMost = 200;  // more allocations than any request needs

bool fault_injection() {
    return std::filesystem::exists(kNth);
}

void arm() {
    if (!std::filesystem::exists(std::string(kDebugfs) + "/failslab"))
        pfqd::check(mount("debugfs", kDebugfs, "debugfs", 0, nullptr), "mount debugfs");
    write_text(std::string(kDebugfs) + "/failslab/ignore-gfp-wait", "N");  // those that may sleep too
    write_text(std::string(kDebugfs) + "/failslab/verbose", "0");          // no stack in the log for each
}

// The n-th allocation of this task from now on fails, until disarmed: whether it did.
void arm_nth(int fd, int nth) {
    const std::string text = std::to_string(nth);
    pfqd::check(static_cast<int>(pwrite(fd, text.data(), text.size(), 0)), "arm fault injection");
}

bool disarm(int fd) {
    char left[16] = {};
    pfqd::check(static_cast<int>(pread(fd, left, sizeof(left) - 1, 0)), "read fault injection");
    arm_nth(fd, 0);
    return std::atoi(left) == 0;
}

pfqd::Fd nth_file() {
    return pfqd::Fd(pfqd::check(open(kNth, O_RDWR | O_CLOEXEC), kNth));
}

// A request to the end's namespace, once for each of its allocations: refused, or done.
struct Outcome {
    int refused = 0, done = 0;
    bool ended = false;
};

using Make = std::function<void(nl::Message&)>;

// Nothing of ours allocates in the kernel between arming and the request itself.
Outcome fail_each(const End& end, int type, int flags, const Make& make, bool dump,
                  const std::function<void()>& before, const std::function<void()>& after) {
    Outcome outcome;
    const pfqd::Fd nth_fd = nth_file();
    for (int nth = 1; nth <= kMost && !outcome.ended; nth++) {
        before();
        int code = 0;
        bool failed = false;
        {
            In inside(end.netns());
            nl::Socket socket;
            nl::Message message(type, flags);
            make(message);
            arm_nth(nth_fd.get(), nth);
            try {
                if (dump)
                    socket.dump(message, [](const nlmsghdr&) {});
                else
                    socket.request(message);
            } catch (const nl::NetlinkError& error) {
                code = error.code();
            } catch (const std::exception&) {
                code = ENOMEM;  // the socket's own call
            }
            failed = disarm(nth_fd.get());
        }
        outcome.ended = !failed && code == 0;
        (code ? outcome.refused : outcome.done)++;
        after();
    }
    return outcome;
}

Make qdisc_request(const End& end, const QdiscOptions& options, uint32_t handle = 0x10000) {
    return [=, ifindex = end.ifindex()](nl::Message& message) {
        tcmsg tc{};
        tc.tcm_ifindex = ifindex;
        tc.tcm_parent = TC_H_ROOT;
        tc.tcm_handle = handle;
        message.raw(tc);
        message.put_string(TCA_KIND, "pfqd");
        options(message);
    };
}

bool skipped(Tap& tap) {
    if (fault_injection()) return false;
    tap.skip("without memory", "only the debug kernel has fault injection");
    return true;
}

void test_init(Tap& tap) {
    if (skipped(tap)) return;
    Port port;
    arm();
    int whole = 0, rounds = 0;
    const Outcome outcome = fail_each(
        port.end(), RTM_NEWQDISC, NLM_F_CREATE | NLM_F_REPLACE,
        qdisc_request(port.end(), pfqd_options({.flows = 1 << 20}), 0x20000), false,
        [&] { delete_qdisc(port.end()); },
        [&] {
            // whatever is there now works
            port.hold();
            port.queue_data('A', 0, 3);
            whole += joined(port.drain()) == "A0 A1 A2";
            rounds++;
            set_qdisc(port.end(), "pfqd", pfqd_options({}), {TC_H_ROOT, 0x30000});
        });
    tap.diag(fmt::format("{} allocations failed, {} refusals", outcome.refused + outcome.done - 1,
                         outcome.refused));
    tap.ok(outcome.ended, "every allocation of making a qdisc has failed once");
    tap.ok(outcome.refused > 3, "and was refused");
    tap.is("whatever is there afterwards works", whole, rounds);
}

void test_change(Tap& tap) {
    if (skipped(tap)) return;
    Port port({.pfqd = {.flows = 4}});
    arm();
    port.hold();
    port.queue_data('A', 0, 3);
    bool unchanged = true;
    const Outcome outcome = fail_each(
        port.end(), RTM_NEWQDISC, 0, qdisc_request(port.end(), pfqd_options({.flows = 5000, .demote = 7})),
        false, [] {},
        [&] {
            const std::vector<uint8_t> options = port.stats().qdisc.options;
            const uint32_t flows = nl::attr_u32(find_in(options, TCA_PFQD_FLOWS));
            const uint32_t demote = nl::attr_u32(find_in(options, TCA_PFQD_DEMOTE));
            unchanged = unchanged && ((flows == 4 && demote == 5000) || (flows == 5000 && demote == 7));
            change_qdisc(port.end(), "pfqd", pfqd_options({.flows = 4, .demote = 5000}));
        });
    tap.ok(outcome.ended && outcome.refused > 1, "every allocation of a change has failed once");
    tap.ok(unchanged, "a change is made whole, or not at all");
    tap.is("what was queued is there", joined(port.drain()), "A0 A1 A2");
    check_empty(tap, port.stats());
}

// The packet of a flow that cannot be made goes to a shared FIFO.
void test_flows(Tap& tap) {
    if (skipped(tap)) return;
    Port port;
    arm();
    port.hold();
    uint32_t sent = 0;
    const pfqd::Fd nth_fd = nth_file();
    for (int nth = 1; nth <= 12; nth++) {
        for (uint16_t flow = 0; flow < 20; flow++) {
            FrameOptions options;
            options.source = 0x0a000000u + static_cast<uint32_t>(nth * 100 + flow);
            options.payload = 100;
            const Bytes frame = make_frame(options);
            arm_nth(nth_fd.get(), nth);
            try {
                port.queue(frame);
                sent++;
            } catch (const std::exception&) {  // the socket's own allocation
            }
            disarm(nth_fd.get());
        }
    }
    const PfqdStats stats = port.stats();
    tap.ok(stats.alloc_failures > 0, "flows could not be made");
    tap.ok(stats.overflow_packets >= stats.alloc_failures, "their packets share, and what comes to them");
    tap.is("all that were sent are queued", stats.qdisc.qlen, sent);
    tap.is("and leave", port.drain_frames().size(), size_t{sent} + 1);
    check_empty(tap, port.stats());
}

void test_classes(Tap& tap) {
    if (skipped(tap)) return;
    Port port;
    arm();
    port.hold();
    port.queue_data('A', 0, 3);
    const Outcome outcome = fail_each(
        port.end(), RTM_GETTCLASS, 0,
        [&](nl::Message& message) {
            tcmsg tc{};
            tc.tcm_ifindex = port.end().ifindex();
            message.raw(tc);
        },
        true, [] {}, [] {});
    tap.ok(outcome.ended, "every allocation of a class dump has failed once");
    tap.is("what was queued is there", joined(port.drain()), "A0 A1 A2");
}

}  // namespace

int main() {
    return run_tests(
        {{"init", test_init}, {"change", test_change}, {"flows", test_flows}, {"classes", test_classes}});
}
