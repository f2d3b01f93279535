// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
#include "pfqdctl/edge.hpp"

#include <bpf/libbpf.h>
#include <fmt/format.h>
#include <linux/if_ether.h>
#include <linux/pkt_sched.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "pfqdctl/capability.hpp"
#include "pfqdctl/failure.hpp"
#include "pfqdctl/libbpf_log.hpp"
#include "pfqdctl/tc_state.hpp"
#include "pfqdctl/turn.hpp"

namespace pfqd::ctl {

namespace {

// Another process may add or remove a filter or the qdisc between our look and our
// step; then the kernel refuses with one of these and we look again.
constexpr int kAttempts = 8;

bool may_be_a_race(int error) {
    return error == EEXIST || error == ENOENT || error == EINVAL;
}

class Refused : public Failure {
  public:
    Refused(int error, const std::string& what) : Failure(what), error_(error) {}
    int error() const { return error_; }

  private:
    int error_;
};

bool has_our_handle(const Filter& filter) {
    return filter.handle == kEdgeHandleAdded || filter.handle == kEdgeHandleFound;
}

bool is_edge(const Filter& filter) {
    return filter.kind == "bpf" && filter.priority == kEdgePriority && filter.protocol == ETH_P_ALL &&
           filter.chain == 0 && has_our_handle(filter) && mode_of_program(filter.program);
}

// Where ours would be, but not ours: the kernel allows one kind and one protocol at a
// priority, other BPF programs beside ours.
bool in_our_place(const Filter& filter) {
    if (filter.priority != kEdgePriority || filter.chain != 0 || is_edge(filter)) return false;
    return filter.kind != "bpf" || filter.protocol != ETH_P_ALL || has_our_handle(filter);
}

// The ingress hook of one device, as it is now.
struct Ingress {
    std::string qdisc;  // empty: none
    std::vector<Filter> filters;

    Ingress(nl::Socket& socket, const Device& device) {
        for (const HookQdisc& one : hook_qdiscs(socket))
            if (one.ifindex == device.ifindex) qdisc = one.kind;
        if (!qdisc.empty()) filters = pfqd::ctl::filters(socket, device.ifindex, Hook::ingress);
    }

    const Filter* edge() const {
        const auto found = std::find_if(filters.begin(), filters.end(), is_edge);
        return found == filters.end() ? nullptr : &*found;
    }

    // An ingress qdisc can be named in two ways (ffff: and ffff:fff2). The kernel shows
    // all its filters with the way in which the last one was added: so it is to stay.
    uint32_t parent() const {
        return filters.empty() ? TC_H_MAKE(TC_H_CLSACT, TC_H_MIN_INGRESS) : filters.front().parent;
    }

    void refuse_foreign(const Device& device) const {
        const auto found = std::find_if(filters.begin(), filters.end(), in_our_place);
        if (found == filters.end()) return;
        const std::string name = found->program.empty() ? "" : fmt::format(" ({})", found->program);
        throw Failure(fmt::format(
            "the place of the edge on the ingress hook of '{}', priority {}, is taken by a filter of kind "
            "'{}'{} that is not ours: it was left alone; move it to another priority",
            device.name, kEdgePriority, found->kind, name));
    }
};

Edge edge_of(const Device& device, const Ingress& ingress, const Filter& filter) {
    Edge edge;
    edge.device = device;
    edge.mode = *mode_of_program(filter.program);
    edge.handle = filter.handle;
    edge.program = filter.program.substr(0, filter.program.find(':'));
    edge.program_id = filter.program_id;
    edge.tag = filter.tag;
    edge.qdisc = ingress.qdisc;
    edge.filters_before = static_cast<size_t>(
        std::count_if(ingress.filters.begin(), ingress.filters.end(), [](const Filter& other) {
            return other.handle != 0 && other.chain == 0 && other.priority < kEdgePriority;
        }));
    const LoadedProgram loaded = inspect_program(filter.program_id);
    edge.may_count = loaded.permitted;
    edge.counts = loaded.counts;
    return edge;
}

std::string words(int error, const LibbpfLog& log) {
    const std::string kernel = log.kernel_words();
    return kernel.empty() ? std::strerror(error) : fmt::format("{} ({})", kernel, std::strerror(error));
}

// libbpf's view of the hook.
class TcHook {
  public:
    TcHook(const Device& device, uint32_t parent) : device_(device), parent_(parent) {}

