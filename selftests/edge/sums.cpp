// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
//
// Packets whose NIC has summed all their bytes (CHECKSUM_COMPLETE): the kernel's sum
// must follow what the edge writes, or every such packet is reported as a hardware
// fault. No device of the lab sums like that; the kernel's test run of a BPF program
// does when asked, and refuses with EBADMSG when the sum is wrong afterwards.
#include <linux/bpf.h>
#include <linux/pkt_cls.h>
#include <sys/syscall.h>

#include <cstring>

#include "selftests/edge/command.hpp"
#include "selftests/edge/gate.hpp"
#include "selftests/edge/packets.hpp"
#include "selftests/lib/tap.hpp"

using namespace pfqd::selftest;

namespace {

constexpr uint32_t kSummed = 1u << 2;  // BPF_F_TEST_SKB_CHECKSUM_COMPLETE

int bpf(int command, bpf_attr& attr) {
    return static_cast<int>(syscall(SYS_bpf, command, &attr, sizeof(attr)));
}

uint64_t pointer(const void* data) {
    return reinterpret_cast<uint64_t>(data);
}

struct TestRun {
    int error;  // errno
    int verdict;
    Bytes packet;
};

TestRun test_run(int program, const Bytes& packet) {
    TestRun run{0, 0, Bytes(packet.size())};
    bpf_attr attr{};
    attr.test.prog_fd = static_cast<uint32_t>(program);
    attr.test.data_in = pointer(packet.data());
    attr.test.data_size_in = static_cast<uint32_t>(packet.size());
    attr.test.data_out = pointer(run.packet.data());
    attr.test.data_size_out = static_cast<uint32_t>(run.packet.size());
    attr.test.flags = kSummed;
    if (bpf(BPF_PROG_TEST_RUN, attr) < 0) run.error = errno;
    run.verdict = static_cast<int>(attr.test.retval);
    return run;
}

pfqd::Fd attached_program() {
    bpf_attr attr{};
    attr.prog_id = edge_json("show out0").at(0).at("program").at("id").get<uint32_t>();
    return pfqd::Fd(pfqd::check(bpf(BPF_PROG_GET_FD_BY_ID, attr), "open the edge's program"));
}

// Writes one byte of the IP header and leaves the sum as it was.
pfqd::Fd careless_program() {
    const bpf_insn code[] = {
        {BPF_ST | BPF_MEM | BPF_B, BPF_REG_10, 0, -8, 0x6f},
        {BPF_ALU64 | BPF_MOV | BPF_K, BPF_REG_2, 0, 0, ETH_HLEN},
        {BPF_ALU64 | BPF_MOV | BPF_X, BPF_REG_3, BPF_REG_10, 0, 0},
        {BPF_ALU64 | BPF_ADD | BPF_K, BPF_REG_3, 0, 0, -8},
        {BPF_ALU64 | BPF_MOV | BPF_K, BPF_REG_4, 0, 0, 1},
        {BPF_ALU64 | BPF_MOV | BPF_K, BPF_REG_5, 0, 0, 0},
        {BPF_JMP | BPF_CALL, 0, 0, 0, BPF_FUNC_skb_store_bytes},
        {BPF_ALU64 | BPF_MOV | BPF_K, BPF_REG_0, 0, 0, 0},
        {BPF_JMP | BPF_EXIT, 0, 0, 0, 0},
    };
    bpf_attr attr{};
    attr.prog_type = BPF_PROG_TYPE_SCHED_CLS;
    attr.insns = pointer(code);
    attr.insn_cnt = std::size(code);
    attr.license = pointer("GPL");
    return pfqd::Fd(pfqd::check(bpf(BPF_PROG_LOAD, attr), "load a BPF program"));
}

void check_sums(Tap& tap, const char* mode, bool trust) {
    edge_json(std::string("attach out0") + mode);
    const pfqd::Fd program = attached_program();
    for (const PacketKind& kind : kIpPackets) {
        // Small enough for a test run; and it leaves the first tag in the bytes, so that
        // four are one too many.
        if (kind.make(0).size() > 3000 || kind.make == packet::v6_four_tags) continue;
        unsigned wrong = 0, refused = 0;
        for (unsigned value = 0; value < 256; value++) {
            const auto before = static_cast<uint8_t>(value);
            const TestRun run = test_run(program.get(), kind.make(before));
            refused += run.error != 0 || run.verdict != TC_ACT_UNSPEC;
            wrong += run.packet != kind.make(class_after(before, trust));
        }
        tap.is(fmt::format("{}{}: sums that are wrong", kind.name, mode), refused, 0u);
        tap.is(fmt::format("{}{}: packets that are", kind.name, mode), wrong, 0u);
    }
}

void test_sums(Tap& tap) {
    const Gate gate;
    const pfqd::Fd careless = careless_program();
    const TestRun run = test_run(careless.get(), packet::v6(0));
    if (run.error == EINVAL) return tap.skip("sums", "this kernel's test run cannot sum packets");
    tap.is("a program that forgets the sum is caught", run.error, EBADMSG);
    check_sums(tap, "", false);
    check_sums(tap, " --trust", true);
}

}  // namespace

int main() {
    return run_tests({{"CHECKSUM_COMPLETE", test_sums}});
}
