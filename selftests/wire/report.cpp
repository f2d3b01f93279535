// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
//
// What a wire reports: every frame is counted once, under its cause, and
// rtnetlink, ethtool and ip -s link tell the same story.
#include <linux/ethtool.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include <cstring>
#include <map>
#include <vector>

#include "selftests/lib/frame.hpp"
#include "selftests/lib/kernel.hpp"
#include "selftests/lib/link.hpp"
#include "selftests/lib/packet_socket.hpp"
#include "selftests/lib/tap.hpp"

using namespace pfqd::selftest;
using pfqd::Fd;
namespace nl = pfqd::nl;

namespace {

struct Pair {
    nl::Netns a = quiet_netns(), b = quiet_netns();
    std::pair<End, End> ends;
    const End& left = ends.first;
    const End& right = ends.second;

    Pair(const EndOptions& left_options, const EndOptions& right_options)
        : ends(make_wire(a, left_options, b, right_options)) {}
};

// ETHTOOL_* calls take a command that starts with its number, through ifr_data.
void ethtool(const End& end, void* command) {
    const In inside(end.netns());
    const Fd fd(pfqd::check(socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0), "socket"));
    ifreq request{};
    end.name().copy(request.ifr_name, IFNAMSIZ - 1);
    request.ifr_data = static_cast<char*>(command);
    pfqd::check(ioctl(fd.get(), SIOCETHTOOL, &request), "ethtool on " + end.name());
}

// ethtool -S
std::map<std::string, uint64_t> ethtool_statistics(const End& end) {
    ethtool_drvinfo driver{};
    driver.cmd = ETHTOOL_GDRVINFO;
    ethtool(end, &driver);
    const size_t count = driver.n_stats;

    std::vector<uint64_t> names((sizeof(ethtool_gstrings) + count * ETH_GSTRING_LEN) / 8 + 1);
    auto* strings = reinterpret_cast<ethtool_gstrings*>(names.data());
    strings->cmd = ETHTOOL_GSTRINGS;
    strings->string_set = ETH_SS_STATS;
    strings->len = static_cast<uint32_t>(count);
    ethtool(end, strings);

    std::vector<uint64_t> values(sizeof(ethtool_stats) / 8 + count + 1);
    auto* statistics = reinterpret_cast<ethtool_stats*>(values.data());
    statistics->cmd = ETHTOOL_GSTATS;
    statistics->n_stats = static_cast<uint32_t>(count);
    ethtool(end, statistics);

    std::map<std::string, uint64_t> result;
    for (size_t i = 0; i < count; i++)
        result[reinterpret_cast<char*>(strings->data) + i * ETH_GSTRING_LEN] = statistics->data[i];
    return result;
}

uint32_t ethtool_speed(const End& end) {
    ethtool_cmd settings{};
    settings.cmd = ETHTOOL_GSET;
    ethtool(end, &settings);
    return ethtool_cmd_speed(&settings);
}

FrameOptions udp(size_t payload) {
    FrameOptions options;
    options.protocol = IPPROTO_UDP;
    options.payload = payload;
    return options;
}

FrameOptions tcp(uint8_t flags, size_t payload) {
    FrameOptions options;
    options.tcp_flags = flags;
    options.payload = payload;
    return options;
}

void test_frames(Tap& tap) {
    Pair link({.ring = 1 << 20}, {});
    PacketSocket sender(link.left), receiver(link.right);
    const uint64_t before = link.left.counter(LAB_WIRE_STAT_TX_FRAMES);
    sender.send(make_frame(tcp(kAck | kPsh, 100)));  // 154 bytes, data
    sender.send(make_frame(tcp(kAck, 0)));           // 54, none
    sender.send(make_frame(tcp(kSyn, 0)));           // 54, none
    sender.send(make_frame(udp(100)));               // 142, data
    sender.send(raw_frame(1000));                    // 1000, none
    tap.is("five frames arrive", receiver.receive_all().size(), 5u);
    tap.is("all counted as sent", link.left.counter(LAB_WIRE_STAT_TX_FRAMES) - before, 5u);
    tap.is("their bytes", link.left.counter(LAB_WIRE_STAT_TX_BYTES), 1404u);
    // 178, 84, 84, 166, 1024: 24 bytes a frame, at least 84
    tap.is("their bytes on the wire", link.left.counter(LAB_WIRE_STAT_TX_WIRE_BYTES), 1536u);
    tap.is("two with data", link.left.counter(LAB_WIRE_STAT_TX_DATA), 2u);
    tap.is("all counted as received", link.right.counter(LAB_WIRE_STAT_RX_FRAMES), 5u);
    tap.is("with their bytes", link.right.counter(LAB_WIRE_STAT_RX_BYTES), 1404u);
    tap.is("one by one", link.right.counter(LAB_WIRE_STAT_RX_BATCHES), 5u);

    const rtnl_link_stats64 sent = link.left.statistics(), received = link.right.statistics();
    tap.is("ip -s link: sent", sent.tx_packets, 5u);
    tap.is("ip -s link: bytes sent", sent.tx_bytes, 1404u);
    tap.is("ip -s link: received", received.rx_packets, 5u);
    tap.is("ip -s link: bytes received", received.rx_bytes, 1404u);
    tap.is("ip -s link: nothing wrong",
           sent.tx_errors + sent.tx_dropped + received.rx_errors + received.rx_dropped, 0u);
    tap.is("and nothing the other way", sent.rx_packets + received.tx_packets, 0u);
}