    // False when there was a qdisc already.
    bool add_qdisc() const {
        const LibbpfLog log;
        bpf_tc_hook hook = at(BPF_TC_INGRESS);
        const int error = -bpf_tc_hook_create(&hook);
        if (error && error != EEXIST) throw refused("adding a clsact qdisc to", error, log);
        return !error;
    }

    void add_filter(const EdgeProgram& program, uint32_t handle, bool replace) const {
        const LibbpfLog log;
        const bpf_tc_hook hook = at(BPF_TC_CUSTOM);
        bpf_tc_opts options = place(handle);
        options.prog_fd = program.fd();
        options.flags = replace ? BPF_TC_F_REPLACE : 0;
        if (const int error = -bpf_tc_attach(&hook, &options)) throw refused("attaching to", error, log);
    }

    void remove_filter(uint32_t handle) const {
        const LibbpfLog log;
        const bpf_tc_hook hook = at(BPF_TC_CUSTOM);
        const bpf_tc_opts options = place(handle);
        if (const int error = -bpf_tc_detach(&hook, &options)) throw refused("detaching from", error, log);
    }

    void remove_qdisc() const {
        const LibbpfLog log;
        bpf_tc_hook hook = at(static_cast<bpf_tc_attach_point>(BPF_TC_INGRESS | BPF_TC_EGRESS));
        const int error = -bpf_tc_hook_destroy(&hook);
        if (error && !may_be_a_race(error)) throw refused("removing the clsact qdisc of", error, log);
    }

  private:
    bpf_tc_hook at(bpf_tc_attach_point point) const {
        bpf_tc_hook hook{};
        hook.sz = sizeof(hook);
        hook.ifindex = device_.ifindex;
        hook.attach_point = point;
        if (point == BPF_TC_CUSTOM) hook.parent = parent_;
        return hook;
    }

    static bpf_tc_opts place(uint32_t handle) {
        bpf_tc_opts options{};
        options.sz = sizeof(options);
        options.handle = handle;
        options.priority = kEdgePriority;
        return options;
    }

    Refused refused(const char* what, int error, const LibbpfLog& log) const {
        return Refused(error,
                       fmt::format("{} '{}': the kernel refuses: {}", what, device_.name, words(error, log)));
    }

