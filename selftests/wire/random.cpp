// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
//
// What a wire does at random: loss and lateness, each foretold from the seed
// as <linux/lab_wire.h> describes it, and near what was asked for.
#include <algorithm>
#include <set>

#include "selftests/lib/frame.hpp"
#include "selftests/lib/kernel.hpp"
#include "selftests/lib/link.hpp"
#include "selftests/lib/packet_socket.hpp"
#include "selftests/lib/qdisc.hpp"
#include "selftests/lib/tap.hpp"

using namespace pfqd::selftest;
namespace nl = pfqd::nl;

namespace {

constexpr uint64_t kBigRing = 64 << 20;  // bytes
constexpr size_t kFrames = 10'000;
constexpr uint32_t kMillion = 1'000'000;

class Stream {
  public:
    Stream(uint32_t seed, uint32_t stream) : state_(seed ^ static_cast<uint64_t>(stream) << 32) {}
    uint32_t draw() {
        state_ += 0x9e3779b97f4a7c15;
        uint64_t z = (state_ ^ state_ >> 30) * 0xbf58476d1ce4e5b9;
        z = (z ^ z >> 27) * 0x94d049bb133111eb;
        return static_cast<uint32_t>((z ^ z >> 31) >> 32);
    }
    uint32_t below(uint64_t limit) { return static_cast<uint32_t>(draw() * limit >> 32); }

  private:
    uint64_t state_;
};

struct Link {
    nl::Netns a = quiet_netns(), b = quiet_netns();
    std::pair<End, End> ends;
    const End& left = ends.first;
    const End& right = ends.second;
    PacketSocket sender, receiver;

    Link(const EndOptions& left_options, const EndOptions& right_options)
        : ends(make_wire(a, left_options, b, right_options)), sender(left), receiver(right) {}
};

std::vector<uint32_t> arrived(Link& link, size_t frames) {
    std::vector<uint32_t> tags;
    for (size_t i = 0; i < frames; i++) link.sender.send(raw_frame(60, static_cast<uint32_t>(i)));
    for (const Received& received : link.receiver.receive_all()) tags.push_back(raw_tag(received.frame));
    return tags;
}

std::vector<uint32_t> foretold(Stream& stream, size_t frames, uint32_t loss) {
    std::vector<uint32_t> tags;
    for (size_t i = 0; i < frames; i++)
        if (stream.below(kMillion) >= loss) tags.push_back(static_cast<uint32_t>(i));
    return tags;
}

void test_loss(Tap& tap) {
    constexpr uint32_t kLoss = 50'000;  // 5 %
    Link link({.ring = kBigRing, .loss = kLoss, .seed = 77}, {});
    Stream stream(77, LAB_WIRE_STREAM_LOSS);
    const auto tags = arrived(link, kFrames);
    tap.ok(tags == foretold(stream, kFrames, kLoss),
           "the lost frames are those foretold, the others in order");
    const double lost = static_cast<double>(kFrames - tags.size());
    // 500 of 10,000 expected; standard deviation 21.8
    tap.near("about 5 % are lost", lost, 500, 4 * 21.8);
    tap.is("each counted as lost", link.left.counter(LAB_WIRE_STAT_LOST), kFrames - tags.size());
    tap.is("all counted as sent", link.left.counter(LAB_WIRE_STAT_TX_FRAMES), kFrames);
    tap.is("none as dropped for another cause",
           link.left.counter(LAB_WIRE_STAT_PEER_DOWN) + link.right.counter(LAB_WIRE_STAT_OVERSIZE), 0u);

    tap.ok(arrived(link, 1000) == foretold(stream, 1000, kLoss), "the stream of numbers goes on");
    link.left.change({.seed = 77});
    Stream again(77, LAB_WIRE_STREAM_LOSS);
    tap.ok(arrived(link, 1000) == foretold(again, 1000, kLoss), "and begins anew with the seed");
    link.left.change({.seed = 78});
    Stream before(77, LAB_WIRE_STREAM_LOSS);
    tap.ok(arrived(link, 1000) != foretold(before, 1000, kLoss), "another seed loses others");
}

void test_loss_limits(Tap& tap) {
    Link link({.ring = kBigRing, .loss = kMillion}, {});
    tap.is("a loss of 1,000,000 ppm loses all", arrived(link, 500).size(), 0u);
    link.left.change({.loss = 0});
    tap.is("a loss of 0 none", arrived(link, 500).size(), 500u);
    link.left.change({.loss = 1, .seed = 1});
    tap.between("a loss of 1 ppm next to none", arrived(link, 500).size(), size_t{499}, size_t{500});
}

void test_lateness(Tap& tap) {
    constexpr uint32_t kLate = 5000;  // ns
    Link link({}, {.seed = 9, .lateness = kLate});
    Stream stream(9, LAB_WIRE_STREAM_LATENESS);
    std::set<uint64_t> seen;
    size_t wrong = 0;
    for (int i = 0; i < 200; i++) {
        sleep_ns(20'000);
        const uint64_t start = link.sender.send_timed(raw_frame(60));
        const uint64_t late = link.receiver.receive().value().at - start - 1027;  // 26.88 ns and the delay
        wrong += late != stream.below(kLate + 1);
        seen.insert(late);
    }
    tap.is("each of 200 frames is as late as foretold", wrong, 0u);
    tap.ok(*seen.begin() < kLate / 10 && *seen.rbegin() > kLate * 9 / 10, "from near 0 to near 5 us");
    tap.ok(*seen.rbegin() <= kLate, "never later");
    link.right.change({.lateness = 0});
    const uint64_t start = link.sender.send_timed(raw_frame(60));
    tap.is("none without", link.receiver.receive().value().at - start, 1027u);
}

void test_late_order(Tap& tap) {
    constexpr uint32_t kLate = 5000;
    Link link({.ring = kBigRing}, {.seed = 9, .lateness = kLate});
    const uint64_t start = link.sender.send_timed(raw_frame(1476, 0));  // 480 ns
    for (uint32_t i = 1; i < 300; i++) link.sender.send(raw_frame(1476, i));
    bool ordered = true;
    uint64_t early = 0, late = 0, next = 0;
    for (const Received& received : link.receiver.receive_all()) {
        ordered = ordered && raw_tag(received.frame) == next;
        const uint64_t arrival = start + ++next * 480 + 1000;
        early += received.at < arrival;
        late += received.at > arrival + kLate;
    }
    tap.is("all frames of a burst arrive", next, 300u);
    tap.ok(ordered, "in order");
    tap.is("none before its arrival", early, 0u);
    tap.is("none more than the lateness after it", late, 0u);
    const uint64_t batches = link.right.counter(LAB_WIRE_STAT_RX_BATCHES);
    tap.ok(batches < 150, "a late wake-up finds several");
}

}  // namespace

int main() {
    load_module("wire");
    return run_tests({{"loss", test_loss},
                      {"loss limits", test_loss_limits},
                      {"lateness", test_lateness},
                      {"lateness and order", test_late_order}});
}
