// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
//
// fq to pfqd and back with paced sockets alive (bug 11 of sch_fq's users: fq tells a
// socket once that it will do the pacing, and never takes it back). Below pfqd such a
// socket is not paced any more; but every byte has to arrive, nothing may wait for a
// departure time that nobody looks at, and below fq the pace has to come back.
#include <linux/pkt_sched.h>

#include <memory>

#include "selftests/lib/exact_stream.hpp"
#include "selftests/lib/inet.hpp"
#include "selftests/pfqd/port.hpp"

using namespace pfqd::selftest;

namespace {

constexpr uint64_t kRate = 1'000'000'000;  // bit/s, of the wire
constexpr uint64_t kPace = 2'000'000;      // bytes/s, of a socket
constexpr uint64_t kPhase = 100'000'000;   // ns below one qdisc
constexpr uint64_t kPfqdPhase = 10'000'000;
constexpr uint64_t kRecovery = 500'000'000;  // ns: two minimal retransmission timeouts, and some
constexpr uint64_t kSocketRoom = 4 << 20;    // bytes that a socket may have sent ahead
constexpr uint64_t kSecond = 1'000'000'000;  // ns

class Bench {
  public:
    Bench() : port_({.rate = kRate}) {
        port_.end().add_address("10.8.0.1");
        port_.far_end().add_address("10.8.0.2");
    }

    void set(const std::string& kind) {
        handle_ += 0x10000;
        set_qdisc(port_.end(), kind, {}, {TC_H_ROOT, handle_});
    }

    std::unique_ptr<ExactStream> stream(const StreamOptions& options) {
        return std::make_unique<ExactStream>(port_.end(), port_.far_end(), "10.8.0.2", options);
    }

    Port& port() { return port_; }