    const Device& device_;
    uint32_t parent_;
};

// Filters, also of other chains, or chains that someone made for filters to come.
bool in_use(nl::Socket& socket, const Device& device) {
    for (const Hook hook : {Hook::ingress, Hook::egress})
        if (!filters(socket, device.ifindex, hook).empty() || chain_count(socket, device.ifindex, hook))
            return true;
    return false;
}

// The kernel has no "remove if unused": a filter that somebody adds right now is lost.
QdiscFate give_back_qdisc(nl::Socket& socket, const TcHook& hook, const Device& device) {
    if (in_use(socket, device)) return QdiscFate::used;
    hook.remove_qdisc();
    return QdiscFate::removed;
}

LinkLayer known_link_layer(const Device& device) {
    if (const auto layer = link_layer(device.type)) return *layer;
    throw Failure(fmt::format(
        "'{}' is a device of type {} (ARPHRD_*), on which the edge does not know where the IP header is; it "
        "knows Ethernet and devices that carry plain IP (tun, WireGuard, PPP, ipip, sit). Attach it to the "
        "device below",
        device.name, device.type));
}

// One look and one step.
AttachChange try_attach(nl::Socket& socket, const Device& device, const EdgeProgram& program) {
    const Ingress before(socket, device);
    before.refuse_foreign(device);
    const TcHook hook(device, before.parent());
    if (const Filter* edge = before.edge()) {
        const bool same_mode = mode_of_program(edge->program) == mode_of_program(program.name());
        if (same_mode && edge->tag == program.tag()) return AttachChange::none;
        hook.add_filter(program, edge->handle, true);
        return same_mode ? AttachChange::program : AttachChange::mode;
    }
    const bool added = before.qdisc.empty() && hook.add_qdisc();
    try {
        hook.add_filter(program, added ? kEdgeHandleAdded : kEdgeHandleFound, false);
    } catch (const Failure&) {
        if (added) give_back_qdisc(socket, hook, device);
        throw;
    }
    return AttachChange::attached;
}

// Two that attached at the same time: the one whose process added the qdisc stays.
void drop_duplicate(const Ingress& ingress, const Device& device) {
    if (std::count_if(ingress.filters.begin(), ingress.filters.end(), is_edge) > 1)
        TcHook(device, ingress.parent()).remove_filter(kEdgeHandleFound);
}

// One look and one step: false when there was nothing to detach.
bool try_detach(nl::Socket& socket, DetachResult& result) {
    const Device& device = result.device;
    const Ingress ingress(socket, device);
    const Filter* edge = ingress.edge();
    if (!edge) return false;
    need_capabilities(fmt::format("detaching the edge from '{}'", device.name), {Capability::net_admin});
    const LoadedProgram loaded = inspect_program(edge->program_id);
    if (loaded.found && !loaded.ours)
        throw Failure(
            fmt::format("the filter '{}' on '{}' has a name of ours, but is another program: it was "
                        "left alone",
                        edge->program, device.name));
    const TcHook hook(device, ingress.parent());
    hook.remove_filter(edge->handle);
    result.was_attached = true;
    result.qdisc_kind = ingress.qdisc;
    if (edge->handle == kEdgeHandleAdded) result.qdisc = give_back_qdisc(socket, hook, device);
    return true;
}

// Steps until one returns true. When others keep interfering, or it was no race at all,
// the last refusal is the answer.
template <class Step>
void repeat(const Device& device, Step step) {
    for (int left = kAttempts; left > 0; left--) {
        try {
            if (step()) return;
        } catch (const Refused& refusal) {
            if (left == 1 || !may_be_a_race(refusal.error())) throw;
        }
    }
    throw Failure(fmt::format("another process keeps changing the ingress hook of '{}'", device.name));
}

}  // namespace

AttachResult attach_edge(const std::string& name, EdgeMode mode) {
    nl::Socket socket;
    const Device device = find_device(socket, name);
    const LinkLayer layer = known_link_layer(device);
    need_capabilities(fmt::format("attaching the edge to '{}'", device.name),
                      {Capability::net_admin, Capability::bpf});
    const EdgeProgram program(mode, layer);
    const Turn turn(device.ifindex);
    AttachResult result;
    repeat(device, [&] {
        const AttachChange change = try_attach(socket, device, program);
        // A step that came to nothing is repeated; what the first one did counts.
        if (change != AttachChange::none) result.change = change;
        drop_duplicate(Ingress(socket, device), device);
        const Ingress after(socket, device);
        const Filter* edge = after.edge();
        if (!edge || edge->tag != program.tag() || mode_of_program(edge->program) != mode) return false;
        result.edge = edge_of(device, after, *edge);
        return true;
    });
    return result;
}

DetachResult detach_edge(const std::string& name) {
    nl::Socket socket;
    DetachResult result;
    result.device = find_device(socket, name);
    const Turn turn(result.device.ifindex);
    repeat(result.device, [&] { return !try_detach(socket, result); });
    return result;
}

std::optional<Edge> find_edge(const Device& device) {
    nl::Socket socket;
    const Ingress ingress(socket, device);
    const Filter* edge = ingress.edge();
    if (!edge) return std::nullopt;
    return edge_of(device, ingress, *edge);
}

std::vector<Edge> all_edges() {
    nl::Socket socket;
    std::vector<Edge> edges;
    for (const Device& device : all_devices(socket))
        if (auto edge = find_edge(device)) edges.push_back(std::move(*edge));
    return edges;
}

}  // namespace pfqd::ctl
