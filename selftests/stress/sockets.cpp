// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
//
// What an skb's owner can be besides a connection: a request socket (SYN-ACK), a
// listener (SYN cookie), a socket in TIME_WAIT, the kernel's own control socket (RST,
// ACK of nobody), one that is being closed. All of them send through pfqd here; whoever
// took one for a TCP socket would read beyond it (bug 42).
#include <sys/socket.h>

#include <set>

#include "selftests/lib/inet.hpp"
#include "selftests/pfqd/port.hpp"

using namespace pfqd::selftest;

namespace {

constexpr uint32_t kServer = 0x0a080001;  // 10.8.0.1, behind pfqd
constexpr uint32_t kClient = 0x0a080002;
constexpr uint16_t kPort = 6700;

// The server is the port's sending side. The client is a packet socket that makes up
// its frames: no TCP of the far end's answers for it.
class Server {
  public:
    Server() : wire_(port_.far_end()) {
        port_.end().add_address("10.8.0.1", 8);
        port_.end().change({.rate = 1'000'000'000});
        const std::vector<uint8_t> server = port_.end().address(), client = port_.far_end().address();
        std::copy(server.begin(), server.end(), frame_.to.begin());
        std::copy(client.begin(), client.end(), frame_.from.begin());
        frame_.source = kClient;
        frame_.destination = kServer;
        frame_.dport = kPort;
        // Whoever the server looks for is at the client's Ethernet address.
        In inside(port_.far_end().netns());
        set_sysctl("net/ipv4/conf/all/proxy_arp", "1");
        set_sysctl("net/ipv4/conf/" + port_.far_end().name() + "/proxy_arp_pvlan", "1");
    }

    Port& port() { return port_; }
    FrameOptions& frame() { return frame_; }

    pfqd::Fd listener(int backlog) {
        In inside(port_.end().netns());
        pfqd::Fd fd(pfqd::check(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0), "socket"));
        const int one = 1;
        pfqd::check(setsockopt(fd.get(), SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one)), "SO_REUSEADDR");
        const sockaddr_in address = inet_address("0.0.0.0", kPort);
        pfqd::check(bind(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)), "bind");
        pfqd::check(listen(fd.get(), backlog), "listen");
        return fd;
    }

    void send(uint8_t flags, uint32_t seq, uint32_t ack, size_t payload = 0) {
        frame_.tcp_flags = flags;
        frame_.seq = seq;
        frame_.ack_seq = ack;
        frame_.payload = payload;
        wire_.send(make_frame(frame_));
    }

    struct Segment {
        uint16_t sport, dport;
        uint8_t flags;
        uint32_t destination, seq, ack;
    };

    // What the server has sent since the last call, TCP over IPv4 only; ARP is answered.
    std::vector<Segment> answers(uint64_t quiet_ns = 5'000'000) {
        std::vector<Segment> found;
        while (auto received = wire_.receive(quiet_ns)) {
            const Bytes& frame = received->frame;
            if (frame[12] == 0x08 && frame[13] == 0x06)
                answer_arp(frame);
            else if (frame.size() >= kTcpHeaders && frame[12] == 0x08 && frame[13] == 0 &&
                     frame[23] == IPPROTO_TCP)
                found.push_back({word16(frame, 34), word16(frame, 36), frame[47], word32(frame, 30),
                                 word32(frame, 38), word32(frame, 42)});
        }
        return found;
    }

  private:
    static uint16_t word16(const Bytes& frame, size_t at) {
        return static_cast<uint16_t>(frame[at] << 8 | frame[at + 1]);
    }
    static uint32_t word32(const Bytes& frame, size_t at) {
        return static_cast<uint32_t>(word16(frame, at)) << 16 | word16(frame, at + 2);
    }

