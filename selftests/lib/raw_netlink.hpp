// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
//
// Netlink requests of any bytes, right or wrong, and what the kernel answers.
// nl::Message can only build what is well-formed; a test of refusals needs the rest.
#pragma once

#include <linux/netlink.h>
#include <linux/rtnetlink.h>

#include <cstdint>
#include <functional>
#include <string>

#include "lab/common/fd.hpp"
#include "selftests/lib/frame.hpp"

namespace pfqd::selftest {

struct NetlinkAnswer {
    int error = 0;       // a positive errno value; 0: accepted
    std::string text{};  // the kernel's words (extack), empty when it has none
};

// Appends an attribute whose header says what the caller says. The payload is padded.
void put_attr(Bytes& out, uint16_t type, const Bytes& payload, uint16_t claimed_length);
// The same with the length that is right, as far as 16 bits can say it.
void put_attr(Bytes& out, uint16_t type, const Bytes& payload);

template <class T>
Bytes bytes_of(const T& value) {
    const auto* data = reinterpret_cast<const uint8_t*>(&value);
    return {data, data + sizeof(value)};
}

// Belongs to the network namespace in which it is made.
class RawNetlink {
  public:
    RawNetlink();

    // A fixed header (tcmsg, ...) and whatever follows it.
    NetlinkAnswer request(uint16_t type, uint16_t flags, const tcmsg& header, const Bytes& attributes);
    // Every message of a dump.
    void dump(uint16_t type, const tcmsg& header, const std::function<void(const nlmsghdr&)>& handler);

  private:
    void send(uint16_t type, uint16_t flags, const tcmsg& header, const Bytes& attributes);

    Fd fd_;
    uint32_t sequence_ = 0;
    Bytes buffer_;
};

}  // namespace pfqd::selftest
