// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
#include "pfqdctl/edge_program.hpp"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <fmt/format.h>
#include <linux/if_arp.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <vector>

#include "lab/common/fd.hpp"
#include "pfqdctl/edge.skel.h"
#include "pfqdctl/failure.hpp"
#include "pfqdctl/libbpf_log.hpp"

namespace pfqd::ctl {

namespace {

constexpr std::string_view kMapName = "pfqd_edge_count";

struct Variant {
    const char* name;  // in edge.bpf.c
    EdgeMode mode;
    LinkLayer layer;
};

constexpr Variant kVariants[] = {
    {"pfqd_edge", EdgeMode::stamp, LinkLayer::ethernet},
    {"pfqd_edge_trust", EdgeMode::trust, LinkLayer::ethernet},
    {"pfqd_edge_l3", EdgeMode::stamp, LinkLayer::none},
    {"pfqd_edge_l3tr", EdgeMode::trust, LinkLayer::none},
};

std::string hex(const uint8_t* bytes, size_t size) {
    std::string text;
    for (size_t i = 0; i < size; i++) text += fmt::format("{:02x}", bytes[i]);
    return text;
}

const char* variant_name(EdgeMode mode, LinkLayer layer) {
    const auto* found = std::find_if(std::begin(kVariants), std::end(kVariants), [&](const Variant& one) {
        return one.mode == mode && one.layer == layer;
    });
    return found->name;
}

Failure load_failure(int error, const std::string& log) {
    if (error == EPERM)
        return Failure(
            "the kernel does not permit loading a BPF program: that needs CAP_BPF and CAP_NET_ADMIN in the "
            "initial user namespace, not only in a container's");
    if (error == ENOSYS) return Failure("this kernel has no BPF (CONFIG_BPF_SYSCALL)");
    return Failure(
        fmt::format("the kernel refuses the edge's BPF program: {}\n{}", std::strerror(error), log));
}

// The sum over all CPUs of each counter that the map has; a map of an older program
// has fewer, one of a newer program more.
std::optional<EdgeCounts> read_counts(int map, uint32_t entries) {
    const int cpus = libbpf_num_possible_cpus();
    if (cpus <= 0) return std::nullopt;
    std::vector<uint64_t> values(static_cast<size_t>(cpus));
    EdgeCounts counts{};
    for (uint32_t key = 0; key < std::min<uint32_t>(entries, EDGE_COUNTERS); key++) {
        if (bpf_map_lookup_elem(map, &key, values.data()) < 0) return std::nullopt;
        for (const uint64_t value : values) counts[key] += value;
    }
    return counts;
}

std::optional<EdgeCounts> counts_of_map(uint32_t id) {
    const Fd map(bpf_map_get_fd_by_id(id));
    bpf_map_info info{};
    uint32_t size = sizeof(info);
    if (!map || bpf_obj_get_info_by_fd(map.get(), &info, &size) < 0) return std::nullopt;
    if (info.name != kMapName || info.type != BPF_MAP_TYPE_PERCPU_ARRAY || info.value_size != 8)
        return std::nullopt;
    return read_counts(map.get(), info.max_entries);
}

}  // namespace

std::string_view mode_name(EdgeMode mode) {
    return mode == EdgeMode::trust ? "trust" : "stamp";
}

// Types with a header of their own, or whose driver leaves an outer one, are not here.
std::optional<LinkLayer> link_layer(uint16_t type) {
    switch (type) {
        case ARPHRD_ETHER:
        case ARPHRD_LOOPBACK:
            return LinkLayer::ethernet;
        case ARPHRD_NONE:
        case ARPHRD_RAWIP:
        case ARPHRD_PPP:
        case ARPHRD_TUNNEL:
        case ARPHRD_TUNNEL6:
        case ARPHRD_SIT:
            return LinkLayer::none;
        default:
            return std::nullopt;
    }
}

std::optional<EdgeMode> mode_of_program(std::string_view name) {
    name = name.substr(0, name.find(':'));
    for (const Variant& one : kVariants)
        if (name == one.name) return one.mode;
    return std::nullopt;
}

void EdgeProgram::Destroy::operator()(edge_bpf* skeleton) const {
    edge_bpf__destroy(skeleton);
}

EdgeProgram::EdgeProgram(EdgeMode mode, LinkLayer layer) : name_(variant_name(mode, layer)) {
    LibbpfLog log;
    skeleton_.reset(edge_bpf__open());
    if (!skeleton_) throw load_failure(errno, log.text());
    bpf_program* program = nullptr;
    bpf_object__for_each_program(program, skeleton_->obj)
        bpf_program__set_autoload(program, bpf_program__name(program) == name_);
    if (const int error = edge_bpf__load(skeleton_.get())) throw load_failure(-error, log.text());

    fd_ = bpf_program__fd(bpf_object__find_program_by_name(skeleton_->obj, name_.c_str()));
    bpf_prog_info info{};
    uint32_t size = sizeof(info);
    check(bpf_obj_get_info_by_fd(fd_, &info, &size), "ask about the loaded BPF program");
    tag_ = hex(info.tag, sizeof(info.tag));
    id_ = info.id;
}

LoadedProgram inspect_program(uint32_t id) {
    LoadedProgram loaded;
    const Fd program(bpf_prog_get_fd_by_id(id));
    if (!program) {
        loaded.permitted = errno != EPERM;
        return loaded;
    }
    std::array<uint32_t, 8> maps{};
    bpf_prog_info info{};
    info.map_ids = reinterpret_cast<uint64_t>(maps.data());
    info.nr_map_ids = maps.size();
    uint32_t size = sizeof(info);
    if (bpf_obj_get_info_by_fd(program.get(), &info, &size) < 0) return loaded;
    loaded.permitted = loaded.found = true;
    loaded.ours = info.type == BPF_PROG_TYPE_SCHED_CLS && mode_of_program(info.name).has_value();
    for (uint32_t i = 0; i < std::min<uint32_t>(info.nr_map_ids, maps.size()) && !loaded.counts; i++)
        loaded.counts = counts_of_map(maps[i]);
    return loaded;
}

}  // namespace pfqd::ctl