    void answer_arp(const Bytes& request) {
        Bytes reply = request;
        if (request[21] != 1) return;
        const std::vector<uint8_t> mine = port_.far_end().address();
        std::copy(request.begin() + 6, request.begin() + 12, reply.begin());
        std::copy(mine.begin(), mine.end(), reply.begin() + 6);
        reply[21] = 2;
        std::copy(request.begin() + 22, request.begin() + 32, reply.begin() + 32);
        std::copy(mine.begin(), mine.end(), reply.begin() + 22);
        std::copy(request.begin() + 38, request.begin() + 42, reply.begin() + 28);
        wire_.send(reply);
    }

    Port port_;
    PacketSocket wire_;
    FrameOptions frame_;
};

uint64_t counter(const Server&, const End& end, const char* name) {
    In inside(end.netns());
    return net_counter("TcpExt", name);
}

// Many clients, no third step: request sockets until the backlog is full, then cookies.
void flood(Tap& tap, int mode, bool cookies) {
    Server server;
    const End& end = server.port().end();
    {
        In inside(end.netns());
        set_sysctl("net/ipv4/tcp_syncookies", std::to_string(mode));
        set_sysctl("net/ipv4/tcp_max_syn_backlog", "64");
        set_sysctl("net/ipv4/tcp_synack_retries", "1");
    }
    const auto listener = server.listener(64);
    constexpr uint32_t kSyns = 500;
    const uint64_t before = counter(server, end, "SyncookiesSent");
    size_t syn_acks = 0;
    std::set<uint32_t> clients;
    for (uint32_t i = 0; i < kSyns; i++) {
        server.frame().source = kClient + i % 8;
        server.frame().sport = static_cast<uint16_t>(2000 + i);
        server.send(kSyn, 1000 + i, 0);
        if (i % 16 != 15) continue;
        for (const auto& one : server.answers()) {
            syn_acks += one.flags == (kSyn | kAck);
            clients.insert(one.destination);
        }
    }
    for (const auto& one : server.answers()) syn_acks += one.flags == (kSyn | kAck);
    const uint64_t sent = counter(server, end, "SyncookiesSent") - before;
    tap.diag(fmt::format("{} SYNs, {} SYN-ACKs, {} of them cookies", kSyns, syn_acks, sent));
    tap.is("clients of eight addresses were answered", clients.size(), 8u);
    if (cookies) {
        tap.ok(sent > 100, "listeners answered with cookies");
        tap.ok(syn_acks >= kSyns, "every SYN was answered");
    } else {
        tap.is("request sockets answered, no cookie", sent, 0u);
        tap.ok(syn_acks >= 32, "as many as the backlog holds");
    }
    tap.ok(server.port().stats().tier[PFQD_TIER_CONTROL].packets >= syn_acks, "as control packets");
    // The timers of request sockets send again, for sockets that are about to end.
    sleep_ns(4'000'000'000);
    tap.ok(cookies || !server.answers().empty(), "request sockets send again");
    check_empty(tap, server.port().stats());
}

void test_requests(Tap& tap) {
    flood(tap, 0, false);
}

void test_cookies(Tap& tap) {
    flood(tap, 2, true);
}

// A handshake by hand; true: the connection is there.
bool connect(Server& server, uint16_t sport, uint32_t& seq, uint32_t& ack) {
    server.frame().sport = sport;
    seq = 5000;
    server.send(kSyn, seq++, 0);
    for (const auto& one : server.answers())
        if (one.flags == (kSyn | kAck) && one.dport == sport) {
            ack = one.seq + 1;
            server.send(kAck, seq, ack);
            return true;
        }
    return false;
}

pfqd::Fd accepted(const pfqd::Fd& listener) {
    if (!readable(listener.get())) throw std::runtime_error("nothing to accept");
    return pfqd::Fd(pfqd::check(accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC), "accept"));
}

