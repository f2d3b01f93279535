// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
//
// What the uapi header promises about a request, computed from its bytes alone: is
// it to be refused, and in which words; if not, what do the options say afterwards?
//
// Attributes are walked the way the netlink documentation has it. What is beyond
// pfqd (a request whose outer attributes are themselves broken) is left open: the
// core may refuse it or not, and the answer then has to fit what the dump says.
#pragma once

#include <linux/pkt_sch_pfqd.h>
#include <linux/rtnetlink.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "selftests/lib/frame.hpp"

namespace pfqd::selftest {

struct Option {
    int attr;
    const char* name;  // in the text of a refusal
    unsigned bytes;
    uint64_t min, max, default_value;
    bool zero;  // 0 has a meaning of its own
};

inline constexpr std::array kOptions = {
    Option{TCA_PFQD_LIMIT, "limit", 4, PFQD_LIMIT_MIN, PFQD_LIMIT_MAX, PFQD_LIMIT_DEFAULT, false},
    Option{TCA_PFQD_MEMLIMIT, "memlimit", 4, PFQD_MEMLIMIT_MIN, PFQD_MEMLIMIT_MAX, PFQD_MEMLIMIT_DEFAULT,
           false},
    Option{TCA_PFQD_FLOWS, "flows", 4, PFQD_FLOWS_MIN, PFQD_FLOWS_MAX, PFQD_FLOWS_DEFAULT, false},
    Option{TCA_PFQD_QUANTUM, "quantum", 4, PFQD_QUANTUM_MIN, PFQD_QUANTUM_MAX, PFQD_QUANTUM_DEFAULT, true},
    Option{TCA_PFQD_DEMOTE, "demote", 4, PFQD_DEMOTE_MIN, PFQD_DEMOTE_MAX, PFQD_DEMOTE_DEFAULT, false},
    Option{TCA_PFQD_CONTROL, "control", 4, PFQD_CONTROL_MIN, PFQD_CONTROL_MAX, PFQD_CONTROL_DEFAULT, false},
    Option{TCA_PFQD_BUDGET, "budget", 4, PFQD_BUDGET_MIN, PFQD_BUDGET_MAX, PFQD_BUDGET_DEFAULT, false},
    Option{TCA_PFQD_BUDGET_SHORT, "short", 4, PFQD_BUDGET_MIN, PFQD_BUDGET_MAX, PFQD_BUDGET_SHORT_DEFAULT,
           false},
    Option{TCA_PFQD_BUDGET_LONG, "long", 4, PFQD_BUDGET_MIN, PFQD_BUDGET_MAX, PFQD_BUDGET_LONG_DEFAULT,
           false},
    Option{TCA_PFQD_ECN, "ecn", 1, 0, 1, PFQD_ECN_DEFAULT, false},
    Option{TCA_PFQD_RATE, "rate", 8, PFQD_RATE_MIN, PFQD_RATE_MAX, PFQD_RATE_DEFAULT, true},
    Option{TCA_PFQD_SPLIT_GSO, "split_gso", 1, 0, 1, PFQD_SPLIT_GSO_DEFAULT, false},
    Option{TCA_PFQD_COMPLETION, "completion", 1, 0, PFQD_SWITCH_INHERIT, PFQD_COMPLETION_DEFAULT, false},
    Option{TCA_PFQD_STAMP, "stamp", 1, 0, PFQD_SWITCH_LOCAL, PFQD_STAMP_DEFAULT, false},
};
// Less UNSPEC and PAD, no attribute without a line above.
static_assert(kOptions.size() + 1 == TCA_PFQD_MAX);

using Values = std::array<uint64_t, kOptions.size()>;

inline Values default_values() {
    Values values{};
    for (size_t i = 0; i < kOptions.size(); i++) values[i] = kOptions[i].default_value;
    return values;
}

inline bool in_range(const Option& option, uint64_t value) {
    return (option.zero && value == 0) || (option.min <= value && value <= option.max);
}

// --- attributes ----------------------------------------------------------------

struct Attribute {
    uint16_t type;  // with its flags
    Bytes payload;
    uint16_t number() const { return type & NLA_TYPE_MASK; }
};

struct Walk {
    std::vector<Attribute> attributes;
    bool leftover;  // bytes behind the last one that are no attribute
};

inline Walk walk(const Bytes& bytes) {
    Walk found{};
    size_t at = 0;
    while (at < bytes.size()) {
        const size_t left = bytes.size() - at;
        nlattr header;
        if (left < sizeof(header)) break;
        std::memcpy(&header, bytes.data() + at, sizeof(header));
        if (header.nla_len < sizeof(header) || header.nla_len > left) break;
        const auto* payload = bytes.data() + at + sizeof(header);
        found.attributes.push_back({header.nla_type, {payload, payload + header.nla_len - sizeof(header)}});
        at += NLA_ALIGN(header.nla_len);
    }
    found.leftover = at < bytes.size();
    return found;
}

// --- verdicts -------------------------------------------------------------------

enum class Verdict { accept, refuse, open };

struct Expectation {
    Verdict verdict = Verdict::accept;
    // The refusal names one of these; empty: it is not about a number of ours.
    std::vector<std::string> names{};
    Values values{};         // afterwards, if it is accepted
    bool core_late = false;  // the core may refuse after the change was made
};

inline const Option* option_of(uint16_t number, size_t* index) {
    for (size_t i = 0; i < kOptions.size(); i++)
        if (kOptions[i].attr == number) {
            *index = i;
            return &kOptions[i];
        }
    return nullptr;
}

// One attribute of the nest, onto what is expected so far.
inline void judge(const Attribute& attribute, Expectation& expected, bool& foreign) {
    size_t index = 0;
    const Option* option = option_of(attribute.number(), &index);
    if (!option || (attribute.type & NLA_F_NESTED)) {
        foreign = true;
        return;
    }
    // Nobody sends these numbers in network order; the header does not say what then.
    if (attribute.type & NLA_F_NET_BYTEORDER) expected.verdict = Verdict::open;
    uint64_t value = 0;
    const bool size_good = attribute.payload.size() == option->bytes;
    if (size_good) std::memcpy(&value, attribute.payload.data(), option->bytes);
    if (!size_good || !in_range(*option, value))
        expected.names.push_back(option->name);
    else
        expected.values[index] = value;
}

// A value that is refused and then set right by a repetition: quantum and rate have a
// gap in their range that no policy can express, and only the last one counts.
inline bool gap_only(const Attribute& attribute) {
    size_t index = 0;
    const Option* option = option_of(attribute.number(), &index);
    if (!option || !option->zero || attribute.payload.size() != option->bytes) return false;
    uint64_t value = 0;
    std::memcpy(&value, attribute.payload.data(), option->bytes);
    return value != 0 && value < option->min;
}

inline Expectation judge_nest(const Attribute& nest, const Values& before) {
    Expectation expected{.values = before};
    const Walk inside = walk(nest.payload);
    bool foreign = inside.leftover || !(nest.type & NLA_F_NESTED);
    for (size_t i = 0; i < inside.attributes.size(); i++) {
        const Attribute& one = inside.attributes[i];
        const bool last = std::none_of(
            inside.attributes.begin() + static_cast<std::ptrdiff_t>(i) + 1, inside.attributes.end(),
            [&](const Attribute& later) { return later.number() == one.number(); });
        if (gap_only(one) && !last && !(one.type & NLA_F_NESTED))
            expected.verdict = Verdict::open;
        else
            judge(one, expected, foreign);
    }
    if (foreign || !expected.names.empty()) expected.verdict = Verdict::refuse;
    if (foreign) expected.names.clear();  // whichever comes first is named
    return expected;
}

// `attributes` is what follows the tcmsg; `before` the options in force, or the
// defaults when the request makes the qdisc.
inline Expectation expect(const Bytes& attributes, const Values& before) {
    const Walk outer = walk(attributes);
    std::optional<Attribute> nest;
    bool others = false, stab = false;
    for (const Attribute& one : outer.attributes) {
        if (one.number() == TCA_OPTIONS)
            nest = one;
        else if (one.number() != TCA_KIND || &one != &outer.attributes.front())
            others = true;
        stab |= one.number() == TCA_STAB;
    }
    Expectation expected{.values = before};
    if (nest) expected = judge_nest(*nest, before);
    if (others && expected.verdict == Verdict::accept) expected.verdict = Verdict::open;
    if (others) expected.names.clear();
    expected.core_late = stab;
    return expected;
}

}  // namespace pfqd::selftest
