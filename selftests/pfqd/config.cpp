// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
//
// Options: defaults, change, and every way to get them wrong. A refused request
// says why, in words, and changes nothing.
#include <fmt/ranges.h>

#include <cerrno>

#include "selftests/pfqd/port.hpp"

using namespace pfqd::selftest;
namespace nl = pfqd::nl;

namespace {

using Values = std::vector<uint32_t>;  // in the order of TCA_PFQD_*, from LIMIT on

Values options_of(const Port& port) {
    const std::vector<uint8_t> options = port.stats().qdisc.options;
    Values values;
    for (int attr = TCA_PFQD_LIMIT; attr <= TCA_PFQD_CONTROL; attr++)
        values.push_back(nl::attr_u32(find_in(options, attr)));
    return values;
}

std::string text(const Values& values) {
    return fmt::format("{}", fmt::join(values, " "));
}

void test_defaults(Tap& tap) {
    Port port;
    tap.is("limit memlimit flows quantum demote control", text(options_of(port)),
           "33554432 33554432 65536 1514 5000 8");
    Port jumbo({.mtu = 9000});
    tap.is("the quantum is one full frame of the device", options_of(jumbo).at(3), 9014u);
    Port tiny({.mtu = 68});
    tap.is("at least 256 B", options_of(tiny).at(3), 256u);
    tap.is("no attribute beyond those that are documented",
           nl::attr_u32(find_in(port.stats().qdisc.options, TCA_PFQD_MAX)), 8u);
}

void test_set_and_change(Tap& tap) {
    Port port({.pfqd = {.limit = 1'000'000,
                        .memlimit = 4'000'000,
                        .flows = 100,
                        .quantum = 3000,
                        .demote = 500,
                        .control = 16}});
    tap.is("set at creation", text(options_of(port)), "1000000 4000000 100 3000 500 16");
    change_qdisc(port.end(), "pfqd", pfqd_options({.demote = 50'000}));
    tap.is("one changed, the others keep theirs", text(options_of(port)),
           "1000000 4000000 100 3000 50000 16");
    change_qdisc(port.end(), "pfqd", pfqd_options({}));
    tap.is("an empty change changes nothing", text(options_of(port)), "1000000 4000000 100 3000 50000 16");
}

void test_edges(Tap& tap) {
    Port port({.pfqd = {.limit = 1, .memlimit = 1, .flows = 1, .quantum = 256, .demote = 1, .control = 1}});
    tap.is("smallest", text(options_of(port)), "1 1 1 256 1 1");
    port.hold();
    for (const char flow : std::string("ABC")) port.queue_data(flow, 0, 3);
    port.drain();
    check_empty(tap, port.stats());
    change_qdisc(port.end(), "pfqd",
                 pfqd_options({.limit = 1 << 30,
                               .memlimit = 1 << 30,
                               .flows = 1 << 20,
                               .quantum = 1 << 20,
                               .demote = 60'000'000,
                               .control = 1024}));
    tap.is("largest", text(options_of(port)), "1073741824 1073741824 1048576 1048576 60000000 1024");
    port.hold();
    for (const char flow : std::string("DEF")) port.queue_data(flow, 0, 3);
    tap.is("a turn is as long as the quantum", joined(port.drain()), "D0 D1 D2 E0 E1 E2 F0 F1 F2");
    check_empty(tap, port.stats());
}

// Sends the options; the kernel has to refuse them, with that word in its reason.
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

QdiscOptions u32_option(int attr, uint32_t value) {
    return [=](nl::Message& message) {
        auto nest = message.nest(TCA_OPTIONS);
        message.put_u32(attr, value);
    };
}

struct Range {
    int attr;
    const char* name;
    uint32_t min, max;
};

constexpr Range kRanges[] = {
    {TCA_PFQD_LIMIT, "limit", 1, 1 << 30},      {TCA_PFQD_MEMLIMIT, "memlimit", 1, 1 << 30},
    {TCA_PFQD_FLOWS, "flows", 1, 1 << 20},      {TCA_PFQD_QUANTUM, "quantum", 256, 1 << 20},
    {TCA_PFQD_DEMOTE, "demote", 1, 60'000'000}, {TCA_PFQD_CONTROL, "control", 1, 1024},
};

void test_out_of_range(Tap& tap) {
    Port port;
    for (const Range& range : kRanges) {
        tap.section(range.name);
        for (const uint32_t value : {range.min - 1, range.max + 1, 1u << 31, 0xffffffffu})
            refused(tap, port, std::to_string(value), u32_option(range.attr, value), range.name);
    }
}

void test_malformed(Tap& tap) {
    Port port;
    for (const Range& range : kRanges) {
        tap.section(range.name);
        refused(tap, port, "two bytes", raw_option(range.attr, {1, 2}), "");
        refused(tap, port, "eight bytes", raw_option(range.attr, {1, 2, 3, 4, 5, 6, 7, 8}), "");
        refused(tap, port, "no byte", raw_option(range.attr, {}), "");
    }
    tap.section("");
    refused(tap, port, "an unknown attribute", u32_option(TCA_PFQD_MAX + 1, 1), "");
    refused(tap, port, "attribute 0", u32_option(TCA_PFQD_UNSPEC, 1), "");
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
    tap.is("the qdisc is as it was made", text(options_of(port)), "33554432 33554432 65536 1514 5000 8");
    port.hold();
    port.queue_data('A', 0, 3);
    tap.is("and works", joined(port.drain()), "A0 A1 A2");
}

}  // namespace

int main() {
    return run_tests({{"defaults", test_defaults},
                      {"set and change", test_set_and_change},
                      {"edges", test_edges},
                      {"out of range", test_out_of_range},
                      {"malformed", test_malformed},
                      {"all or nothing", test_all_or_nothing}});
}