  private:
    Port port_;
    uint32_t handle_ = 0x10000;
};

// Bytes that arrive in one phase.
uint64_t run(ExactStream& stream, uint64_t ns = kPhase) {
    const uint64_t before = stream.received(), start = monotonic_ns();
    while (monotonic_ns() - start < ns) {
        stream.send_until(UINT64_MAX);
        sleep_ns(1'000'000);
        if (!stream.receive()) throw std::runtime_error("a wrong byte arrived");
    }
    return stream.received() - before;
}

uint64_t paced_bytes(uint64_t ns) {
    return kPace * ns / kSecond;
}

// What is in the sender's socket and on its way when a phase begins: at most that.
constexpr uint64_t kInFlight = 100'000;

void check_there_and_back(Tap& tap, const std::string& congestion) {
    Bench bench;
    bench.set("fq");
    const auto stream = bench.stream({.pacing = kPace, .congestion = congestion});
    run(*stream);  // slow start
    tap.between("below fq at its pace", run(*stream), paced_bytes(kPhase) / 2,
                paced_bytes(kPhase) * 11 / 10 + kInFlight);
    bench.set("pfqd");
    // What fq still held is lost with it. If that was all of a window, TCP notices after
    // a retransmission timeout.
    uint64_t unpaced = 0, phases = 0;
    while (unpaced < paced_bytes(kPfqdPhase) / 2 && phases++ * kPfqdPhase < kRecovery)
        unpaced += run(*stream, kPfqdPhase);
    tap.diag(fmt::format("{}: {} bytes in {} ms below pfqd, its pace is {}",
                         congestion.empty() ? "cubic" : congestion, unpaced, phases * kPfqdPhase / 1'000'000,
                         paced_bytes(kPfqdPhase)));
    tap.ok(unpaced >= paced_bytes(kPfqdPhase) / 2, "below pfqd it goes on");
    // TCP has counted all of that at the pace, so its next departure time is as far
    // away as that would have taken, and fq keeps to it.
    bench.set("fq");
    const uint64_t start = monotonic_ns(), had = stream->received();
    const uint64_t ahead = (unpaced + kSocketRoom) * kSecond / kPace;
    while (stream->received() - had < kInFlight && monotonic_ns() - start < 2 * ahead)
        run(*stream, 1'000'000);
    tap.diag(fmt::format("silent for {} ms below fq", (monotonic_ns() - start) / 1'000'000));
    tap.between("below fq it goes on when its pace allows", monotonic_ns() - start, uint64_t{0},
                ahead + kSecond);
    run(*stream);  // the first packets of several timers come together
    tap.between("below fq again, at its pace again", run(*stream), paced_bytes(kPhase) / 2,
                paced_bytes(kPhase) * 11 / 10 + kInFlight);
    bench.set("pfqd");
    const uint64_t total = stream->sent() + 1'000'000;
    tap.ok(stream->finish(total, 2 * kSecond), "a last megabyte arrives exactly, in 2 s");
    check_empty(tap, bench.port().stats());
}

void test_cubic(Tap& tap) {
    check_there_and_back(tap, "");
}

void test_bbr(Tap& tap) {
    check_there_and_back(tap, "bbr");
}

// A socket that never saw fq is paced by its own timer, below pfqd too.
void test_internal_pacing(Tap& tap) {
    Bench bench;
    const auto stream = bench.stream({.pacing = kPace, .congestion = "bbr"});
    run(*stream);
    tap.between("its own timer paces it", run(*stream), paced_bytes(kPhase) / 2,
                paced_bytes(kPhase) * 11 / 10 + kInFlight);
    tap.ok(stream->finish(stream->sent() + 100'000, 2 * kSecond), "and all bytes arrive");
}

// Forty switches with packets in both queues, of a paced and of a greedy socket.
void test_many_switches(Tap& tap) {
    Bench bench;
    bench.set("fq");
    const auto paced = bench.stream({.port = 6501, .pacing = kPace});
    const auto bbr = bench.stream({.port = 6502, .congestion = "bbr"});
    const auto greedy = bench.stream({.port = 6503});
    for (int i = 0; i < 40; i++) {
        bench.set(i % 2 ? "fq" : "pfqd");
        for (ExactStream* stream : {paced.get(), bbr.get(), greedy.get()}) stream->send_until(UINT64_MAX);
        sleep_ns(3'000'000);
        for (ExactStream* stream : {paced.get(), bbr.get(), greedy.get()}) stream->receive();
    }
    bench.set("pfqd");
    // What a switch throws away comes again after a timeout, which doubles.
    for (ExactStream* stream : {paced.get(), bbr.get(), greedy.get()})
        tap.ok(stream->finish(stream->sent() + 100'000, 10 * kSecond), "all bytes arrive, in order");
    check_empty(tap, bench.port().stats());
}

// A departure time far away, set by the application: pfqd does not wait for it.
void test_departure_time(Tap& tap) {
    Bench bench;
    const auto out = udp_socket(bench.port().end());
    const auto in = udp_socket(bench.port().far_end(), 6600);
    const struct {
        clockid_t clock;
        uint32_t flags;
    } option{CLOCK_MONOTONIC, 0};
    pfqd::check(setsockopt(out.get(), SOL_SOCKET, SO_TXTIME, &option, sizeof(option)), "SO_TXTIME");
    udp_send(out.get(), "10.8.0.2", 6600, 10);  // and the neighbour is known
    tap.ok(readable(in.get()), "a datagram arrives");
    char data[100] = "now";
    pfqd::check(static_cast<int>(recv(in.get(), data, sizeof(data), 0)), "receive");

    const sockaddr_in to = inet_address("10.8.0.2", 6600);
    const uint64_t at = monotonic_ns() + 3600 * kSecond;
    alignas(cmsghdr) char control[CMSG_SPACE(sizeof(at))]{};
    iovec payload{data, 10};
    msghdr message{};
    message.msg_name = const_cast<sockaddr_in*>(&to);
    message.msg_namelen = sizeof(to);
    message.msg_iov = &payload;
    message.msg_iovlen = 1;
    message.msg_control = control;
    message.msg_controllen = sizeof(control);
    cmsghdr* header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_TXTIME;
    header->cmsg_len = CMSG_LEN(sizeof(at));
    std::memcpy(CMSG_DATA(header), &at, sizeof(at));
    pfqd::check(static_cast<int>(sendmsg(out.get(), &message, 0)), "send with a departure time");
    tap.ok(readable(in.get(), 10'000'000), "one that wants to leave in an hour leaves now (bug 44)");
}

}  // namespace

int main() {
    return run_tests({{"bug 11 d (fq to pfqd and back, cubic)", test_cubic},
                      {"bug 11 d (fq to pfqd and back, bbr)", test_bbr},
                      {"bug 43 (internal pacing below pfqd)", test_internal_pacing},
                      {"bug 11 d (many switches)", test_many_switches},
                      {"bug 44 (departure times are ignored)", test_departure_time}});
}
