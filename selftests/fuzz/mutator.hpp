// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
//
// Option requests for pfqd, right ones and wrong ones. A request starts out right:
// some of the options, each with a value that is accepted. Then up to three
// mutations are applied to it, in the values, in the attributes, in the nest around
// them or in its bytes.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "lab/common/prng.hpp"
#include "selftests/fuzz/contract.hpp"
#include "selftests/lib/raw_netlink.hpp"

namespace pfqd::selftest {

class Mutator {
  public:
    explicit Mutator(uint64_t seed) : prng_(seed) {}

    // 0 .. count - 1
    uint32_t below(uint32_t count) { return static_cast<uint32_t>((prng_.bits() >> 32) * count >> 32); }
    bool one_in(uint32_t count) { return below(count) == 0; }

    // What follows the tcmsg.
    Bytes request() {
        Draft draft;
        for (const Option& option : kOptions)
            if (one_in(4)) draft.attributes.push_back(attribute(option, valid_value(option)));
        // Many requests are right: what a change does is under test too.
        for (uint32_t left = one_in(3) ? 0 : 1 + below(3); left; left--) mutate(draft);
        return bytes(draft);
    }

  private:
    struct Item {
        uint16_t type;
        Bytes payload;
        int claim = -1;  // of the length; -1: as it is
    };
    struct Draft {
        std::vector<Item> attributes;
        uint16_t nest_type = TCA_OPTIONS | NLA_F_NESTED;
        int nest_claim = -1;
        bool twice = false, absent = false, random = false;
        int cut = -1;   // the nest's content ends there
        int tail = 0;   // odd bytes behind it
        int flips = 0;  // bytes of it that are replaced
    };

    uint64_t value_bits(unsigned bytes) {
        const uint64_t bits = prng_.bits();
        return bytes == 8 ? bits : bits & ((1ull << 8 * bytes) - 1);
    }

    uint64_t valid_value(const Option& option) {
        switch (below(option.zero ? 5 : 4)) {
            case 0:
                return option.min;
            case 1:
                return option.max;
            case 2:
                return option.default_value;
            case 3:
                return option.min + prng_.bits() % (option.max - option.min + 1);
            default:
                return 0;
        }
    }

    uint64_t edge_value(const Option& option) {
        const uint64_t edges[] = {
            0,         1,          option.min - 1, option.min, option.max, option.max + 1,
            INT32_MAX, 1ull << 31, UINT32_MAX,     1ull << 63, UINT64_MAX, prng_.bits()};
        return edges[below(std::size(edges))];
    }

    static Item attribute(const Option& option, uint64_t value) {
        Bytes payload = bytes_of(value);
        payload.resize(option.bytes);
        return {static_cast<uint16_t>(option.attr), payload};
    }

    Bytes random_bytes(size_t size) {
        Bytes bytes(size);
        for (uint8_t& byte : bytes) byte = static_cast<uint8_t>(prng_.bits());
        return bytes;
    }

    const Option& any_option() { return kOptions[below(kOptions.size())]; }

    // One of the draft's attributes; there is one afterwards.
    Item& any_item(Draft& draft) {
        if (draft.attributes.empty()) {
            const Option& option = any_option();
            draft.attributes.push_back(attribute(option, valid_value(option)));
        }
        return draft.attributes[below(static_cast<uint32_t>(draft.attributes.size()))];
    }

    void insert(Draft& draft, Item item) {
        const uint32_t at = below(static_cast<uint32_t>(draft.attributes.size()) + 1);
        draft.attributes.insert(draft.attributes.begin() + at, std::move(item));
    }

    // In half of all mutations a value or a size: those are what pfqd itself refuses.
    void mutate(Draft& draft) {
        switch (below(4)) {
            case 0: {
                const Option& option = any_option();
                insert(draft, attribute(option, edge_value(option)));
                break;
            }
            case 1:
                any_item(draft).payload = random_bytes(wrong_size());
                break;
            case 2:
                mutate_attributes(draft);
                break;
            default:
                mutate_nest(draft);
        }
    }

