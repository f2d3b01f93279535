// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
//
// rpcload: times and order of what it sends and logs, the choice of a
// connection, and that nonsense is refused and changes nothing.
#include <fcntl.h>
#include <linux/lab_rpcload.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <cstring>
#include <functional>
#include <set>
#include <vector>

#include "lab/common/ideal.hpp"
#include "selftests/lib/inet.hpp"
#include "selftests/lib/kernel.hpp"
#include "selftests/lib/link.hpp"
#include "selftests/lib/tap.hpp"

using namespace pfqd::selftest;
using pfqd::Fd;
namespace nl = pfqd::nl;

namespace {

constexpr uint64_t kEndNs = 1'000'000'000;

// Two hosts on one wire with that many connections, and the device.
struct Bench {
    nl::Netns a = quiet_netns(), b = quiet_netns();
    std::pair<End, End> ends =
        make_wire(a, {.mtu = 3000, .gso_max_segs = 1}, b, {.mtu = 3000, .gso_max_segs = 1});
    std::vector<std::pair<Fd, Fd>> sockets;
    Fd device{pfqd::check(open("/dev/rpcload", O_RDWR | O_CLOEXEC), "open /dev/rpcload")};
    std::vector<rpcload_conn> conns;

    explicit Bench(uint16_t connections) {
        for (const nl::Netns* netns : {&a, &b}) {
            const In in(*netns);
            set_sysctl("net/ipv4/tcp_timestamps", "0");
            set_sysctl("net/ipv4/tcp_wmem", "4096 16777216 16777216");
        }
        ends.first.add_address("10.0.0.1");
        ends.second.add_address("10.0.0.2");
        for (uint16_t n = 0; n < connections; n++) {
            sockets.push_back(
                tcp_connection(ends.first, ends.second, "10.0.0.2", static_cast<uint16_t>(5001 + n)));
            conns.push_back({sockets.back().first.get(), sockets.back().second.get(), 0, 1});
        }
        sleep_ns(100'000'000);  // delayed ACKs of the handshakes
    }

    rpcload_setup setup(uint32_t choice = RPCLOAD_CHOICE_IDLE) {
        rpcload_setup setup{};
        setup.conns = reinterpret_cast<uintptr_t>(conns.data());
        setup.count = static_cast<uint32_t>(conns.size());
        setup.hosts = 2;
        setup.choice = choice;
        std::strcpy(setup.cc, "cubic");
        return setup;
    }

    int add(const rpcload_setup& setup) { return ioctl(device.get(), RPCLOAD_ADD_CONNS, &setup) ? errno : 0; }

    int schedule(const std::vector<rpcload_message>& messages) {
        const size_t size = messages.size() * sizeof(messages[0]);
        return write(device.get(), messages.data(), size) == static_cast<ssize_t>(size) ? 0 : errno;
    }

    rpcload_run run(uint64_t until = kEndNs) {
        rpcload_run run{};
        run.until_ns = until;
        pfqd::check(ioctl(device.get(), RPCLOAD_RUN, &run), "RPCLOAD_RUN");
        return run;
    }

