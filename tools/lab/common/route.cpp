// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
#include "lab/common/route.hpp"

#include <arpa/inet.h>
#include <linux/rtnetlink.h>

namespace pfqd::lab {

void set_route_metrics(nl::Socket& socket, int ifindex, uint32_t ip, int prefix,
                       const RouteMetrics& metrics) {
    if (metrics.initcwnd == 0 && !metrics.ecn) return;
    // Replaces, never creates: if the kernel's route is not there, we do not know this host.
    nl::Message message(RTM_NEWROUTE, NLM_F_REPLACE);
    rtmsg route{};
    route.rtm_family = AF_INET;
    route.rtm_dst_len = static_cast<unsigned char>(prefix);
    route.rtm_table = RT_TABLE_MAIN;
    route.rtm_protocol = RTPROT_KERNEL;
    route.rtm_scope = RT_SCOPE_LINK;
    route.rtm_type = RTN_UNICAST;
    message.raw(route);
    const uint32_t mask = prefix == 0 ? 0 : ~uint32_t{0} << (32 - prefix);
    message.put_u32(RTA_DST, htonl(ip & mask));
    message.put_u32(RTA_PREFSRC, htonl(ip));
    message.put_u32(RTA_OIF, static_cast<uint32_t>(ifindex));
    {
        auto nest = message.nest(RTA_METRICS);
        if (metrics.initcwnd > 0) message.put_u32(RTAX_INITCWND, metrics.initcwnd);
        if (metrics.ecn) message.put_u32(RTAX_FEATURES, RTAX_FEATURE_ECN);
    }
    socket.request(message);
}

}  // namespace pfqd::lab
