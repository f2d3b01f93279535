// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
//
// The bench of the edge's selftests: one device that packets enter by, and one that
// they leave by, both seen as their wires see them.
//
//   enter() -> [out0, the edge] - bridge - [in0] -> leave()
//
// Both are tap devices: what is written to one enters the host like from a NIC, tags
// in the bytes, and what leaves by the other is read with its tags in the bytes.
#pragma once

#include <fcntl.h>
#include <linux/if.h>
#include <linux/if_tun.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <cstring>
#include <optional>
#include <string>
#include <vector>

#include "selftests/edge/command.hpp"
#include "selftests/lib/frame.hpp"
#include "selftests/lib/link.hpp"

namespace pfqd::selftest {

// A tun or tap device of this thread's namespace; it goes with its descriptor.
class TunTap {
  public:
    TunTap(const std::string& name, short kind) {
        fd_ = Fd(check(open("/dev/net/tun", O_RDWR | O_NONBLOCK | O_CLOEXEC), "open /dev/net/tun"));
        ifreq request{};
        std::strncpy(request.ifr_name, name.c_str(), IFNAMSIZ - 1);
        request.ifr_flags = static_cast<short>(kind | IFF_NO_PI);
        check(ioctl(fd_.get(), TUNSETIFF, &request), "make " + name);
    }

    void write(const Bytes& packet) const {
        check(static_cast<int>(::write(fd_.get(), packet.data(), packet.size())), "write to a tun device");
    }

    // The next packet; none when nothing comes for 1 ms.
    std::optional<Bytes> read() const {
        pollfd poll_fd{fd_.get(), POLLIN, 0};
        const timespec timeout{0, 1'000'000};
        if (check(ppoll(&poll_fd, 1, &timeout, nullptr), "poll a tun device") == 0) return std::nullopt;
        static Bytes buffer(70'000);
        const int size =
            check(static_cast<int>(::read(fd_.get(), buffer.data(), buffer.size())), "read a tun device");
        return Bytes(buffer.begin(), buffer.begin() + size);
    }

    void close() { fd_ = Fd(); }

  private:
    Fd fd_;
};

class Gate {
  public:
    Gate()
        : netns_(quiet_netns()),
          inside_(netns_),
          outer_("out0", IFF_TAP),
          inner_("in0", IFF_TAP),
          out_(netns_, "out0"),
          in_(netns_, "in0") {
        out_.set_up(true);
        in_.set_up(true);
        must("ip link set out0 mtu 9100");
        must("ip link set in0 mtu 9100");
        make_bridge(netns_, {&out_, &in_});
        // The bridge forwards once its port has its carrier, which takes an instant.
        for (int i = 0; i < 1000; i++)
            if (pass(raw_frame(100))) break;
    }

    // What leaves when that frame enters; nothing if it was dropped.
    std::optional<Bytes> pass(const Bytes& frame) const {
        outer_.write(frame);
        return inner_.read();
    }

    void enter(const Bytes& frame) const { outer_.write(frame); }
    std::optional<Bytes> leave() const { return inner_.read(); }

    const End& outer_end() const { return out_; }
    void remove_outer() { outer_.close(); }

  private:
    nl::Netns netns_;
    In inside_;
    TunTap outer_, inner_;
    End out_, in_;
};

}  // namespace pfqd::selftest
