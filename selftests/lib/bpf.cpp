// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
#include "selftests/lib/bpf.hpp"

#include <arpa/inet.h>
#include <linux/if_ether.h>
#include <linux/pkt_cls.h>
#include <linux/pkt_sched.h>
#include <linux/rtnetlink.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cstddef>
#include <stdexcept>
#include <utility>

namespace pfqd::selftest {

namespace {

constexpr uint32_t kPriority = 1;  // of the filter
constexpr size_t kLogBytes = 16 * 1024;

int bpf(int command, bpf_attr& attr) {
    return static_cast<int>(syscall(SYS_bpf, command, &attr, sizeof(attr)));
}

uint64_t pointer(const void* data) {
    return reinterpret_cast<uint64_t>(data);
}

void ensure_clsact(nl::Socket& socket, int ifindex) {
    nl::Message message(RTM_NEWQDISC, NLM_F_CREATE | NLM_F_EXCL);
    tcmsg header{};
    header.tcm_ifindex = ifindex;
    header.tcm_parent = TC_H_CLSACT;
    header.tcm_handle = TC_H_MAKE(TC_H_CLSACT, 0);
    message.raw(header);
    message.put_string(TCA_KIND, "clsact");
    try {
        socket.request(message);
    } catch (const nl::NetlinkError& error) {
        if (error.code() != EEXIST) throw;
    }
}

}  // namespace

BpfNumbers::BpfNumbers(uint32_t count) : count_(count) {
    bpf_attr attr{};
    attr.map_type = BPF_MAP_TYPE_ARRAY;
    attr.key_size = 4;
    attr.value_size = count * 8;
    attr.max_entries = 1;
    map_ = Fd(check(bpf(BPF_MAP_CREATE, attr), "create a BPF map"));
}

std::vector<uint64_t> BpfNumbers::read() const {
    std::vector<uint64_t> numbers(count_);
    const uint32_t key = 0;
    bpf_attr attr{};
    attr.map_fd = static_cast<uint32_t>(fd());
    attr.key = pointer(&key);
    attr.value = pointer(numbers.data());
    check(bpf(BPF_MAP_LOOKUP_ELEM, attr), "read a BPF map");
    return numbers;
}

// r6 holds the packet, r2 what was read, r1 where it goes.
BpfClassifier::BpfClassifier(uint32_t min_len) {
    emit(BPF_ALU64 | BPF_MOV | BPF_X, BPF_REG_6, BPF_REG_1, 0, 0);
    if (!min_len) return;
    emit(BPF_LDX | BPF_MEM | BPF_W, BPF_REG_2, BPF_REG_6, offsetof(__sk_buff, len), 0);
    emit(BPF_JMP | BPF_JGE | BPF_K, BPF_REG_2, 0, 2, static_cast<int32_t>(min_len));
    emit(BPF_ALU64 | BPF_MOV | BPF_K, BPF_REG_0, 0, 0, TC_ACT_UNSPEC);
    emit(BPF_JMP | BPF_EXIT, 0, 0, 0, 0);
}

void BpfClassifier::emit(uint8_t code, uint8_t dst, uint8_t src, int16_t off, int32_t imm) {
    bpf_insn insn{};
    insn.code = code;
    insn.dst_reg = dst & 0xf;
    insn.src_reg = src & 0xf;
    insn.off = off;
    insn.imm = imm;
    code_.push_back(insn);
}

void BpfClassifier::emit_imm64(uint8_t dst, uint8_t src, uint64_t value) {
    emit(BPF_LD | BPF_DW | BPF_IMM, dst, src, 0, static_cast<int32_t>(value));
    emit(0, 0, 0, 0, static_cast<int32_t>(value >> 32));
}

void BpfClassifier::store(const BpfNumbers& numbers, uint32_t slot) {
    emit_imm64(BPF_REG_1, BPF_PSEUDO_MAP_VALUE, static_cast<uint32_t>(numbers.fd()));
    emit(BPF_STX | BPF_MEM | BPF_DW, BPF_REG_1, BPF_REG_2, static_cast<int16_t>(slot * 8), 0);
}

void BpfClassifier::record(const BpfNumbers& numbers, uint32_t slot, uint32_t offset, uint32_t size) {
    const uint8_t width = size == 8 ? BPF_DW : BPF_W;
    emit(BPF_LDX | BPF_MEM | width, BPF_REG_2, BPF_REG_6, static_cast<int16_t>(offset), 0);
    store(numbers, slot);
}

void BpfClassifier::record_pointer(const BpfNumbers& numbers, uint32_t slot, uint32_t offset) {
    emit(BPF_LDX | BPF_MEM | BPF_DW, BPF_REG_3, BPF_REG_6, static_cast<int16_t>(offset), 0);
    emit(BPF_ALU64 | BPF_MOV | BPF_K, BPF_REG_2, 0, 0, 0);
    emit(BPF_JMP | BPF_JEQ | BPF_K, BPF_REG_3, 0, 1, 0);
    emit(BPF_ALU64 | BPF_MOV | BPF_K, BPF_REG_2, 0, 0, 1);
    store(numbers, slot);
}

void BpfClassifier::record_max(const BpfNumbers& numbers, uint32_t slot, uint32_t offset) {
    emit(BPF_LDX | BPF_MEM | BPF_W, BPF_REG_2, BPF_REG_6, static_cast<int16_t>(offset), 0);
    emit_imm64(BPF_REG_1, BPF_PSEUDO_MAP_VALUE, static_cast<uint32_t>(numbers.fd()));
    emit(BPF_LDX | BPF_MEM | BPF_DW, BPF_REG_3, BPF_REG_1, static_cast<int16_t>(slot * 8), 0);
    emit(BPF_JMP | BPF_JGE | BPF_X, BPF_REG_3, BPF_REG_2, 1, 0);
    emit(BPF_STX | BPF_MEM | BPF_DW, BPF_REG_1, BPF_REG_2, static_cast<int16_t>(slot * 8), 0);
}

void BpfClassifier::count(const BpfNumbers& numbers, uint32_t slot) {
    emit_imm64(BPF_REG_1, BPF_PSEUDO_MAP_VALUE, static_cast<uint32_t>(numbers.fd()));
    emit(BPF_LDX | BPF_MEM | BPF_DW, BPF_REG_2, BPF_REG_1, static_cast<int16_t>(slot * 8), 0);
    emit(BPF_ALU64 | BPF_ADD | BPF_K, BPF_REG_2, 0, 0, 1);
    emit(BPF_STX | BPF_MEM | BPF_DW, BPF_REG_1, BPF_REG_2, static_cast<int16_t>(slot * 8), 0);
}

void BpfClassifier::set_field(uint32_t offset, uint32_t value) {
    emit(BPF_ALU64 | BPF_MOV | BPF_K, BPF_REG_2, 0, 0, static_cast<int32_t>(value));
    emit(BPF_STX | BPF_MEM | BPF_W, BPF_REG_6, BPF_REG_2, static_cast<int16_t>(offset), 0);
}

void BpfClassifier::set_field64(uint32_t offset, uint64_t value) {
    emit_imm64(BPF_REG_2, 0, value);
    emit(BPF_STX | BPF_MEM | BPF_DW, BPF_REG_6, BPF_REG_2, static_cast<int16_t>(offset), 0);
}

void BpfClassifier::set_hash(uint32_t value) {
    emit(BPF_ALU64 | BPF_MOV | BPF_X, BPF_REG_1, BPF_REG_6, 0, 0);
    emit(BPF_ALU64 | BPF_MOV | BPF_K, BPF_REG_2, 0, 0, static_cast<int32_t>(value));
    emit(BPF_JMP | BPF_CALL, 0, 0, 0, BPF_FUNC_set_hash);
}

void BpfClassifier::attach(const End& end, bool egress) {
    emit(BPF_ALU64 | BPF_MOV | BPF_K, BPF_REG_0, 0, 0, TC_ACT_UNSPEC);
    emit(BPF_JMP | BPF_EXIT, 0, 0, 0, 0);
    const std::vector<bpf_insn> code = std::exchange(code_, {});

    std::array<char, kLogBytes> log{};
    bpf_attr attr{};
    attr.prog_type = BPF_PROG_TYPE_SCHED_CLS;
    attr.insns = pointer(code.data());
    attr.insn_cnt = static_cast<uint32_t>(code.size());
    attr.license = pointer("GPL");
    attr.log_buf = pointer(log.data());
    attr.log_size = log.size();
    attr.log_level = 1;
    const int fd = bpf(BPF_PROG_LOAD, attr);
    if (fd < 0) throw std::runtime_error(std::string("the kernel refuses a BPF program: ") + log.data());
    program_ = Fd(fd);

    In inside(end.netns());
    nl::Socket socket;
    ensure_clsact(socket, end.ifindex());
    nl::Message message(RTM_NEWTFILTER, NLM_F_CREATE | NLM_F_REPLACE);
    tcmsg header{};
    header.tcm_ifindex = end.ifindex();
    header.tcm_parent = TC_H_MAKE(TC_H_CLSACT, egress ? TC_H_MIN_EGRESS : TC_H_MIN_INGRESS);
    header.tcm_handle = 1;
    header.tcm_info = TC_H_MAKE(kPriority << 16, htons(ETH_P_ALL));
    message.raw(header);
    message.put_string(TCA_KIND, "bpf");
    {
        auto options = message.nest(TCA_OPTIONS);
        message.put_u32(TCA_BPF_FD, static_cast<uint32_t>(fd));
        message.put_string(TCA_BPF_NAME, "selftest");
        message.put_u32(TCA_BPF_FLAGS, TCA_BPF_FLAG_ACT_DIRECT);
    }
    socket.request(message);
}

}  // namespace pfqd::selftest
