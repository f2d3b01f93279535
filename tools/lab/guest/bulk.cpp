// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
#include "lab/guest/bulk.hpp"

#include <arpa/inet.h>
#include <linux/tcp.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <stdexcept>
#include <string>

#include "lab/common/fd.hpp"

namespace pfqd::lab {

namespace {

constexpr uint16_t kFirstPort = 9000;
constexpr size_t kChunk = 1 << 20;
// A window of several times what is on the way (4 ms at 10 Gbit/s), so that it limits no
// flow. By socket, because net.ipv4.tcp_rmem would also change who carries messages.
constexpr int kReceiveBuffer = 64 << 20;
// Written ahead of what TCP may send: always more than the last edge of the stamp's bands,
// without holding memory for a send buffer's length.
constexpr int kWrittenAhead = 4 << 20;
constexpr const char* kCongestionControl = "cubic";

sockaddr_in address(uint32_t ip, uint16_t port) {
    sockaddr_in addr{};
    addr.sin_family = AF_INET;
    addr.sin_addr.s_addr = htonl(ip);
    addr.sin_port = htons(port);
    return addr;
}

void set_option(const Fd& fd, int level, int name, const void* value, size_t size) {
    check(setsockopt(fd.get(), level, name, value, static_cast<socklen_t>(size)),
          "option " + std::to_string(name) + " of a bulk flow's socket");
}

Fd tcp_socket() {
    Fd fd(check(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), "socket"));
    set_option(fd, IPPROTO_TCP, TCP_CONGESTION, kCongestionControl, std::strlen(kCongestionControl));
    set_option(fd, SOL_SOCKET, SO_RCVBUFFORCE, &kReceiveBuffer, sizeof(kReceiveBuffer));
    return fd;
}

// The sender's end first. Whoever sends has asked for the connection.
std::pair<Fd, Fd> connected(const Host& from, const Host& to, uint16_t port) {
    const sockaddr_in server = address(to.ip, port);
    to.netns.enter();
    Fd listener = tcp_socket();
    check(bind(listener.get(), reinterpret_cast<const sockaddr*>(&server), sizeof(server)), "bind");
    check(listen(listener.get(), 1), "listen");
    from.netns.enter();
    Fd out = tcp_socket();
    set_option(out, IPPROTO_TCP, TCP_NOTSENT_LOWAT, &kWrittenAhead, sizeof(kWrittenAhead));
    check(::connect(out.get(), reinterpret_cast<const sockaddr*>(&server), sizeof(server)), "connect");
    return {std::move(out), Fd(check(accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC), "accept"))};
}

// Closed, it sends a reset, and nothing of what is still in its buffer.
void reset_at_close(const Fd& fd) {
    const linger none{1, 0};
    set_option(fd, SOL_SOCKET, SO_LINGER, &none, sizeof(none));
}

[[noreturn]] void send_for_ever(const Fd& out) {
    const std::vector<char> chunk(kChunk);
    while (send(out.get(), chunk.data(), chunk.size(), MSG_NOSIGNAL) > 0) continue;
    _exit(0);
}

// Without copying: what is read is thrown away in the kernel.
[[noreturn]] void receive_for_ever(const Fd& in) {
    std::vector<char> chunk(kChunk);
    while (recv(in.get(), chunk.data(), chunk.size(), MSG_TRUNC) > 0) continue;
    _exit(0);
}

tcp_info info_of(const Fd& fd) {
    tcp_info info{};
    socklen_t size = sizeof(info);
    check(getsockopt(fd.get(), IPPROTO_TCP, TCP_INFO, &info, &size), "TCP_INFO");
    return info;
}

double bits_per_second(const tcp_info& before, const tcp_info& after, uint64_t ns) {
    return static_cast<double>(after.tcpi_bytes_acked - before.tcpi_bytes_acked) * 8e9 /
           static_cast<double>(ns);
}

}  // namespace

struct BulkFlows::Flow {
    bool in;
    std::pair<Fd, Fd> ends;
    tcp_info before{}, half{};
    std::vector<pid_t> processes{};

    nlohmann::json json(uint64_t half_ns, uint64_t ns) const {
        const tcp_info after = info_of(ends.first);
        return {{"goodput_bps", bits_per_second(before, after, ns)},
                {"late_goodput_bps", bits_per_second(half, after, ns - half_ns)},
                {"retransmits", after.tcpi_total_retrans - before.tcpi_total_retrans},
                {"ce", after.tcpi_delivered_ce - before.tcpi_delivered_ce},
                {"min_rtt_us", after.tcpi_min_rtt},
                {"cwnd", after.tcpi_snd_cwnd},
                {"rwnd_limited_us", after.tcpi_rwnd_limited - before.tcpi_rwnd_limited},
                {"sndbuf_limited_us", after.tcpi_sndbuf_limited - before.tcpi_sndbuf_limited},
                {"ecn", (after.tcpi_options & TCPI_OPT_ECN) != 0}};
    }
};

BulkFlows::BulkFlows(const Fabric& fabric, const NetworkSpec& spec) {
    for (size_t i = 0; i < fabric.internet().size(); i++) {
        const Host& near = fabric.hosts().at(i % fabric.hosts().size());
        const Host& far = fabric.internet()[i];
        connect(far, near, true, static_cast<uint16_t>(kFirstPort + i));
        connect(near, far, false, kFirstPort);
    }
    // The internet's hosts never ask for ECN, and do not refuse it.
    const bool rack_asks = spec.ecn == 1 || spec.route_ecn;
    for (const auto& flow : flows_)
        if (bool(info_of(flow->ends.first).tcpi_options & TCPI_OPT_ECN) != (!flow->in && rack_asks))
            throw std::runtime_error(std::string("a bulk flow ") + (flow->in ? "in" : "out") +
                                     " has ECN against the configuration, or lacks it");
}

void BulkFlows::connect(const Host& from, const Host& to, bool in, uint16_t port) {
    flows_.push_back(std::make_unique<Flow>(Flow{in, connected(from, to, port)}));
    reset_at_close(flows_.back()->ends.first);
    reset_at_close(flows_.back()->ends.second);
}

void BulkFlows::start() {
    for (const auto& flow : flows_) flow->before = flow->half = info_of(flow->ends.first);
    for (const auto& flow : flows_)
        for (const bool sender : {true, false}) {
            const pid_t child = check(fork(), "fork");
            if (child == 0) {
                if (sender) send_for_ever(flow->ends.first);
                receive_for_ever(flow->ends.second);
            }
            flow->processes.push_back(child);
        }
}

void BulkFlows::half(uint64_t ns) {
    half_ns_ = ns;
    for (auto& flow : flows_) flow->half = info_of(flow->ends.first);
}

nlohmann::json BulkFlows::end(uint64_t ns) {
    nlohmann::json json = {
        {"interval_ns", ns}, {"in", nlohmann::json::array()}, {"out", nlohmann::json::array()}};
    for (const auto& flow : flows_) json[flow->in ? "in" : "out"].push_back(flow->json(half_ns_, ns));
    stop();
    return json;
}

void BulkFlows::stop() {
    for (const auto& flow : flows_)
        for (const pid_t child : flow->processes) {
            kill(child, SIGKILL);
            waitpid(child, nullptr, 0);
        }
    flows_.clear();
}

BulkFlows::~BulkFlows() {
    stop();
}

}  // namespace pfqd::lab