// Lost, too large, sent to an end that went down, in the ring when its own did.
void test_causes(Tap& tap) {
    constexpr uint64_t kSent = 100;
    Pair link({.ring = 1 << 20, .loss = 200'000, .seed = 5, .mtu = 9000}, {});
    PacketSocket sender(link.left), receiver(link.right);
    for (uint32_t i = 0; i < kSent; i++) sender.send(raw_frame(i % 10 ? 60 : 2000, i));
    const size_t arrived = receiver.receive_all().size();
    const uint64_t lost = link.left.counter(LAB_WIRE_STAT_LOST);
    const uint64_t oversize = link.right.counter(LAB_WIRE_STAT_OVERSIZE);
    tap.ok(lost > 0 && oversize > 0, "some are lost, some too large");
    tap.is("each frame once", arrived + lost + oversize, kSent);
    tap.is("ip -s link: lost frames are the receiver's CRC errors", link.right.statistics().rx_crc_errors,
           lost);
    tap.is("ip -s link: large ones its length errors", link.right.statistics().rx_length_errors, oversize);
    tap.is("ip -s link: both its errors", link.right.statistics().rx_errors, lost + oversize);

    link.left.change({.rate = 1'000'000, .loss = 0});
    for (int i = 0; i < 10; i++) sender.send(raw_frame(1226));  // 10 ms each
    sleep_ns(25'000'000);
    const uint64_t before = link.right.counter(LAB_WIRE_STAT_RX_FRAMES) - arrived;
    link.right.set_up(false);
    sleep_ns(50'000'000);
    tap.is("two arrive before the other end goes down", before, 2u);
    tap.is("five are sent after it", link.left.counter(LAB_WIRE_STAT_PEER_DOWN), 5u);
    tap.is("ip -s link: carrier errors", link.left.statistics().tx_carrier_errors, 5u);
    link.left.set_up(false);
    tap.is("three are thrown away with their own end", link.left.counter(LAB_WIRE_STAT_PURGED), 3u);
    tap.is("and were never sent", link.left.counter(LAB_WIRE_STAT_TX_FRAMES), kSent + 7);
}

// On their way or held when the receiver goes down.
void test_purged_receiver(Tap& tap) {
    Pair link({.delay = 10'000'000, .ring = 1 << 20}, {});
    PacketSocket sender(link.left);
    for (int i = 0; i < 8; i++) sender.send(raw_frame(60));
    sleep_ns(5'000'000);
    link.right.set_up(false);
    tap.is("eight frames on their way are purged", link.right.counter(LAB_WIRE_STAT_PURGED), 8u);
    link.right.set_up(true);
    sleep_ns(20'000'000);
    tap.is("and do not arrive later", link.right.counter(LAB_WIRE_STAT_RX_FRAMES), 0u);
}

void test_ethtool(Tap& tap) {
    Pair link({.rate = 25'000'000'000, .loss = 300'000, .seed = 5}, {});
    tap.is("speed in Mbit/s", ethtool_speed(link.left), 25'000u);
    link.left.change({.rate = 100'000'000'000});
    tap.is("after a change", ethtool_speed(link.left), 100'000u);
    PacketSocket sender(link.left), receiver(link.right);
    for (int i = 0; i < 50; i++) sender.send(make_frame(udp(200)));
    receiver.receive_all();

    const std::map<int, std::string> names{{LAB_WIRE_STAT_TX_FRAMES, "tx_frames"},
                                           {LAB_WIRE_STAT_TX_BYTES, "tx_bytes"},
                                           {LAB_WIRE_STAT_TX_WIRE_BYTES, "tx_wire_bytes"},
                                           {LAB_WIRE_STAT_TX_DATA, "tx_data"},
                                           {LAB_WIRE_STAT_LOST, "lost"},
                                           {LAB_WIRE_STAT_PEER_DOWN, "peer_down"},
                                           {LAB_WIRE_STAT_REFUSED, "refused"},
                                           {LAB_WIRE_STAT_PURGED, "purged"},
                                           {LAB_WIRE_STAT_RX_FRAMES, "rx_frames"},
                                           {LAB_WIRE_STAT_RX_BYTES, "rx_bytes"},
                                           {LAB_WIRE_STAT_RX_BATCHES, "rx_batches"},
                                           {LAB_WIRE_STAT_HELD, "held"},
                                           {LAB_WIRE_STAT_FLUSHED, "flushed"},
                                           {LAB_WIRE_STAT_OVERSIZE, "oversize"},
                                           {LAB_WIRE_STAT_NO_MEMORY, "no_memory"}};
    for (const End* end : {&link.left, &link.right}) {
        const auto statistics = ethtool_statistics(*end);
        tap.is("ethtool -S has each counter", statistics.size(), names.size());
        size_t differ = 0;
        for (const auto& [stat, name] : names) differ += statistics.at(name) != end->counter(stat);
        tap.is("and each is the one of rtnetlink", differ, 0u);
    }
    tap.is("tx_frames", ethtool_statistics(link.left).at("tx_frames"), 50u);
    tap.ok(ethtool_statistics(link.left).at("lost") > 0, "lost");
}

}  // namespace

int main() {
    load_module("wire");
    return run_tests({{"frames", test_frames},
                      {"causes", test_causes},
                      {"purged receiver", test_purged_receiver},
                      {"ethtool", test_ethtool}});
}