// The server closes first and is in TIME_WAIT: old data is answered with an ACK, a new
// SYN with an older sequence number too, and a RST ends it.
void test_time_wait(Tap& tap) {
    Server server;
    server.port().queue(raw_frame(60));
    const auto listener = server.listener(64);
    for (int round = 0; round < 20; round++) {
        uint32_t seq = 0, ack = 0;
        const auto sport = static_cast<uint16_t>(3000 + round);
        if (!tap.ok(connect(server, sport, seq, ack), "a connection")) return;
        accepted(listener);  // and closed at once
        bool fin = false;
        for (const auto& one : server.answers()) fin |= (one.flags & kFin) != 0;
        server.send(kFin | kAck, seq, ack + 1);
        server.answers();
        const uint64_t control = server.port().stats().tier[PFQD_TIER_CONTROL].packets;
        server.send(kAck | kPsh, seq - 100, ack + 1, 50);  // old
        std::vector<Server::Segment> answers = server.answers();
        tap.ok(fin && answers.size() == 1 && answers[0].flags == kAck, "TIME_WAIT answers with an ACK");
        tap.is("which is a control packet", server.port().stats().tier[PFQD_TIER_CONTROL].packets,
               control + 1);
        server.send(kRst, seq + 1, ack + 1);
        server.answers();
    }
    check_empty(tap, server.port().stats());
}

// Segments for nobody: RSTs from the kernel's own socket. They stay data.
void test_resets(Tap& tap) {
    Server server;
    server.answers();
    const auto high = [&] { return server.port().stats().tier[PFQD_TIER_HIGH].packets; };
    server.frame().dport = 1;  // nobody listens
    server.frame().sport = 4000;
    server.send(kSyn, 1, 0);
    server.answers();
    const uint64_t before = high();
    constexpr uint16_t kTries = 50;
    size_t resets = 0;
    for (uint16_t i = 0; i < kTries; i++) {
        server.frame().sport = static_cast<uint16_t>(4001 + i);
        server.send(i % 2 ? kAck : kSyn, 100, 200, i % 4);
        for (const auto& one : server.answers()) resets += (one.flags & kRst) != 0;
    }
    tap.is("each is answered with a RST", resets, size_t{kTries});
    tap.is("a RST is not a control packet", high() - before, uint64_t{kTries});
    check_empty(tap, server.port().stats());
}

// Sockets end with packets queued: closed, reset by SO_LINGER, their process gone.
void test_closed_while_queued(Tap& tap) {
    Server server;
    const auto listener = server.listener(64);
    for (uint16_t round = 0; round < 12; round++) {
        uint32_t seq = 0, ack = 0;
        if (!tap.ok(connect(server, static_cast<uint16_t>(5000 + round), seq, ack), "a connection")) return;
        {
            const auto connection = accepted(listener);
            server.port().end().change({.rate = 1'000'000});  // 12 ms a frame
            const std::vector<char> data(20'000, 'q');
            pfqd::check(static_cast<int>(send(connection.get(), data.data(), data.size(), MSG_NOSIGNAL)),
                        "send");
            tap.ok(server.port().stats().qdisc.backlog > 1000, "segments wait");
            const linger now{.l_onoff = round % 2, .l_linger = 0};
            pfqd::check(setsockopt(connection.get(), SOL_SOCKET, SO_LINGER, &now, sizeof(now)), "SO_LINGER");
        }
        if (round % 3 == 0) {  // and the qdisc goes, too
            set_qdisc(server.port().end(), "pfqd", {}, {TC_H_ROOT, 0x20000u + 0x10000u * round});
        }
        server.port().end().change({.rate = 1'000'000'000});
        server.send(kRst, seq, ack);
        server.answers();
    }
    sleep_ns(2'000'000'000);
    check_empty(tap, server.port().stats());
}

}  // namespace

int main() {
    return run_tests({{"bug 42 e (request sockets)", test_requests},
                      {"bug 42 e (SYN cookies)", test_cookies},
                      {"bug 42 e (TIME_WAIT)", test_time_wait},
                      {"bug 42 e (RSTs of nobody)", test_resets},
                      {"bug 42 e (closed while queued)", test_closed_while_queued}});
}
