// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
//
// TCP across a wire: what the stack hands a host's qdisc, and that a transfer
// with losses, receive offload and SACK delivers the bytes that were sent. (A wire
// that let receive offload write into the sender's clones would corrupt them.)
#include <fcntl.h>
#include <linux/bpf.h>
#include <poll.h>
#include <sys/socket.h>

#include <cstddef>
#include <vector>

#include "selftests/lib/bpf.hpp"
#include "selftests/lib/inet.hpp"
#include "selftests/lib/kernel.hpp"
#include "selftests/lib/link.hpp"
#include "selftests/lib/tap.hpp"

using namespace pfqd::selftest;
using pfqd::Fd;
namespace nl = pfqd::nl;

namespace {

constexpr uint32_t kMtu = 3000;

struct Hosts {
    nl::Netns a = quiet_netns(), b = quiet_netns();
    std::pair<End, End> ends;

    Hosts(const EndOptions& left, const EndOptions& right) : ends(make_wire(a, left, b, right)) {
        ends.first.add_address("10.0.0.1");
        ends.second.add_address("10.0.0.2");
    }
};

uint8_t pattern(size_t at) {
    return static_cast<uint8_t>(at * 2654435761U >> 13);
}

struct Transfer {
    size_t received = 0;
    size_t wrong = 0;  // bytes
};

// Sends size bytes and reads them, in one thread, until all is there.
Transfer transfer(const Hosts& hosts, size_t size) {
    auto [client, server] = tcp_connection(hosts.ends.first, hosts.ends.second, "10.0.0.2");
    pfqd::check(fcntl(client.get(), F_SETFL, O_NONBLOCK), "O_NONBLOCK");
    std::vector<uint8_t> data(size), buffer(256 * 1024);
    for (size_t i = 0; i < size; i++) data[i] = pattern(i);

    Transfer result;
    size_t sent = 0;
    while (result.received < size) {
        pollfd fds[2] = {{server.get(), POLLIN, 0},
                         {client.get(), static_cast<short>(sent < size ? POLLOUT : 0), 0}};
        if (pfqd::check(poll(fds, 2, 10'000), "poll") == 0) break;  // virtual time: a stall
        if (fds[1].revents & POLLOUT) {
            const ssize_t done = send(client.get(), data.data() + sent, size - sent, MSG_NOSIGNAL);
            sent += static_cast<size_t>(pfqd::check(static_cast<int>(done), "send"));
        }
        if (!(fds[0].revents & POLLIN)) continue;
        const ssize_t got = recv(server.get(), buffer.data(), buffer.size(), 0);
        if (pfqd::check(static_cast<int>(got), "recv") == 0) break;
        for (ssize_t i = 0; i < got; i++)
            result.wrong +=
                buffer[static_cast<size_t>(i)] != pattern(result.received + static_cast<size_t>(i));
        result.received += static_cast<size_t>(got);
    }
    return result;
}

struct Largest {
    uint64_t segments, bytes;
};

// Of what the stack hands the sender's qdisc during a transfer.
Largest largest_handed_down(const EndOptions& left) {
    const Hosts hosts(left, {.mtu = kMtu});
    const BpfNumbers numbers(2);
    BpfClassifier classifier;
    classifier.record_max(numbers, 0, offsetof(__sk_buff, gso_segs));
    classifier.record_max(numbers, 1, offsetof(__sk_buff, len));
    classifier.attach(hosts.ends.first, true);
    transfer(hosts, 1'000'000);
    const std::vector<uint64_t> values = numbers.read();
    return {values.at(0), values.at(1)};
}

void test_gso(Tap& tap) {
    const Largest off = largest_handed_down({.mtu = kMtu, .gso_max_segs = 1});
    tap.ok(off.segments <= 1, "gso_max_segs = 1: no packet of several segments reaches the qdisc");
    tap.is("and none longer than a frame", off.bytes, kMtu + 14);
    const Largest on = largest_handed_down({.mtu = kMtu});
    tap.ok(on.segments > 1, "without it they do (so the check above can fail)");
    tap.ok(on.bytes > kMtu + 14, "and are longer");
}

void test_losses(Tap& tap, const char* name, const EndOptions& left, const EndOptions& right) {
    tap.section(name);
    const Hosts hosts(left, right);
    constexpr size_t kSize = 3'000'000;
    const Transfer result = transfer(hosts, kSize);
    tap.is("all bytes arrive", result.received, kSize);
    tap.is("and they are the ones sent", result.wrong, 0u);
    const In inside(hosts.a);
    tap.ok(hosts.ends.first.counter(LAB_WIRE_STAT_LOST) > 0, "frames were lost");
    tap.ok(net_counter("Tcp", "RetransSegs") > 0, "and sent again");
    tap.ok(net_counter("TcpExt", "TCPSackRecovery") > 0, "as SACK told");
}

void test_transfers(Tap& tap) {
    const EndOptions lossy{.ring = 15'625, .loss = 10'000, .seed = 7, .mtu = kMtu};
    EndOptions whole = lossy;
    whole.gso_max_segs = 1;
    const EndOptions host{.moderation = 8000, .mode = LAB_WIRE_MODERATION_PSH, .gro = 1, .mtu = kMtu};
    test_losses(tap, "GRO", whole, host);
    test_losses(tap, "GRO and GSO", lossy, host);
    test_losses(tap, "neither", whole, {.mtu = kMtu});
}

}  // namespace

int main() {
    load_module("wire");
    return run_tests({{"gso", test_gso}, {"transfers", test_transfers}});
}
