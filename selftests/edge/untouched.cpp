// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
//
// What is no IP packet, or a broken one, passes as it is and is never dropped by the
// edge: each frame is sent without the edge and with it, and must leave alike. Then
// random bytes, of which only the traffic class and IPv4's checksum may change, and
// only where there is an IP header.
#include <map>

#include "lab/common/prng.hpp"
#include "selftests/edge/gate.hpp"
#include "selftests/edge/packets.hpp"
#include "selftests/lib/debug_kernel.hpp"
#include "selftests/lib/tap.hpp"

using namespace pfqd::selftest;

namespace {

constexpr size_t kIp = ETH_HLEN;

Bytes cut(Bytes frame, size_t size) {
    frame.resize(size);
    return frame;
}

Bytes with_byte(Bytes frame, size_t offset, uint8_t value) {
    frame.at(offset) = value;
    return frame;
}

Bytes of_type(uint16_t type, const Bytes& content) {
    Bytes frame = raw_frame(18);
    frame.resize(ETH_HLEN);
    frame[12] = static_cast<uint8_t>(type >> 8);
    frame[13] = static_cast<uint8_t>(type);
    return inserted(frame, ETH_HLEN, content);
}

Bytes ip_content(const Bytes& frame) {
    return {frame.begin() + ETH_HLEN, frame.end()};
}

struct Frame {
    std::string name;
    Bytes bytes;
    const char* counter;
};

std::vector<Frame> no_ip() {
    const Bytes v4 = ip_content(packet::v4(0)), v6 = ip_content(packet::v6(0));
    Bytes five_tags = tagged(packet::v4(0), {0x8100, 0x8100, 0x8100, 0x8100, 0x8100});
    return {
        {"ARP", of_type(ETH_P_ARP, Bytes(46, 1)), "not_ip"},
        {"an unknown type", raw_frame(60), "not_ip"},
        {"no content at all", cut(raw_frame(18), ETH_HLEN), "not_ip"},
        {"MPLS", of_type(0x8847, inserted(v4, 0, {0, 1, 1, 64})), "not_ip"},
        {"PPPoE", of_type(0x8864, inserted(v4, 0, {0x11, 0, 0, 1, 0, 142, 0, 0x21})), "not_ip"},
        {"802.3 with LLC and SNAP", of_type(100, inserted(v4, 0, {0xaa, 0xaa, 3, 0, 0, 0, 8, 0})), "not_ip"},
        {"802.3 with bytes like IPv6", of_type(60, cut(v6, 60)), "not_ip"},
        {"ARP in a VLAN", tagged(of_type(ETH_P_ARP, Bytes(46, 1)), {0x8100}), "not_ip"},
        {"ARP in QinQ", tagged(of_type(ETH_P_ARP, Bytes(46, 1)), {0x88a8, 0x8100}), "not_ip"},
        {"a second tag that is cut", cut(tagged(packet::v4(0), {0x8100, 0x8100}), 12 + 4 + 4 + 1), "not_ip"},
        {"five tags", five_tags, "not_ip"},
    };
}

std::vector<Frame> broken_ip() {
    std::vector<Frame> frames = {
        {"IPv4 with version 5", with_byte(packet::v4(0), kIp, 0x55), "malformed"},
        {"IPv4 with version 6", with_byte(packet::v4(0), kIp, 0x65), "malformed"},
        {"IPv4 with 4 words of header", with_byte(packet::v4(0), kIp, 0x44), "malformed"},
        {"IPv4 with no header", with_byte(packet::v4(0), kIp, 0x40), "malformed"},
        {"IPv4 with options beyond its end", with_byte(packet::v4_empty(0), kIp, 0x46), "malformed"},
        {"IPv6 with version 4", with_byte(packet::v6(0), kIp, 0x40), "malformed"},
        {"IPv6 with version 7", with_byte(packet::v6(0), kIp, 0x70), "malformed"},
        {"IPv4 type with an IPv6 packet", of_type(ETH_P_IP, ip_content(packet::v6(0))), "malformed"},
        {"IPv6 type with an IPv4 packet", of_type(ETH_P_IPV6, ip_content(packet::v4(0))), "malformed"},
    };
    for (size_t size = 0; size < 20; size++)
        frames.push_back(
            {fmt::format("{} bytes of IPv4", size), cut(packet::v4(0), kIp + size), "malformed"});
    for (const size_t size : {0u, 1u, 2u, 8u, 20u, 39u})
        frames.push_back(
            {fmt::format("{} bytes of IPv6", size), cut(packet::v6(0), kIp + size), "malformed"});
    frames.push_back({"19 bytes of IPv4 in QinQ", cut(packet::v4_qinq(0), kIp + 8 + 19), "malformed"});
    frames.push_back({"39 bytes of IPv6 in QinQ", cut(packet::v6_qinq(0), kIp + 8 + 39), "malformed"});
    return frames;
}

void check_untouched(Tap& tap, const std::vector<Frame>& frames) {
    const Gate gate;
    std::vector<std::optional<Bytes>> without;
    std::map<std::string, uint64_t> want{{"stamped", 0}, {"kept", 0}, {"failed", 0}};
    for (const Frame& frame : frames) {
        without.push_back(gate.pass(frame.bytes));
        // What the kernel drops before the hook is not counted.
        want[frame.counter] += without.back().has_value();
    }
    for (const char* mode : {"", " --trust"}) {
        edge_json(std::string("attach out0") + mode);
        for (size_t i = 0; i < frames.size(); i++)
            tap.ok(gate.pass(frames[i].bytes) == without[i],
                   fmt::format("{}{}: leaves as without the edge", frames[i].name, mode));
        const auto packets = edge_packets("out0");
        for (const auto& [counter, count] : want)
            tap.is(fmt::format("counted as {}{}", counter, mode), packets.at(counter).get<uint64_t>(), count);
    }
}

void test_no_ip(Tap& tap) {
    check_untouched(tap, no_ip());
}
void test_broken(Tap& tap) {
    check_untouched(tap, broken_ip());
}

// A header with a wrong checksum is an IP header: stamped, and as wrong as before.
void test_wrong_checksum(Tap& tap) {
    const Gate gate;
    edge_json("attach out0");
    const auto difference = [](const Bytes& frame) { return header_sum(frame, kIp, 20); };
    for (const uint8_t value : {0x00, 0x01, 0xfe, 0xff}) {
        const Bytes frame = with_byte(with_byte(packet::v4(0), kIp + 10, value), kIp + 11, value);
        const auto left = gate.pass(frame);
        tap.ok(left && left->at(kIp + 1) == 0xfc, fmt::format("checksum {0:02x}{0:02x}: stamped", value));
        tap.is(fmt::format("checksum {0:02x}{0:02x}: wrong by the same", value),
               left ? difference(*left) % 0xffff : 0, difference(frame) % 0xffff);
    }
}

// Where the IP header of a frame begins, as the design has it: behind up to four tags.
std::optional<size_t> ip_header(const Bytes& frame, bool& ipv6) {
    size_t offset = 12;
    for (int tags = 0;; tags++) {
        if (frame.size() < offset + 2) return std::nullopt;
        const int type = frame[offset] << 8 | frame[offset + 1];
        if (tags < 4 && (type == 0x8100 || type == 0x88a8)) {
            offset += 4;
            continue;
        }
        offset += 2;
        ipv6 = type == ETH_P_IPV6;
        const size_t left = frame.size() - offset;
        if (ipv6) return left >= 40 && frame[offset] >> 4 == 6 ? std::optional(offset) : std::nullopt;
        if (type != ETH_P_IP || left < 20 || frame[offset] >> 4 != 4) return std::nullopt;
        const size_t words = frame[offset] & 15;
        return words >= 5 && left >= 4 * words ? std::optional(offset) : std::nullopt;
    }
}

// Whether `after` is what the edge may make of `before`.
bool acceptable(const Bytes& before, const Bytes& after, bool trust) {
    bool ipv6 = false;
    const auto offset = ip_header(before, ipv6);
    if (!offset || before.size() != after.size()) return before == after;
    Bytes expected = before;
    if (ipv6) {
        const auto old = static_cast<uint8_t>(before[*offset] << 4 | before[*offset + 1] >> 4);
        const uint8_t made = class_after(old, trust);
        expected[*offset] = static_cast<uint8_t>(0x60 | made >> 4);
        expected[*offset + 1] = static_cast<uint8_t>(made << 4 | (before[*offset + 1] & 15));
        return after == expected;
    }
    expected[*offset + 1] = class_after(before[*offset + 1], trust);
    if (expected[*offset + 1] == before[*offset + 1]) return after == before;
    std::copy_n(after.begin() + static_cast<std::ptrdiff_t>(*offset + 10), 2,
                expected.begin() + static_cast<std::ptrdiff_t>(*offset + 10));
    return after == expected &&
           header_sum(before, *offset, 20) % 0xffff == header_sum(after, *offset, 20) % 0xffff;
}

Bytes random_frame(pfqd::lab::Prng& prng) {
    constexpr uint16_t kTypes[] = {ETH_P_IP, ETH_P_IPV6, 0x8100, 0x88a8, ETH_P_ARP, 0x8847, 100};
    Bytes frame(ETH_HLEN + prng.bits() % 100);
    for (uint8_t& byte : frame) byte = static_cast<uint8_t>(prng.bits());
    frame[0] = 2;
    frame[6] = 2;
    size_t offset = 12;
    uint16_t type;
    do {
        type = kTypes[prng.bits() % std::size(kTypes)];
        if (offset + 2 > frame.size()) return frame;
        frame[offset] = static_cast<uint8_t>(type >> 8);
        frame[offset + 1] = static_cast<uint8_t>(type);
        offset += 4;
    } while (type == 0x8100 || type == 0x88a8);
    offset -= 2;
    if (offset < frame.size() && prng.bits() % 4)
        frame[offset] =
            static_cast<uint8_t>(type == ETH_P_IPV6 ? 0x60 | (frame[offset] & 15) : 0x45 + prng.bits() % 3);
    return frame;
}

void test_random(Tap& tap) {
    const unsigned count = debug_kernel() ? 2'000 : 10'000;
    const Gate gate;
    pfqd::lab::Prng prng(4);
    unsigned wrong = 0, dropped = 0;
    for (const bool trust : {false, true}) {
        edge("detach out0");
        std::vector<Bytes> frames, without;
        for (unsigned i = 0; i < count; i++) {
            frames.push_back(random_frame(prng));
            without.push_back(gate.pass(frames.back()).value_or(Bytes{}));
        }
        edge_json(trust ? "attach out0 --trust" : "attach out0");
        for (unsigned i = 0; i < count; i++) {
            const Bytes left = gate.pass(frames[i]).value_or(Bytes{});
            dropped += left.empty();
            wrong += !acceptable(without[i], left, trust);
        }
        const auto packets = edge_packets("out0");
        tap.ok(packets.at("stamped") > count / 10 && packets.at("not_ip") > count / 10 &&
                   packets.at("malformed") > count / 10,
               trust ? "trust: all sorts were there" : "stamp: all sorts were there");
        tap.is("none failed", packets.at("failed").get<uint64_t>(), 0u);
    }
    tap.is("frames that left wrong", wrong, 0u);
    tap.diag(
        fmt::format("{} frames; the kernel itself drops {}, with the edge and without", 2 * count, dropped));
}

}  // namespace

int main() {
    return run_tests({{"no IP", test_no_ip},
                      {"broken IP", test_broken},
                      {"wrong checksum", test_wrong_checksum},
                      {"random", test_random}});
}