    size_t wrong_size() {
        constexpr size_t kSizes[] = {0, 1, 2, 3, 5, 8, 9, 64, 4096};
        return one_in(64) ? UINT16_MAX - 2 * sizeof(nlattr) : kSizes[below(std::size(kSizes))];
    }

    void mutate_attributes(Draft& draft) {
        switch (below(4)) {
            case 0: {  // unknown, or none
                constexpr uint16_t kTypes[] = {TCA_PFQD_UNSPEC, TCA_PFQD_PAD, TCA_PFQD_MAX + 1, 64, 255,
                                               0x3fff};
                insert(draft, {kTypes[below(std::size(kTypes))], random_bytes(below(3) * 4)});
                break;
            }
            case 1: {  // repeated, with another value
                const Item again = any_item(draft);
                size_t index = 0;
                if (const Option* option = option_of(again.type, &index))
                    insert(draft, attribute(*option, edge_value(*option)));
                break;
            }
            case 2:  // a nest it is not, or of another byte order
                any_item(draft).type |= one_in(2) ? NLA_F_NESTED : NLA_F_NET_BYTEORDER;
                break;
            default: {  // a length that is not the payload's
                Item& item = any_item(draft);
                const int real = static_cast<int>(sizeof(nlattr) + item.payload.size());
                const int claims[] = {0, 1, 3, 4, 5, 7, 12, real - 1, real + 1, real + 4, UINT16_MAX};
                item.claim = std::min<int>(claims[below(std::size(claims))], UINT16_MAX);
            }
        }
    }

    void mutate_nest(Draft& draft) {
        switch (below(8)) {
            case 0:
                draft.nest_type = TCA_OPTIONS;
                break;
            case 1:
                draft.nest_type |= NLA_F_NET_BYTEORDER;
                break;
            case 2: {
                constexpr int kClaims[] = {0, 1, 3, 4, 5, 8, 12, 20, 36, 1000, UINT16_MAX};
                draft.nest_claim = kClaims[below(std::size(kClaims))];
                break;
            }
            case 3:
                draft.twice = true;
                break;
            case 4:
                draft.absent = one_in(4);
                break;
            case 5:
                draft.random = true;
                break;
            case 6:
                draft.cut = static_cast<int>(below(40));
                break;
            default:
                draft.tail = static_cast<int>(below(6));
                draft.flips = static_cast<int>(below(3));
        }
    }

    Bytes content(const Draft& draft) {
        Bytes bytes;
        if (draft.random) return random_bytes(below(257));
        for (const Item& item : draft.attributes) {
            if (item.claim < 0)
                put_attr(bytes, item.type, item.payload);
            else
                put_attr(bytes, item.type, item.payload, static_cast<uint16_t>(item.claim));
        }
        if (draft.cut >= 0 && static_cast<size_t>(draft.cut) < bytes.size())
            bytes.resize(static_cast<size_t>(draft.cut));
        for (int i = 0; i < draft.tail; i++) bytes.push_back(static_cast<uint8_t>(prng_.bits()));
        for (int i = 0; i < draft.flips && !bytes.empty(); i++)
            bytes[below(static_cast<uint32_t>(bytes.size()))] = static_cast<uint8_t>(prng_.bits());
        return bytes;
    }

    Bytes bytes(const Draft& draft) {
        Bytes out;
        const std::string kind = "pfqd";
        put_attr(out, TCA_KIND, {kind.c_str(), kind.c_str() + kind.size() + 1});
        if (draft.absent) return out;
        const Bytes inside = content(draft);
        if (draft.twice) put_attr(out, draft.nest_type, random_bytes(8));
        if (draft.nest_claim < 0)
            put_attr(out, draft.nest_type, inside);
        else
            put_attr(out, draft.nest_type, inside, static_cast<uint16_t>(draft.nest_claim));
        return out;
    }

    lab::Prng prng_;
};

}  // namespace pfqd::selftest