    std::vector<rpcload_record> log() {
        std::vector<rpcload_record> records(4096);
        const ssize_t size = read(device.get(), records.data(), records.size() * sizeof(records[0]));
        records.resize(static_cast<size_t>(pfqd::check(static_cast<int>(size), "read")) / sizeof(records[0]));
        return records;
    }
};

rpcload_message message(uint64_t at, uint32_t bytes, uint32_t pick = 0) {
    return {at, bytes, pick, 0, 1, 0};
}

void test_times(Tap& tap) {
    Bench bench(1);
    tap.is("connections taken", bench.add(bench.setup()), 0);
    const std::vector<uint32_t> sizes = {1, 100, 2960, 2961, 20'000};
    std::vector<rpcload_message> messages;
    for (size_t i = 0; i < sizes.size(); i++) messages.push_back(message(1'000'000 * (i + 1), sizes[i]));
    tap.is("schedule taken", bench.schedule(messages), 0);
    const rpcload_run run = bench.run();
    tap.is("all sent", run.sent, sizes.size());
    tap.is("all finished", run.finished, sizes.size());
    tap.is("nothing short", run.short_writes + run.send_errors, 0u);

    // One hop here, so the ideal is that of one link.
    const pfqd::lab::IdealTime ideal({{25'000'000'000, 1000}}, pfqd::lab::tcp_framing(3000, false));
    const std::vector<rpcload_record> log = bench.log();
    tap.is("one record a message", log.size(), sizes.size());
    for (size_t i = 0; i < log.size(); i++) {
        const double want = static_cast<double>(ideal.picoseconds(sizes[i])) / 1000;
        const double got = static_cast<double>(log[i].done_ns - log[i].at_ns);
        tap.between(fmt::format("{} B arrive in the ideal time and at most 25 ns more", sizes[i]), got,
                    want - 0.001, want + 25);
    }
    tap.is("the log ends", bench.log().size(), 0u);
}

void test_choice(Tap& tap) {
    constexpr uint32_t kMax = ~0U;
    Bench idle(4);
    idle.add(idle.setup());
    // Four at once need four connections whatever they pick; the fifth the emptiest.
    idle.schedule({message(0, 500'000, 0), message(0, 400'000, 0), message(0, 300'000, 0),
                   message(0, 20'000, 0), message(0, 100, kMax)});
    idle.run();
    const std::vector<rpcload_record> log = idle.log();
    std::set<uint16_t> used;
    for (size_t i = 0; i < 4; i++) used.insert(log.at(i).conn);
    tap.is("idle: four connections for four messages", used.size(), 4u);
    tap.is("idle: then the one with the fewest undelivered bytes", log.at(4).conn, log.at(3).conn);

    Bench random(4);
    random.add(random.setup(RPCLOAD_CHOICE_RANDOM));
    random.schedule({message(0, 500'000, 0), message(0, 100, 0), message(0, 100, kMax)});
    random.run();
    const std::vector<rpcload_record> other = random.log();
    tap.is("random: busy or not", other.at(1).conn, other.at(0).conn);
    tap.is("random: the pick decides", other.at(2).conn, 3);
    tap.ok(other.at(1).done_ns >= other.at(0).done_ns, "random: a short message waits behind a large one");
    tap.ok(other.at(2).done_ns < other.at(0).done_ns, "random: on another connection it does not");
}

void test_until(Tap& tap) {
    Bench bench(1);
    bench.add(bench.setup());
    bench.schedule({message(0, 100), message(50'000'000, 100)});
    const rpcload_run first = bench.run(10'000'000);
    tap.is("at the asked time one is done", first.finished, 1u);
    tap.between<uint64_t>("and it is that time", first.now_ns, 10'000'000, 10'000'100);
    tap.is("an unfinished message says so", bench.log().at(1).done_ns, RPCLOAD_UNFINISHED);
    tap.is("then the other", bench.run().finished, 2u);
}

// Small and large messages that are copied before TCP sends arrive as others do.
void test_whole(Tap& tap) {
    Bench bench(1);
    rpcload_setup setup = bench.setup();
    setup.whole = 1;
    tap.is("connections taken", bench.add(setup), 0);
    bench.schedule({message(0, 1), message(1'000'000, 2960), message(2'000'000, 2'000'000)});
    const rpcload_run run = bench.run();
    tap.is("all finished", run.finished, 3u);
    tap.is("nothing short", run.short_writes + run.send_errors, 0u);
    tap.ok(bench.log().at(1).done_ns < 1'010'000, "without waiting for a timer");
}

void test_refusals(Tap& tap) {
    Bench bench(2);
    auto refused = [&](const std::string& name, int want, const std::function<void(rpcload_setup&)>& spoil) {
        rpcload_setup setup = bench.setup();
        spoil(setup);
        tap.is(name, bench.add(setup), want);
    };
    refused("one host", EINVAL, [](rpcload_setup& s) { s.hosts = 1; });
    refused("too many hosts", EINVAL, [](rpcload_setup& s) { s.hosts = RPCLOAD_MAX_HOSTS + 1; });
    refused("no connection", EINVAL, [](rpcload_setup& s) { s.count = 0; });
    refused("absurd count", EINVAL, [](rpcload_setup& s) { s.count = ~0U; });
    refused("unknown choice", EINVAL, [](rpcload_setup& s) { s.choice = __RPCLOAD_CHOICE_MAX; });
    refused("half a whole write", EINVAL, [](rpcload_setup& s) { s.whole = 2; });
    refused("what is no field", EINVAL, [](rpcload_setup& s) { s.pad = 1; });
    refused("unterminated name", EINVAL, [](rpcload_setup& s) { std::memset(s.cc, 'x', sizeof(s.cc)); });
    refused("another congestion control", ESTALE, [](rpcload_setup& s) { std::strcpy(s.cc, "dctcp"); });
    refused("bad address", EFAULT, [](rpcload_setup& s) { s.conns = 8; });
    auto refused_conn = [&](const std::string& name, int want, const rpcload_conn& conn) {
        rpcload_setup setup = bench.setup();
        setup.conns = reinterpret_cast<uintptr_t>(&conn);
        setup.count = 1;
        tap.is(name, bench.add(setup), want);
    };
    const rpcload_conn good = bench.conns[0];
    refused_conn("a closed descriptor", EBADF, {9999, good.rx_fd, 0, 1});
    refused_conn("a file that is no socket", ENOTSOCK, {bench.device.get(), good.rx_fd, 0, 1});
    refused_conn("source is destination", EINVAL, {good.tx_fd, good.rx_fd, 1, 1});
    refused_conn("a host that is not there", EINVAL, {good.tx_fd, good.rx_fd, 0, 2});
    refused_conn("ends of different connections", EINVAL, {good.tx_fd, bench.conns[1].rx_fd, 0, 1});
    tap.is("a schedule before the connections", bench.schedule({message(0, 1)}), EBUSY);

    tap.is("after all that: taken", bench.add(bench.setup()), 0);
    tap.is("twice", bench.add(bench.setup()), EBUSY);
    tap.is("no bytes", bench.schedule({message(0, 0)}), EINVAL);
    tap.is("too many bytes", bench.schedule({message(0, RPCLOAD_MAX_BYTES + 1)}), EINVAL);
    tap.is("a pair without connections", bench.schedule({{0, 1, 0, 1, 0, 0}}), EINVAL);
    tap.is("half a message", static_cast<int>(write(bench.device.get(), "x", 1)), -1);
    tap.is("in order", bench.schedule({message(1000, 1)}), 0);
    tap.is("out of order", bench.schedule({message(999, 1)}), EINVAL);
    tap.is("it still works", bench.run().finished, 1u);
    tap.is("no schedule while it runs", bench.schedule({message(2000, 1)}), EBUSY);
    tap.is("an unknown call", ioctl(bench.device.get(), _IO('w', 99)), -1);
}

// The device goes away with messages on their way.
void test_close(Tap& tap) {
    for (int i = 0; i < 20; i++) {
        Bench bench(3);
        bench.add(bench.setup());
        bench.schedule(
            {message(0, 900'000), message(0, 900'000), message(20'000, 50), message(900'000'000, 50)});
        bench.run(static_cast<uint64_t>(i) * 25'000);
    }
    tap.ok(true, "closed in the middle, 20 times (the kernel's log decides)");
}

}  // namespace

int main() {
    load_module("wire");
    load_module("rpcload");
    return run_tests({{"times", test_times},
                      {"choice", test_choice},
                      {"until", test_until},
                      {"whole writes", test_whole},
                      {"refusals", test_refusals},
                      {"close", test_close}});
}
