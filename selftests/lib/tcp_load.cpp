// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
#include "selftests/lib/tcp_load.hpp"

#include <netinet/tcp.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <new>
#include <utility>

#include "selftests/lib/inet.hpp"

namespace pfqd::selftest {

namespace {

constexpr size_t kChunk = 256 * 1024;

void set_up(int fd, const BulkOptions& options) {
    const int tos = options.tos;
    check(setsockopt(fd, IPPROTO_IP, IP_TOS, &tos, sizeof(tos)), "IP_TOS");
    if (options.pacing)
        check(setsockopt(fd, SOL_SOCKET, SO_MAX_PACING_RATE, &options.pacing, sizeof(options.pacing)),
              "SO_MAX_PACING_RATE");
    if (!options.congestion.empty())
        check(setsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, options.congestion.data(),
                         static_cast<socklen_t>(options.congestion.size())),
              "TCP_CONGESTION " + options.congestion);
}

}  // namespace

struct BulkFlow::Shared {
    std::atomic<uint64_t> delivered{0};
};

void BulkFlow::Unmap::operator()(Shared* shared) const {
    munmap(shared, sizeof(*shared));
}

BulkFlow::BulkFlow(const End& sender, const End& receiver, const std::string& receiver_ipv4,
                   const BulkOptions& options) {
    void* memory = mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) throw std::bad_alloc();
    shared_.reset(new (memory) Shared);

    auto [out, in] = tcp_connection(sender, receiver, receiver_ipv4, options.port);
    set_up(out.get(), options);
    std::vector<char> buffer(kChunk, 'b');
    for (const bool writer : {true, false}) {
        const pid_t child = check(fork(), "fork");
        if (child == 0) {
            while (true) {
                const ssize_t size = writer ? send(out.get(), buffer.data(), buffer.size(), MSG_NOSIGNAL)
                                            : recv(in.get(), buffer.data(), buffer.size(), MSG_TRUNC);
                if (size <= 0) _exit(0);
                if (!writer) shared_->delivered += static_cast<uint64_t>(size);
            }
        }
        children_.push_back(child);
    }
}

BulkFlow::~BulkFlow() {
    for (const pid_t child : children_) {
        kill(child, SIGKILL);
        waitpid(child, nullptr, 0);
    }
}

BulkFlow::BulkFlow(BulkFlow&& other) noexcept
    : shared_(std::move(other.shared_)), children_(std::exchange(other.children_, {})) {}

uint64_t BulkFlow::delivered() const {
    return shared_->delivered;
}

}  // namespace pfqd::selftest
