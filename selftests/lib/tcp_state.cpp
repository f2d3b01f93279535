// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
#include "selftests/lib/tcp_state.hpp"

#include <linux/tcp.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include "lab/common/fd.hpp"

namespace pfqd::selftest {

TcpState tcp_state(int fd) {
    tcp_info info{};
    socklen_t size = sizeof(info);
    check(getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &size), "TCP_INFO");
    return {info.tcpi_min_rtt, info.tcpi_total_retrans, info.tcpi_snd_cwnd,
            (info.tcpi_options & TCPI_OPT_ECN) != 0};
}

}  // namespace pfqd::selftest
