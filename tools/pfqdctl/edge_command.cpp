// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
//
// pfqdctl edge: its command line, and what it says: to people in sentences, to
// programs as JSON.
#include <fmt/format.h>

#include <memory>
#include <nlohmann/json.hpp>

#include "pfqdctl/command.hpp"
#include "pfqdctl/edge.hpp"
#include "pfqdctl/failure.hpp"

namespace pfqd::ctl {

namespace {

using Json = nlohmann::ordered_json;

struct CounterText {
    const char* key;      // in JSON
    const char* name;     // in text
    const char* meaning;  // in text
};

// In the order of enum edge_counter.
constexpr CounterText kCounters[] = {
    {"stamped", "stamped", "rewritten to DSCP 63: long class, no band"},
    {"kept", "kept", "carried the right stamp already"},
    {"not_ip", "not IP", "passed as they were"},
    {"malformed", "malformed", "short or wrong IP header, passed as they were"},
    {"failed", "failed", "could not be written, passed as they were"},
};
static_assert(std::size(kCounters) == EDGE_COUNTERS);

struct EdgeOptions {
    std::string device;
    bool trust = false;
    bool json = false;
};

const char* mode_text(EdgeMode mode) {
    return mode == EdgeMode::trust ? "trust: valid stamps are kept, all else is stamped"
                                   : "stamp: all that enters is stamped";
}

Json counts_json(const Edge& edge) {
    if (!edge.counts) return nullptr;
    Json json = Json::object();
    for (size_t i = 0; i < EDGE_COUNTERS; i++) json[kCounters[i].key] = (*edge.counts)[i];
    return json;
}

Json edge_json(const Edge& edge) {
    return {{"device", edge.device.name},
            {"ifindex", edge.device.ifindex},
            {"attached", true},
            {"mode", mode_name(edge.mode)},
            {"qdisc", edge.qdisc},
            {"added_qdisc", edge.added_qdisc()},
            {"priority", kEdgePriority},
            {"handle", edge.handle},
            {"filters_before", edge.filters_before},
            {"program", {{"name", edge.program}, {"id", edge.program_id}, {"tag", edge.tag}}},
            {"packets", counts_json(edge)}};
}

void print_json(const Json& json) {
    // A device's name may be no UTF-8.
    fmt::print("{}\n", json.dump(1, ' ', false, Json::error_handler_t::replace));
}

void print_edge(const Edge& edge) {
    fmt::print("{}: edge attached, mode {}\n", edge.device.name, mode_text(edge.mode));
    if (edge.filters_before)
        fmt::print("  {} filter(s) run before it and may take packets away from it\n", edge.filters_before);
    if (!edge.counts) {
        fmt::print("  counters: {}\n", edge.may_count ? "the program has none that this pfqdctl knows"
                                                      : "only with CAP_SYS_ADMIN (run it as root)");
        return;
    }
    for (size_t i = 0; i < EDGE_COUNTERS; i++)
        fmt::print("  {:<10} {:>15}  {}\n", kCounters[i].name, (*edge.counts)[i], kCounters[i].meaning);
}

// --- attach

const char* change_name(AttachChange change) {
    switch (change) {
        case AttachChange::none:
            return "none";
        case AttachChange::attached:
            return "attached";
        case AttachChange::mode:
            return "mode";
        case AttachChange::program:
            return "program";
    }
    return "";
}

void print_attached(const AttachResult& result) {
    const Edge& edge = result.edge;
    const std::string& name = edge.device.name;
    switch (result.change) {
        case AttachChange::none:
            fmt::print("{}: edge is attached already, mode {}; nothing changed\n", name,
                       mode_text(edge.mode));
            return;
        case AttachChange::attached:
            fmt::print("{}: edge attached, mode {}\n", name, mode_text(edge.mode));
            if (edge.added_qdisc())
                fmt::print("{}: added a clsact qdisc to carry it; detach removes it again\n", name);
            return;
        case AttachChange::mode:
            fmt::print("{}: edge changed to mode {}; its counters start at 0\n", name, mode_text(edge.mode));
            return;
        case AttachChange::program:
            fmt::print("{}: edge's program replaced by this version's, mode {}; its counters start at 0\n",
                       name, mode_text(edge.mode));
            return;
    }
}

int attach(const EdgeOptions& options) {
    const AttachResult result =
        attach_edge(options.device, options.trust ? EdgeMode::trust : EdgeMode::stamp);
    if (options.json) {
        Json json = edge_json(result.edge);
        json["changed"] = change_name(result.change);
        print_json(json);
    } else {
        print_attached(result);
    }
    return kDone;
}

// --- detach

const char* fate_key(QdiscFate fate) {
    switch (fate) {
        case QdiscFate::removed:
            return "removed";
        case QdiscFate::used:
            return "left_in_use";
        case QdiscFate::not_ours:
            return "left_as_found";
    }
    return "";
}

const char* fate_text(QdiscFate fate) {
    switch (fate) {
        case QdiscFate::removed:
            return "removed";
        case QdiscFate::used:
            return "left, others use it";
        case QdiscFate::not_ours:
            return "left, it was there before";
    }
    return "";
}

int detach(const EdgeOptions& options) {
    const DetachResult result = detach_edge(options.device);
    const std::string& name = result.device.name;
    if (options.json) {
        Json json = {{"device", name},
                     {"ifindex", result.device.ifindex},
                     {"attached", false},
                     {"changed", result.was_attached ? "detached" : "none"},
                     {"qdisc", nullptr}};
        if (result.was_attached) json["qdisc"] = fate_key(result.qdisc);
        print_json(json);
    } else if (!result.was_attached) {
        fmt::print("{}: edge is not attached; nothing changed\n", name);
    } else {
        fmt::print("{}: edge detached; {} qdisc: {}\n", name, result.qdisc_kind, fate_text(result.qdisc));
    }
    return kDone;
}

// --- show

int show_one(const EdgeOptions& options) {
    nl::Socket socket;
    const Device device = find_device(socket, options.device);
    const auto edge = find_edge(device);
    if (options.json) {
        const Json absent = {{"device", device.name}, {"ifindex", device.ifindex}, {"attached", false}};
        print_json(Json::array({edge ? edge_json(*edge) : absent}));
    } else if (edge) {
        print_edge(*edge);
    } else {
        fmt::print("{}: edge is not attached\n", device.name);
    }
    return edge ? kDone : kNotAttached;
}

int show_all(const EdgeOptions& options) {
    const std::vector<Edge> edges = all_edges();
    Json json = Json::array();
    for (const Edge& edge : edges) {
        if (options.json)
            json.push_back(edge_json(edge));
        else
            print_edge(edge);
    }
    if (options.json)
        print_json(json);
    else if (edges.empty())
        fmt::print("no device of this network namespace has the edge\n");
    return kDone;
}

int show(const EdgeOptions& options) {
    return options.device.empty() ? show_all(options) : show_one(options);
}

// --- command line

constexpr const char* kDescription = "the datacenter's edge: stamp what enters from the internet";

constexpr const char* kEdgeFooter =
    "\nRewrites the DSCP of all IPv4 and IPv6 packets that enter by a device to 63: long RTT class,\n"
    "no band. ECN stays, and everything else passes as it is. For devices that face the internet.\n"
    "\nExamples:\n"
    "  pfqdctl edge attach eth0\n"
    "  pfqdctl edge attach eth0 --trust\n"
    "  pfqdctl edge show eth0 --json\n"
    "  pfqdctl edge detach eth0\n";

CLI::App* add(CLI::App* edge, const char* name, const char* description, int (*run)(const EdgeOptions&),
              const std::shared_ptr<EdgeOptions>& options, Action& action) {
    CLI::App* command = edge->add_subcommand(name, description);
    command->add_flag("--json", options->json, "say it as JSON");
    command->footer(kEdgeFooter);
    command->callback([&action, options, run] { action = [options, run] { return run(*options); }; });
    return command;
}

}  // namespace

void add_edge_command(CLI::App& app, Action& action) {
    const auto options = std::make_shared<EdgeOptions>();
    CLI::App* edge = app.add_subcommand("edge", kDescription);
    edge->footer(kEdgeFooter);

    CLI::App* command = add(edge, "attach", "start stamping; also changes the mode of an attached edge",
                            attach, options, action);
    command->add_option("DEV", options->device, "network device")->required();
    command->add_flag("--trust", options->trust, "keep valid stamps: DSCP xxxx11 with band 0 to 5 or 7");

    command =
        add(edge, "detach", "stop stamping; the device is as it was before attach", detach, options, action);
    command->add_option("DEV", options->device, "network device")->required();

    command = add(edge, "show", "whether it is attached, its mode, and what it did", show, options, action);
    command->add_option("DEV", options->device, "network device (default: all that have the edge)");
    require_command(*edge);
}

}  // namespace pfqd::ctl
