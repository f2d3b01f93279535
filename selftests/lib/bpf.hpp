// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
//
// A BPF classifier that reads or sets what a packet carries inside the kernel,
// and that no socket shows: mark, priority, hash, owner, length before the
// qdisc. It is assembled here, an instruction at a time; it always passes the
// packet on.
#pragma once

#include <linux/bpf.h>

#include <cstdint>
#include <vector>

#include "lab/common/fd.hpp"
#include "selftests/lib/link.hpp"

namespace pfqd::selftest {

// 64-bit numbers that a program and the test share.
class BpfNumbers {
  public:
    explicit BpfNumbers(uint32_t count);
    std::vector<uint64_t> read() const;
    int fd() const { return map_.get(); }

  private:
    uint32_t count_;
    Fd map_;
};

class BpfClassifier {
  public:
    // Sees packets of at least that many bytes; smaller ones pass unseen.
    explicit BpfClassifier(uint32_t min_len = 0);

    // The field of struct __sk_buff at that offset, of 4 or 8 bytes, into a number.
    void record(const BpfNumbers& numbers, uint32_t slot, uint32_t offset, uint32_t size = 4);
    // 1 if the pointer field is not null, else 0.
    void record_pointer(const BpfNumbers& numbers, uint32_t slot, uint32_t offset);
    // The largest value of the field so far.
    void record_max(const BpfNumbers& numbers, uint32_t slot, uint32_t offset);
    // Counts the packets seen.
    void count(const BpfNumbers& numbers, uint32_t slot);
    void set_field(uint32_t offset, uint32_t value);
    void set_field64(uint32_t offset, uint64_t value);
    void set_hash(uint32_t value);

    // Runs it on every packet that the interface sends (before the qdisc) or
    // receives; nothing can be added to it then.
    void attach(const End& end, bool egress);

  private:
    void emit(uint8_t code, uint8_t dst, uint8_t src, int16_t off, int32_t imm);
    void emit_imm64(uint8_t dst, uint8_t src, uint64_t value);
    void store(const BpfNumbers& numbers, uint32_t slot);

    std::vector<bpf_insn> code_;
    Fd program_;
};

}  // namespace pfqd::selftest
