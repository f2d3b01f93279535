// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
//
// Options: defaults, change, and every way to get them wrong. A refused request
// says why, in words, and changes nothing. What is accepted stands in the uapi
// header; this file has its own copy of the design's table of defaults.
#include <fmt/ranges.h>

#include <cerrno>
#include <functional>

#include "selftests/pfqd/port.hpp"

using namespace pfqd::selftest;
namespace nl = pfqd::nl;

namespace {

// An option: its width, what it accepts, and whether 0 has a meaning of its own.
struct Option {
    int attr;
    const char* name;
    unsigned bytes;
    uint64_t min, max, default_value;
    bool zero;
};

constexpr Option kOptions[] = {
    {TCA_PFQD_LIMIT, "limit", 4, 1, 1 << 30, 33554432, false},
    {TCA_PFQD_MEMLIMIT, "memlimit", 4, 1, 1 << 30, 33554432, false},
    {TCA_PFQD_FLOWS, "flows", 4, 1, 1 << 20, 65536, false},
    {TCA_PFQD_QUANTUM, "quantum", 4, 256, 1 << 20, 1514, true},
    {TCA_PFQD_DEMOTE, "demote", 4, 1, 60'000'000, 5000, false},
    {TCA_PFQD_CONTROL, "control", 4, 1, 1024, 8, false},
    {TCA_PFQD_BUDGET, "budget", 4, 1, 1'000'000, 5000, false},
    {TCA_PFQD_BUDGET_SHORT, "short", 4, 1, 1'000'000, 20, false},
    {TCA_PFQD_BUDGET_LONG, "long", 4, 1, 1'000'000, 5000, false},
    {TCA_PFQD_ECN, "ecn", 1, 0, 1, 1, false},
    {TCA_PFQD_RATE, "rate", 8, 1000, 1'000'000'000'000, 0, true},
    {TCA_PFQD_SPLIT_GSO, "split_gso", 1, 0, 1, 0, false},
    {TCA_PFQD_COMPLETION, "completion", 1, 0, 2, 2, false},
    {TCA_PFQD_STAMP, "stamp", 1, 0, 3, 2, false},
};

uint64_t value_of(const nlattr* attr, unsigned bytes) {
    uint64_t value = 0;
    if (!attr || nla_len(attr) != static_cast<int>(bytes))
        throw std::runtime_error("an option of another width than documented");
    std::memcpy(&value, nla_data(attr), bytes);
    return value;
}

using Values = std::vector<uint64_t>;  // in the order of kOptions

Values options_of(const Port& port) {
    const std::vector<uint8_t> options = port.stats().qdisc.options;
    Values values;
    for (const Option& option : kOptions)
        values.push_back(value_of(find_in(options, option.attr), option.bytes));
    return values;
}

std::string text(const Values& values) {
    return fmt::format("{}", fmt::join(values, " "));
}

void put(nl::Message& message, const Option& option, uint64_t value) {
    message.put(option.attr, &value, option.bytes);  // little endian, as all that UML runs on
}

// Requests with the value that a function chooses for each option.
QdiscOptions all_options(const std::function<uint64_t(const Option&)>& choose) {
    return [=](nl::Message& message) {
        auto nest = message.nest(TCA_OPTIONS);
        for (const Option& option : kOptions) put(message, option, choose(option));
    };
}

QdiscOptions one_option(const Option& option, uint64_t value) {
    return [=](nl::Message& message) {
        auto nest = message.nest(TCA_OPTIONS);
        put(message, option, value);
    };
}

Values values_of(const std::function<uint64_t(const Option&)>& choose) {
    Values values;
    for (const Option& option : kOptions) values.push_back(choose(option));
    return values;
}

uint64_t default_of(const Option& option) {
    return option.default_value;
}

// Some value that is neither the default nor at an end.
uint64_t other_of(const Option& option) {
    if (option.max <= 3) return option.default_value ? 0 : 1;
    return option.min + (option.max - option.min) / 7;
}

void test_defaults(Tap& tap) {
    Port port;
    tap.is("the design's table", text(options_of(port)), text(values_of(default_of)));
    Port jumbo({.mtu = 9000});
    tap.is("the quantum is one full frame of the device", options_of(jumbo).at(3), 9014u);
    Port tiny({.mtu = 68});
    tap.is("at least 256 B", options_of(tiny).at(3), 256u);
    tap.is("nothing beyond what is documented", std::size(kOptions) + 1, size_t{TCA_PFQD_MAX});
}

void test_set_and_change(Tap& tap) {
    Port port;
    set_qdisc(port.far_end(), "pfqd", all_options(other_of));
    change_qdisc(port.end(), "pfqd", all_options(other_of));
    tap.is("all changed at once", text(options_of(port)), text(values_of(other_of)));
    change_qdisc(port.end(), "pfqd", pfqd_options({}));
    tap.is("an empty change changes nothing", text(options_of(port)), text(values_of(other_of)));
    for (size_t i = 0; i < std::size(kOptions); i++) {
        const Option& option = kOptions[i];
        change_qdisc(port.end(), "pfqd", one_option(option, option.max));
        Values expected = values_of(other_of);
        expected[i] = option.max;
        tap.is(fmt::format("only {} changed", option.name), text(options_of(port)), text(expected));
        change_qdisc(port.end(), "pfqd", one_option(option, other_of(option)));
    }
    change_qdisc(port.end(), "pfqd", pfqd_options({.quantum = 0, .rate = 0}));
    tap.is("quantum 0: back to one frame", options_of(port).at(3), 1514u);
    tap.is("rate 0: back to finding out", port.stats().rate_source != PFQD_RATE_OPTION, true);
}

void test_edges(Tap& tap) {
    Port port;
    change_qdisc(port.end(), "pfqd", all_options([](const Option& option) { return option.min; }));
    tap.is("smallest", text(options_of(port)),
           text(values_of([](const Option& option) { return option.min; })));
    port.hold();
    for (const char flow : std::string("ABC")) port.queue_data(flow, 0, 3);
    port.drain();
    check_empty(tap, port.stats());
    change_qdisc(port.end(), "pfqd", all_options([](const Option& option) { return option.max; }));
    tap.is("largest", text(options_of(port)),
           text(values_of([](const Option& option) { return option.max; })));
    port.hold();
    for (const char flow : std::string("DEF")) port.queue_data(flow, 0, 3);
    tap.is("a turn is as long as the quantum", joined(port.drain()), "D0 D1 D2 E0 E1 E2 F0 F1 F2");
    check_empty(tap, port.stats());
}

// Sends the options; the kernel has to refuse them, with that text in its reason.
void refused(Tap& tap, Port& port, const std::string& what, const QdiscOptions& options,
             const std::string& word) {
    const Values before = options_of(port);
    for (const bool create : {false, true}) {
        std::string reason = "accepted";
        int code = 0;
        try {
            if (create)
                set_qdisc(port.far_end(), "pfqd", options);
            else
                change_qdisc(port.end(), "pfqd", options);
        } catch (const nl::NetlinkError& error) {
            reason = error.what();
            code = error.code();
        }
        const std::string name = what + (create ? " at creation" : " at change");
        tap.ok(code == EINVAL || code == ERANGE, name + " is refused");
        if (!tap.ok(reason.find(word) != std::string::npos, name + " with a reason")) tap.diag(reason);
    }
    tap.is(what + " changes nothing", text(options_of(port)), text(before));
}

QdiscOptions raw_option(int attr, const std::vector<uint8_t>& bytes) {
    return [=](nl::Message& message) {
        auto nest = message.nest(TCA_OPTIONS);
        message.put(attr, bytes.data(), bytes.size());
    };
}

// "name: min .. max" where the option has a range of numbers.
std::string accepted_text(const Option& option) {
    if (option.bytes == 1) return std::string("pfqd: ") + option.name + ": 0 ";
    return fmt::format("pfqd: {}: {} .. {}", option.name, option.min, option.max);
}

void test_out_of_range(Tap& tap) {
    Port port;
    for (const Option& option : kOptions) {
        tap.section(option.name);
        const uint64_t most = option.bytes == 8 ? ~0ull : (1ull << 8 * option.bytes) - 1;
        std::vector<uint64_t> values = {option.max + 1, most / 2 + 1, most};
        if (option.zero)
            values.insert(values.end(), {1, option.min - 1});
        else if (option.min)
            values.push_back(option.min - 1);
        for (const uint64_t value : values)
            refused(tap, port, std::to_string(value), one_option(option, value), accepted_text(option));
    }
}

void test_malformed(Tap& tap) {
    Port port;
    for (const Option& option : kOptions) {
        tap.section(option.name);
        for (const size_t bytes : {0u, 1u, 2u, 3u, 4u, 5u, 7u, 8u, 9u, 64u})
            if (bytes != option.bytes)
                refused(tap, port, fmt::format("{} bytes", bytes),
                        raw_option(option.attr, std::vector<uint8_t>(bytes, 1)), "");
    }
    tap.section("");
    const std::vector<uint8_t> one = {1, 0, 0, 0};
    refused(tap, port, "an unknown attribute", raw_option(TCA_PFQD_MAX + 1, one), "");
    refused(tap, port, "attribute 0", raw_option(TCA_PFQD_UNSPEC, one), "");
    refused(tap, port, "padding with something in it", raw_option(TCA_PFQD_PAD, one), "");
    refused(
        tap, port, "a number in place of the nest",
        [](nl::Message& message) { message.put_u32(TCA_OPTIONS | NLA_F_NESTED, 0xffffffff); }, "");
    refused(
        tap, port, "options that are not nested",
        [](nl::Message& message) {
            const uint32_t bytes[2] = {TCA_PFQD_LIMIT << 16 | 8, 1000};
            message.put(TCA_OPTIONS, bytes, sizeof(bytes));
        },
        "");
}

// One good option does not pass because a bad one comes later, or earlier.
void test_all_or_nothing(Tap& tap) {
    Port port;
    refused(tap, port, "good limit, bad control", pfqd_options({.limit = 5000, .control = 0}), "control");
    refused(tap, port, "bad limit, good control", pfqd_options({.limit = 0, .control = 4}), "limit");
    refused(tap, port, "good budget, bad rate", pfqd_options({.budget = 1, .rate = 999}), "rate");
    refused(tap, port, "bad quantum, good flags", pfqd_options({.quantum = 255, .ecn = 0}), "quantum");
    tap.is("the qdisc is as it was made", text(options_of(port)), text(values_of(default_of)));
    port.hold();
    port.queue_data('A', 0, 3);
    tap.is("and works", joined(port.drain()), "A0 A1 A2");
}

// `completion`: the interface's word counts, else the module's.
void test_switch(Tap& tap) {
    Port port;
    const std::string parameter = "/sys/module/sch_pfqd/parameters/completion";
    const auto effective = [&](uint32_t on, uint32_t source, const std::string& when) {
        const PfqdStats stats = port.stats();
        tap.is("completion " + when, stats.completion, on);
        tap.is("and where that is from", stats.completion_source, source);
    };
    effective(0, PFQD_SWITCH_INHERIT, "is off by default");
    write_text(parameter, "Y");
    effective(1, PFQD_SWITCH_INHERIT, "follows the module at once");
    change_qdisc(port.end(), "pfqd", pfqd_options({.completion = PFQD_SWITCH_OFF}));
    effective(0, PFQD_SWITCH_OFF, "is off where the interface says so");
    write_text(parameter, "N");
    change_qdisc(port.end(), "pfqd", pfqd_options({.completion = PFQD_SWITCH_ON}));
    effective(1, PFQD_SWITCH_ON, "is on where the interface says so");
    change_qdisc(port.end(), "pfqd", pfqd_options({.completion = PFQD_SWITCH_INHERIT}));
    effective(0, PFQD_SWITCH_INHERIT, "follows the module again");
}

}  // namespace

int main() {
    return run_tests({{"defaults", test_defaults},
                      {"set and change", test_set_and_change},
                      {"edges", test_edges},
                      {"out of range", test_out_of_range},
                      {"malformed", test_malformed},
                      {"all or nothing", test_all_or_nothing},
                      {"switch", test_switch}});
}
