// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
//
// net.core.default_qdisc=pfqd: every new device of every namespace gets one, the queues
// of a multi-queue device one each, made by the core without options, thrown away when
// the device goes. The sysctl is the initial namespace's, and pins the module.
#include <fcntl.h>

#include "selftests/bugs/trees.hpp"

using namespace pfqd::selftest;
namespace nl = pfqd::nl;

namespace {

// Enters the initial namespace for the life of a block.
class InInitial {
  public:
    InInitial() : before_(nl::Netns::current()) {
        const pfqd::Fd initial(
            pfqd::check(open("/proc/1/ns/net", O_RDONLY | O_CLOEXEC), "open init's netns"));
        pfqd::check(setns(initial.get(), CLONE_NEWNET), "enter init's netns");
    }
    ~InInitial() { before_.enter(); }
    InInitial(const InInitial&) = delete;
    InInitial& operator=(const InInitial&) = delete;

  private:
    nl::Netns before_;
};

class DefaultQdisc {
  public:
    explicit DefaultQdisc(const std::string& kind) {
        load_module("wire");
        load_module("sch_pfqd");
        InInitial inside;
        before_ = read_text(kPath);
        write_text(kPath, kind);
        made_ = read_text(kPath);
    }
    ~DefaultQdisc() {
        InInitial inside;
        write_text(kPath, before_);
    }
    DefaultQdisc(const DefaultQdisc&) = delete;
    DefaultQdisc& operator=(const DefaultQdisc&) = delete;
    const std::string& text() const { return made_; }

  private:
    static constexpr const char* kPath = "/proc/sys/net/core/default_qdisc";
    std::string before_, made_;
};

void test_single_queue(Tap& tap) {
    const DefaultQdisc chosen("pfqd");
    tap.is("the sysctl takes it", chosen.text(), "pfqd\n");
    for (int round = 0; round < 20; round++) {
        nl::Netns left = quiet_netns(), right = quiet_netns();
        const auto ends = make_wire(left, {.rate = kWireRate, .ring = 0}, right, {});
        if (round == 0) {
            tap.is("a new device has it", qdisc_stats(ends.first).kind, "pfqd");
            tap.is("the other end too", qdisc_stats(ends.second).kind, "pfqd");
        }
        PacketSocket out(ends.first);
        for (uint32_t n = 0; n < 20; n++) out.send(data('A', n));
        if (round % 2) ends.first.remove();  // else the namespaces go
    }
    nl::Netns left = quiet_netns(), right = quiet_netns();
    const auto ends = make_wire(left, {.rate = kWireRate, .ring = 0}, right, {});
    PacketSocket out(ends.first), in(ends.second);
    for (uint32_t n = 0; n < 20; n++) out.send(data('A', n));
    tap.is("after twenty devices it works", in.receive_all().size(), 20u);
}

void test_multiqueue(Tap& tap) {
    const DefaultQdisc chosen("pfqd");
    for (const uint32_t queues : {2u, 4u, 16u, 2u}) {
        nl::Netns left = quiet_netns(), right = quiet_netns();
        const auto ends = make_wire(left, {.rate = kWireRate, .ring = 0, .queues = queues}, right, {});
        // the core's own mq has no handle: its children's parents are 0:1, 0:2, ...
        tap.is(fmt::format("{} queues: mq", queues), qdisc_stats(ends.first).kind, "mq");
        uint32_t found = 0;
        for (uint32_t queue = 1; queue <= queues; queue++)
            found += qdisc_stats(ends.first, queue).kind == "pfqd";
        tap.is("each queue has a pfqd", found, queues);
        PacketSocket out(ends.first), in(ends.second);
        for (uint32_t n = 0; n < 40; n++)
            for (const char flow : std::string("ABCD")) out.send(data(flow, n, 100));
        set_qdisc(ends.first, "mq");  // again: all children new, with packets in the old ones
        for (uint32_t n = 40; n < 50; n++) out.send(data('E', n, 100));
        tap.ok(in.receive_all().size() >= 10, "packets pass");
        set_qdisc(ends.first, "pfqd", {}, {TC_H_ROOT, 0x20000});
        delete_qdisc(ends.first);
    }
}

// Parents make default children too, and throw them away when another is put there.
void test_children(Tap& tap) {
    const DefaultQdisc chosen("pfqd");
    for (const Root& root : roots()) {
        tap.section(root.name);
        Port port;
        delete_qdisc(port.end());
        root.make(port.end());
        root.second(port.end());
        port.socket().set_priority(kClass);
        port.hold();
        port.queue_data('A', 0, 10);
        set_qdisc(port.end(), "pfqd", {}, {kClass, kLeaf});
        tap.is("replaced with packets in it", qdisc_stats(port.end()).qlen, 0u);
        port.queue_data('A', 0, 5);
        tap.is("and works", port.drain().size(), 5u);
    }
}

// Up and down, and another default, while the device has packets.
void test_changes(Tap& tap) {
    const DefaultQdisc chosen("pfqd");
    nl::Netns left = quiet_netns(), right = quiet_netns();
    const auto ends = make_wire(left, {.rate = kWireRate, .ring = 0}, right, {});
    PacketSocket out(ends.first), in(ends.second);
    for (int round = 0; round < 10; round++) {
        for (uint32_t n = 0; n < 10; n++) out.send(data('A', n));
        ends.first.set_up(false);
        tap.is("down: nothing is left", qdisc_stats(ends.first).qlen, 0u);
        ends.first.set_up(true);
        ends.first.wait_running();
        int error = 0;
        socklen_t size = sizeof(error);
        pfqd::check(getsockopt(out.fd(), SOL_SOCKET, SO_ERROR, &error, &size), "SO_ERROR");
    }
    in.receive_all();
    const DefaultQdisc other("pfifo_fast");
    std::string error;
    try {
        unload_module("sch_pfqd");
    } catch (const std::exception& failure) {
        error = failure.what();
    }
    tap.ok(!error.empty(), "a device that has it keeps the module");
    ends.first.remove();
}

// Bug 20: the sysctl alone pins the module, and lets it go.
void test_pin(Tap& tap) {
    sleep_ns(500'000'000);  // namespaces of other tests are taken down
    {
        const DefaultQdisc chosen("pfqd");
        std::string error;
        try {
            unload_module("sch_pfqd");
        } catch (const std::exception& failure) {
            error = failure.what();
        }
        tap.ok(!error.empty(), "while it is the default it cannot be unloaded");
    }
    unload_module("sch_pfqd");
    tap.ok(!module_loaded("sch_pfqd"), "afterwards it can");
}

}  // namespace

int main() {
    return run_tests({{"bug 67 j (default of single-queue devices)", test_single_queue},
                      {"bug 14 j (default of multi-queue devices)", test_multiqueue},
                      {"bug 14 (default child of other qdiscs)", test_children},
                      {"bug 49 (default, link flaps)", test_changes},
                      {"bug 20 (the sysctl pins the module)", test_pin}});
}
