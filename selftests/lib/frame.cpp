// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
#include "selftests/lib/frame.hpp"

#include <arpa/inet.h>

#include <algorithm>
#include <stdexcept>

namespace pfqd::selftest {

namespace {

void put16(Bytes& out, uint32_t value) {
    out.push_back(static_cast<uint8_t>(value >> 8));
    out.push_back(static_cast<uint8_t>(value));
}

void put32(Bytes& out, uint32_t value) {
    put16(out, value >> 16);
    put16(out, value & 0xffff);
}

void set16(Bytes& out, size_t offset, uint16_t value) {
    out.at(offset) = static_cast<uint8_t>(value >> 8);
    out.at(offset + 1) = static_cast<uint8_t>(value);
}

// RFC 1071 over bytes that end the buffer, added to a sum so far.
uint32_t sum16(const Bytes& bytes, size_t from, uint32_t sum = 0) {
    for (size_t i = from; i < bytes.size(); i += 2)
        sum += static_cast<uint32_t>(bytes[i]) << 8 | (i + 1 < bytes.size() ? bytes[i + 1] : 0);
    return sum;
}

uint16_t fold(uint32_t sum) {
    while (sum >> 16) sum = (sum & 0xffff) + (sum >> 16);
    return static_cast<uint16_t>(~sum);
}

size_t transport_size(const FrameOptions& options) {
    if (options.protocol == IPPROTO_TCP) return 20;
    return options.protocol == IPPROTO_UDP ? 8 : 0;
}

void put_address(Bytes& out, const FrameOptions& options, uint32_t address) {
    if (options.ipv6) {
        put32(out, 0xfd000000);
        put32(out, 0);
        put32(out, 0);
    }
    put32(out, address);
}

void put_ip(Bytes& out, const FrameOptions& options, size_t length) {
    if (options.ipv6) {
        put32(out, 6u << 28 | static_cast<uint32_t>(options.dsfield) << 20);
        put16(out, static_cast<uint32_t>(length));
        out.push_back(options.protocol);
        out.push_back(64);
    } else {
        out.push_back(0x45);
        out.push_back(options.dsfield);
        put16(out, static_cast<uint32_t>(20 + length));
        put16(out, 0);
        put16(out, options.fragment);
        out.push_back(64);
        out.push_back(options.protocol);
        put16(out, 0);
    }
    const size_t start = out.size() - (options.ipv6 ? 8 : 12);
    put_address(out, options, options.source);
    put_address(out, options, options.destination);
    if (!options.ipv6) set16(out, start + 10, fold(sum16(out, start)));
}

void put_transport(Bytes& out, const FrameOptions& options, size_t length) {
    if (options.protocol == IPPROTO_TCP || options.protocol == IPPROTO_UDP) {
        put16(out, options.sport);
        put16(out, options.dport);
    }
    if (options.protocol == IPPROTO_TCP) {
        put32(out, options.seq);
        put32(out, options.ack_seq);
        out.push_back(5 << 4);
        out.push_back(options.tcp_flags);
        put16(out, 0xffff);
        put32(out, 0);
    } else if (options.protocol == IPPROTO_UDP) {
        put16(out, static_cast<uint32_t>(length));
        put16(out, 0);
    }
}

void put_payload(Bytes& out, const FrameOptions& options) {
    const size_t start = out.size();
    for (size_t i = 0; i < options.payload; i++) out.push_back(static_cast<uint8_t>(i * 7 + 3));
    if (options.payload >= 4)
        for (size_t i = 0; i < 4; i++) out[start + i] = static_cast<uint8_t>(options.tag >> (24 - 8 * i));
}

void fill_checksum(Bytes& out, const FrameOptions& options, size_t transport, size_t length) {
    if (transport_size(options) == 0) return;
    Bytes pseudo;
    put_address(pseudo, options, options.source);
    put_address(pseudo, options, options.destination);
    put32(pseudo, static_cast<uint32_t>(length));
    put32(pseudo, options.protocol);
    const uint16_t checksum = fold(sum16(out, transport, sum16(pseudo, 0)));
    set16(out, transport + (options.protocol == IPPROTO_TCP ? 16 : 6), checksum ? checksum : 0xffff);
}

}  // namespace

Bytes make_frame(const FrameOptions& options) {
    Bytes out(options.to.begin(), options.to.end());
    out.insert(out.end(), options.from.begin(), options.from.end());
    if (options.vlan) {
        put16(out, ETH_P_8021Q);
        put16(out, *options.vlan);
    }
    put16(out, options.ipv6 ? ETH_P_IPV6 : ETH_P_IP);
    const size_t length = transport_size(options) + options.payload;
    if (length > 65515) throw std::invalid_argument("an IP packet has at most 65,535 bytes");
    put_ip(out, options, length);
    const size_t transport = out.size();
    put_transport(out, options, length);
    put_payload(out, options);
    fill_checksum(out, options, transport, length);
    return out;
}

Bytes raw_frame(size_t size, uint32_t tag) {
    Bytes out{2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1};
    put16(out, kRawType);
    put32(out, tag);
    out.resize(std::max(size, out.size()), 0x5a);
    return out;
}

uint32_t raw_tag(const Bytes& frame) {
    uint32_t tag = 0;
    for (size_t i = 14; i < 18; i++) tag = tag << 8 | frame.at(i);
    return tag;
}

}  // namespace pfqd::selftest
