// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
//
// Netlink requests, built attribute by attribute and sent over libnl.
//
// libnl's own objects know the kernel's link types and qdiscs, not ours, so the
// lab builds messages directly: a Message grows from its fixed header to nested
// attributes, a Socket sends it and waits for the kernel's answer. A refusal is
// a NetlinkError that carries the kernel's own (extack) words.
#pragma once

#include <linux/netlink.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>

struct nl_msg;
struct nl_sock;

namespace pfqd::nl {

class NetlinkError : public std::runtime_error {
  public:
    NetlinkError(int code, const std::string& what) : std::runtime_error(what), code_(code) {}
    // A positive errno value.
    int code() const { return code_; }

  private:
    int code_;
};

class Message {
  public:
    // NLM_F_REQUEST is added to flags; request() adds NLM_F_ACK, dump() NLM_F_DUMP.
    Message(uint16_t type, uint16_t flags);

    // The family's fixed header, for example ifinfomsg or tcmsg.
    template <class T>
    Message& raw(const T& header) {
        append(&header, sizeof(header));
        return *this;
    }

    void put(int attr, const void* data, size_t size);
    void put_flag(int attr) { put(attr, nullptr, 0); }
    void put_u8(int attr, uint8_t value) { put(attr, &value, sizeof(value)); }
    void put_u16(int attr, uint16_t value) { put(attr, &value, sizeof(value)); }
    void put_u32(int attr, uint32_t value) { put(attr, &value, sizeof(value)); }
    void put_s32(int attr, int32_t value) { put(attr, &value, sizeof(value)); }
    void put_u64(int attr, uint64_t value) { put(attr, &value, sizeof(value)); }
    void put_string(int attr, const std::string& value) { put(attr, value.c_str(), value.size() + 1); }

    // Closes the nested attribute when it goes out of scope.
    class Nest {
      public:
        Nest(Message& message, int attr);
        ~Nest();
        Nest(const Nest&) = delete;
        Nest& operator=(const Nest&) = delete;

      private:
        Message& message_;
        nlattr* start_;
    };
    [[nodiscard]] Nest nest(int attr) { return Nest(*this, attr); }

    nl_msg* get() const { return msg_.get(); }

  private:
    void append(const void* data, size_t size);
    struct Free {
        void operator()(nl_msg* msg) const;
    };
    std::unique_ptr<nl_msg, Free> msg_;
};

// A NETLINK_ROUTE socket; it belongs to the network namespace in which it is made.
class Socket {
  public:
    Socket();

    // Sends and waits for the ACK; throws NetlinkError when the kernel refuses.
    void request(Message& message);

    // Sends with NLM_F_DUMP and calls fn for every message of the answer.
    void dump(Message& message, const std::function<void(const nlmsghdr&)>& fn);

    // Sends and calls fn for the one message of the answer (for example RTM_GETLINK).
    void query(Message& message, const std::function<void(const nlmsghdr&)>& fn);

  private:
    void exchange(Message& message, uint16_t flags, const std::function<void(const nlmsghdr&)>& fn);
    void receive(uint32_t sequence, const std::function<void(const nlmsghdr&)>& fn);
    struct Free {
        void operator()(nl_sock* sock) const;
    };
    std::unique_ptr<nl_sock, Free> sock_;
};

// The attribute of that number among those that follow a fixed header of
// header_size bytes, or null. Sizes are checked; the caller checks the payload's.
const nlattr* find_attr(const nlmsghdr& message, size_t header_size, int attr);
const nlattr* find_nested(const nlattr* parent, int attr);

// The payload as T; throws when it is shorter.
uint32_t attr_u32(const nlattr* attr);
uint64_t attr_u64(const nlattr* attr);
std::string attr_string(const nlattr* attr);

}  // namespace pfqd::nl
