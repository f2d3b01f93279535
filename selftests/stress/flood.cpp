// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
//
// A flood of random tuples at four times the speed of the wire. What it may cost others
// follows from the service cycle, and is asserted to the nanosecond of virtual time:
// a flow with a FIFO of its own waits for at most two cycles.
//
//   flood [FRAMES]     or PFQD_FLOOD_FRAMES; scripts/fuzz sends a million
#include <netinet/in.h>
#include <sys/socket.h>

#include <cstdlib>
#include <functional>

#include "selftests/lib/debug_kernel.hpp"
#include "selftests/lib/inet.hpp"
#include "selftests/lib/slab.hpp"
#include "selftests/lib/tuple_flood.hpp"
#include "selftests/pfqd/port.hpp"

using namespace pfqd::selftest;

namespace {

constexpr uint64_t kRate = 1'000'000'000;  // bit/s
constexpr uint64_t kFloodFrameNs = (TupleFlood::kFrameBytes + 24) * 8'000'000'000 / kRate;
constexpr uint32_t kBatch = 64;
constexpr uint32_t kOverload = 4;     // the flood's speed in wires
constexpr uint32_t kSmall = 4 << 20;  // bytes: memlimit of a switch port
constexpr uint64_t kDelay = 1000;     // ns, of the wire
constexpr uint32_t kQuantum = 1514;
// Flood frames of one turn: the last one may overdraw it.
constexpr uint64_t kTurnFrames = kQuantum / TupleFlood::kFrameBytes + 1;

// Of a bystander: its frames are as large as the flood's. The fattest flow loses, and
// among flows of one packet each that is the one with the largest.
constexpr size_t kPayload = 20;
constexpr uint64_t kBystanderNs = (42 + kPayload + 24) * 8'000'000'000 / kRate;

// In the debug kernel a frame takes a millisecond of real time, not a tenth of one.
constexpr uint64_t kFrames = 100'000, kDebugFrames = 20'000;
uint64_t frames;

uint64_t realtime_ns() {
    timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return static_cast<uint64_t>(now.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(now.tv_nsec);
}

// Somebody else's flow through the port: small datagrams, each timed from the moment
// it is sent to the one at which the receiver's driver hands it up.
class Bystander {
  public:
    Bystander(Port& port, uint16_t number) : port_(port), number_(number) {
        const auto destination = inet_address("10.9.0.2", port_number());
        In inside(port.far_end().netns());
        fd_ = pfqd::Fd(pfqd::check(socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0), "socket"));
        const int one = 1;
        pfqd::check(setsockopt(fd_.get(), SOL_SOCKET, SO_TIMESTAMPNS, &one, sizeof(one)), "SO_TIMESTAMPNS");
        pfqd::check(bind(fd_.get(), reinterpret_cast<const sockaddr*>(&destination), sizeof(destination)),
                    "bind a bystander");
        const std::vector<uint8_t> mac = port.far_end().address();
        std::copy(mac.begin(), mac.end(), frame_.to.begin());
        frame_.protocol = IPPROTO_UDP;
        frame_.source = 0x0a090100u + number;
        frame_.destination = 0x0a090002;
        frame_.dport = port_number();
        frame_.payload = kPayload;
    }

    void send() {
        frame_.tag = static_cast<uint32_t>(sent_at_.size());
        sent_at_.push_back(realtime_ns());
        port_.queue(make_frame(frame_));
    }

    // Those that have arrived since the last call.
    uint32_t receive() {
        uint32_t count = 0;
        for (;; count++) {
            uint32_t tag = 0;
            alignas(cmsghdr) char control[128];
            char payload[128];
            iovec data{payload, sizeof(payload)};
            msghdr message{};
            message.msg_iov = &data;
            message.msg_iovlen = 1;
            message.msg_control = control;
            message.msg_controllen = sizeof(control);
            if (recvmsg(fd_.get(), &message, 0) < 4) return count;
            std::memcpy(&tag, payload, sizeof(tag));
            timespec at{};
            std::memcpy(&at, CMSG_DATA(CMSG_FIRSTHDR(&message)), sizeof(at));
            const uint64_t ns =
                static_cast<uint64_t>(at.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(at.tv_nsec);
            if (ntohl(tag) < first_) continue;
            worst_ = std::max(worst_, ns - sent_at_.at(ntohl(tag)));
            arrived_++;
        }
    }

    // What was sent before does not count any more.
    void forget() {
        first_ = static_cast<uint32_t>(sent_at_.size());
        arrived_ = worst_ = 0;
    }

    uint64_t sent() const { return sent_at_.size() - first_; }
    uint64_t arrived() const { return arrived_; }
    uint64_t worst() const { return worst_; }

  private:
    uint16_t port_number() const { return static_cast<uint16_t>(7000 + number_); }

    Port& port_;
    uint16_t number_;
    pfqd::Fd fd_;
    FrameOptions frame_;
    std::vector<uint64_t> sent_at_;
    uint32_t first_ = 0;
    uint64_t arrived_ = 0, worst_ = 0;
};

struct Peak {
    uint32_t allocated = 0, memory = 0, qlen = 0;
    uint64_t slab_bytes = 0;
};

void look(Peak& peak, const Port& port) {
    const PfqdStats stats = port.stats();
    peak.allocated = std::max(peak.allocated, stats.flows_allocated);
    peak.memory = std::max(peak.memory, stats.memory);
    peak.qlen = std::max(peak.qlen, stats.qdisc.qlen);
    peak.slab_bytes = std::max(peak.slab_bytes, slab_use("pfqd_flow").bytes());
}

// `meanwhile` is called once a batch.
Peak flood(Port& port, TupleFlood& source, uint64_t count, const std::function<void(uint64_t)>& meanwhile) {
    Peak peak;
    for (uint64_t batch = 0; source.sent() < count; batch++) {
        source.send(kBatch);
        meanwhile(batch);
        sleep_ns(kBatch * kFloodFrameNs / kOverload);
        if (batch % 64 == 0) look(peak, port);
    }
    look(peak, port);
    return peak;
}

void check_memory(Tap& tap, const Peak& peak, uint32_t flows, uint32_t memlimit) {
    tap.diag(fmt::format("flood peak: {} packets and {} bytes of memory queued, {} flows, {} bytes of slab",
                         peak.qlen, peak.memory, peak.allocated, peak.slab_bytes));
    tap.ok(peak.memory > memlimit / 2, "the queue filled up");
    tap.ok(peak.memory <= memlimit, "within memlimit");
    tap.ok(peak.allocated > 0 && peak.allocated <= flows, "no more flows in memory than `flows`");
    const SlabUse slab = slab_use("pfqd_flow");
    if (!slab.counted) {
        tap.skip("the slab is as large as its flows", "the kernel counts slabs only with SLUB_DEBUG");
        return;
    }
    // Slabs are partly used at the edges of a busy period: an eighth, and one slab.
    const uint64_t most = static_cast<uint64_t>(flows) * slab.object_bytes;
    tap.ok(peak.slab_bytes > 0 && peak.slab_bytes <= most + most / 8 + slab.slab_bytes,
           "the slab is as large as its flows");
}

void check_end(Tap& tap, Port& port) {
    port.end().change({.rate = 100'000'000'000});
    sleep_ns(100'000'000);
    check_empty(tap, port.stats());
    // idle flows are kept for a second; then each one that empties frees two of them
    sleep_ns(1'500'000'000);
    const uint32_t kept = port.stats().flows_allocated;
    for (uint32_t i = 0; i < kept / 2 + 1; i++) {
        port.queue(data('Z', i, 100));
        sleep_ns(10'000);
    }
    tap.between("the memory of flows is given back", port.stats().flows_allocated, 0u, 2u);
}

void print_wait(Tap& tap, const std::string& who, const Bystander& bystander, uint64_t bound) {
    tap.diag(fmt::format("flood of {} frames: {} waited {:.3f} ms at most, bound {:.3f} ms (virtual time)",
                         frames, who, static_cast<double>(bystander.worst()) / 1e6,
                         static_cast<double>(bound) / 1e6));
}

// The longest cycle: a turn of each flow, of each shared FIFO, and of a low flow. A
// random tuple has one packet.
uint64_t cycle_ns(uint32_t flows) {
    return (flows + (PFQD_SHARED_FIFOS + 1) * kTurnFrames) * kFloodFrameNs;
}

// On the wire, and taken for it, when the bystander's packet comes; then that one.
constexpr uint64_t kWireNs = 2 * kFloodFrameNs + kBystanderNs + kDelay;

Port& with_address(Port& port) {
    port.far_end().add_address("10.9.0.2", 16);
    return port;
}

// There are fewer flows than tuples: a flow that stays backlogged keeps its own FIFO.
void test_no_flow_left(Tap& tap) {
    constexpr uint32_t kFlows = 512, kWindow = 8;
    Port port({.pfqd = {.memlimit = kSmall, .flows = kFlows}, .rate = kRate});
    Bystander busy(with_address(port), 1);
    TupleFlood source(port.end(), 1);
    source.send(kBatch);
    for (uint32_t i = 0; i < kWindow; i++) busy.send();
    const Peak peak = flood(port, source, frames, [&](uint64_t) {
        for (uint32_t arrived = busy.receive(); arrived; arrived--) busy.send();
    });
    const uint64_t bound = 2 * cycle_ns(kFlows) + kWindow * kBystanderNs + kWireNs;
    tap.diag(fmt::format("flood: {} tuples, {} packets in shared FIFOs", source.sent(),
                         port.stats().overflow_packets));
    print_wait(tap, "a busy flow", busy, bound);
    check_memory(tap, peak, kFlows, kSmall);
    tap.ok(port.stats().overflow_packets > frames / 2, "most tuples shared");
    tap.ok(busy.arrived() > frames / 1000, "the busy flow was served all the time");
    tap.is("it lost nothing", busy.sent() - busy.arrived(), kWindow);
    tap.between("and waited two cycles at most", busy.worst(), uint64_t{1}, bound);
    check_end(tap, port);
}

// A flood from one source shares one FIFO with itself: sparse flows of other sources
// do not meet it there.
void test_one_source(Tap& tap) {
    constexpr uint32_t kFlows = 256, kOthers = 8;
    Port port({.pfqd = {.memlimit = kSmall, .flows = kFlows}, .rate = kRate});
    with_address(port);
    std::vector<Bystander> others;
    for (uint16_t i = 0; i < kOthers; i++) others.emplace_back(port, i);
    TupleFlood source(port.end(), 2, 0x0b000001);
    flood(port, source, frames / 5, [&](uint64_t batch) {
        Bystander& other = others[batch % kOthers];
        if (batch > 20 && batch % 16 < kOthers) other.send();
        for (Bystander& one : others) one.receive();
    });
    sleep_ns(100'000'000);
    // Two FIFOs are the flood's, one of each family: who is hashed into one of them
    // shares its fate. Eight sources, 64 FIFOs.
    const uint64_t bound = 2 * cycle_ns(kFlows) + kWireNs;
    uint32_t spared = 0;
    uint64_t sent = 0;
    for (Bystander& one : others) {
        one.receive();
        sent += one.sent();
        print_wait(tap, "a sparse flow", one, bound);
        spared += one.arrived() == one.sent() && one.worst() <= bound;
    }
    tap.ok(sent > 2 * kOthers, "they sent");
    tap.between("nearly all sparse flows lose nothing and wait two cycles at most", spared, kOthers - 2,
                kOthers);
    check_end(tap, port);
}

// Flows to spare: every tuple of the flood has a FIFO of its own, so none is fatter
// than a sparse flow. Once the queue is full of such flows, new ones share by source.
// Until then everybody's round is as long as the flood; what a sparse flow pays in that
// time is printed only.
constexpr uint64_t kDemote = 200'000;   // ns
constexpr uint64_t kOnset = 16 * 1024;  // frames: three times what fits into the queue

struct Spared {
    Peak peak;
    uint64_t sent, arrived, worst;
};

Spared flood_with_flows_to_spare(Tap& tap, std::optional<uint32_t> flood_source, uint64_t bound) {
    Port port({.pfqd = {.memlimit = kSmall, .demote = kDemote / 1000}, .rate = kRate});
    Bystander sparse(with_address(port), 1);
    TupleFlood source(port.end(), 3, flood_source);
    const auto meanwhile = [&](uint64_t batch) {
        if (batch % 16 == 15) sparse.send();
        sparse.receive();
    };
    Peak peak = flood(port, source, kOnset, meanwhile);
    tap.diag(fmt::format("flood's onset: {} of {} packets of the sparse flow arrived, {:.3f} ms at most",
                         sparse.arrived(), sparse.sent(), static_cast<double>(sparse.worst()) / 1e6));
    sparse.forget();
    peak = flood(port, source, kOnset + frames / 2, meanwhile);
    sleep_ns(100'000'000);
    sparse.receive();
    print_wait(tap, "a sparse flow", sparse, bound);
    tap.diag(
        fmt::format("flood: {} of {} packets of the sparse flow arrived", sparse.arrived(), sparse.sent()));
    check_memory(tap, peak, PFQD_FLOWS_DEFAULT, kSmall);
    tap.ok(sparse.sent() > 5, "the sparse flow sent");
    check_end(tap, port);
    return {peak, sparse.sent(), sparse.arrived(), sparse.worst()};
}

void test_to_spare_one_source(Tap& tap) {
    // Ahead of a sparse flow: in each of two cycles the flows that were made while the
    // queue was not full, a batch at most; a low flow, and the two FIFOs (one of each
    // family) that the flood has made its own.
    const uint64_t bound = 2 * (kBatch + 3 * kTurnFrames) * kFloodFrameNs + kWireNs;
    const Spared spared = flood_with_flows_to_spare(tap, 0x0b000001, bound);
    tap.is("a sparse flow loses nothing", spared.arrived, spared.sent);
    tap.between("and waits two short cycles at most", spared.worst, uint64_t{1}, bound);
}

// Sources are random as well, so the flood is in every shared FIFO, also in that of
// the sparse flow: what it loses there is printed, and is the smaller part. (The flood
// itself loses three of four packets.)
void test_to_spare_random(Tap& tap) {
    const uint64_t bound = kSmall / 768 * kFloodFrameNs;
    const Spared spared = flood_with_flows_to_spare(tap, {}, bound);
    tap.ok(spared.arrived * 4 >= spared.sent * 3, "of a sparse flow three of four packets arrive");
    tap.between("and do not wait longer than in one FIFO", spared.worst, uint64_t{1},
                spared.peak.qlen * kFloodFrameNs + kWireNs);
}

}  // namespace

int main(int argc, char** argv) {
    const char* text = argc > 1 ? argv[1] : std::getenv("PFQD_FLOOD_FRAMES");
    frames = text ? std::strtoull(text, nullptr, 0) : debug_kernel() ? kDebugFrames : kFrames;
    return run_tests({{"list i (random tuples, no flow left)", test_no_flow_left},
                      {"list i (random tuples of one source)", test_one_source},
                      {"list i (flows to spare, one source)", test_to_spare_one_source},
                      {"list i (flows to spare, random sources)", test_to_spare_random}});
}
