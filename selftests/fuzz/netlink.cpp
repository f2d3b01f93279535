// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
//
// The netlink mutator: any root of a user namespace can send any bytes to the qdisc,
// so seeded random requests, right and wrong, go to a port that carries traffic.
//
//   netlink [SEED [COUNT]]     or PFQD_FUZZ_SEED and PFQD_FUZZ_COUNT
//
// After every request the whole state of the options is compared with what the uapi
// header promises (contract.hpp): refused, not one byte has changed and there is a
// reason in words; accepted, every option says what was asked, or what it said
// before. The port moves through all kinds of parents, the qdisc is deleted and made
// anew, the link goes down, its MTU changes, all with packets queued.
#include <netlink/msg.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <memory>

#include "selftests/fuzz/mutator.hpp"
#include "selftests/pfqd/parents.hpp"

using namespace pfqd::selftest;
namespace nl = pfqd::nl;

namespace {

constexpr uint64_t kDefaultCount = 10'000;
constexpr uint64_t kStay = 250;     // requests at one place
constexpr uint32_t kCrowd = 2'000;  // packets queued: time to let some go
constexpr unsigned kFailuresShown = 10;

uint64_t seed = 1;
uint64_t count = kDefaultCount;

struct Totals {
    uint64_t accepted = 0, refused = 0, open = 0, made = 0, deleted = 0, packets = 0, classes = 0;
    std::map<std::string, uint64_t> causes;
    uint64_t changed_when_refused = 0, wrong_verdict = 0, wrong_values = 0, without_reason = 0,
             wrong_reason = 0, wrong_counts = 0, over_limit = 0, wrong_classes = 0;
};

const Parent& root_parent() {
    static const Parent root = {"root", nullptr, TC_H_ROOT, {}};
    return root;
}

// One place for pfqd, and the model of what is there.
class Place {
  public:
    Place(Tap& tap, Mutator& mutator, Totals& totals, const Parent& parent)
        : tap_(tap), mutator_(mutator), totals_(totals), parent_(parent), inside_(port_.end().netns()) {
        if (parent.make) {
            delete_qdisc(port_.end());
            parent.make(port_.end());
        }
        port_.socket().set_priority(parent.make ? kClass : 0);
        set_qdisc(port_.end(), "pfqd", pfqd_options({}), {parent.leaf, handle_});
    }

    void step() {
        traffic();
        switch (mutator_.below(40)) {
            case 0:
                remove();
                break;
            case 1:
                flap();
                break;
            case 2:
                mtu_ = 68 + mutator_.below(9000);
                port_.end().change({.mtu = mtu_});
                break;
            case 3:
                check_classes();
                break;
            default:
                check_counts();
        }
        request();
    }

    // Everything leaves, and the books are closed.
    bool finish() {
        if (!present_) set_qdisc(port_.end(), "pfqd", pfqd_options({}), {parent_.leaf, handle_});
        port_.end().change({.rate = 100'000'000'000});
        port_.drain_frames();
        const PfqdStats stats = port_.stats(parent_.leaf);
        const bool empty =
            stats.qdisc.qlen == 0 && stats.qdisc.backlog == 0 && stats.memory == 0 && stats.flows_active == 0;
        if (!empty)
            tap_.diag(fmt::format(
                "left below {}: {} packets, {} bytes, {} of memory, {} flows; tiers {} {} {}", parent_.name,
                stats.qdisc.qlen, stats.qdisc.backlog, stats.memory, stats.flows_active,
                stats.tier[0].backlog_packets, stats.tier[1].backlog_packets, stats.tier[2].backlog_packets));
        return empty;
    }

  private:
    // --- what happens between requests ------------------------------------------

    void traffic() {
        if (mutator_.one_in(2)) return;
        for (uint32_t left = mutator_.below(12); left; left--) {
            FrameOptions frame;
            frame.ipv6 = mutator_.one_in(3);
            frame.protocol = mutator_.one_in(3) ? IPPROTO_UDP : IPPROTO_TCP;
            frame.source = mutator_.below(4);
            frame.sport = static_cast<uint16_t>(mutator_.below(mutator_.one_in(2) ? 4 : 60'000));
            // Headers of 74 bytes at most, and the MTU may be 68.
            if (mtu_ > 200) frame.payload = mutator_.below(std::min(mtu_ - 100, 1400u));
            if (frame.ipv6 && mtu_ < 200) frame.ipv6 = false;
            port_.queue(make_frame(frame));
            totals_.packets++;
        }
        if (mutator_.one_in(4)) sleep_ns(mutator_.below(1'000'000));
    }

    // Not below hfsc: in 6.1 its reset forgets to unlink a class from the list of those
    // that are eligible, and the class never sends again, whatever qdisc is below it.
    void flap() {
        if (std::string(parent_.name) == "hfsc") return;
        port_.set_up(false);
        port_.set_up(true);
        port_.end().wait_running();
    }

    void remove() {
        if (!present_) return;
        delete_qdisc(port_.end(), parent_.leaf);
        present_ = false;
        totals_.deleted++;
    }

    tcmsg header(uint32_t handle) const {
        tcmsg message{};
        message.tcm_ifindex = port_.end().ifindex();
        message.tcm_parent = parent_.leaf;
        message.tcm_handle = handle;
        return message;
    }

    // --- the request, and the oracle ----------------------------------------------

    void request() {
        const Bytes attributes = mutator_.request();
        uint16_t flags = 0;
        uint32_t handle = mutator_.one_in(4) ? 0 : handle_;
        bool fresh = false;
        if (!present_) {
            flags = NLM_F_CREATE | (mutator_.one_in(2) ? NLM_F_EXCL : NLM_F_REPLACE);
            handle = handle_;
            fresh = true;
        } else if (mutator_.one_in(8)) {
            // another handle: a new qdisc takes the place of this one
            flags = NLM_F_CREATE | NLM_F_REPLACE;
            handle = handle_ ^ 0x800000;
            fresh = true;
        } else if (mutator_.one_in(4)) {
            flags = NLM_F_CREATE | NLM_F_REPLACE;
        }
        const Expectation expected = expect(attributes, fresh ? default_values() : values_);
        const Bytes before = dump();
        const NetlinkAnswer answer = socket_.request(RTM_NEWQDISC, flags, header(handle), attributes);
        if (answer.error)
            refused(expected, answer, before);
        else
            accepted(expected, fresh, handle);
    }

    void refused(const Expectation& expected, const NetlinkAnswer& answer, const Bytes& before) {
        totals_.refused++;
        totals_.causes[answer.text.empty() ? "(no reason)" : answer.text]++;
        if (expected.verdict == Verdict::open) totals_.open++;
        if (expected.verdict == Verdict::accept) wrong(totals_.wrong_verdict, "refused: " + answer.text);
        const Bytes after = dump();
        if (expected.core_late)
            adopt(before, after, expected);
        else if (after != before)
            wrong(totals_.changed_when_refused, "a refused request changed something: " + answer.text);
        if (expected.verdict != Verdict::refuse || !expected.core_late) check_reason(expected, answer);
    }

    void check_reason(const Expectation& expected, const NetlinkAnswer& answer) {
        if (expected.verdict == Verdict::refuse && answer.text.empty())
            wrong(totals_.without_reason, fmt::format("errno {} without a reason", answer.error));
        if (expected.names.empty()) return;
        for (const std::string& name : expected.names)
            if (answer.text.starts_with("pfqd: " + name + ": ") && answer.text.size() > name.size() + 8)
                return;
        wrong(totals_.wrong_reason, expected.names.front() + " was refused as: " + answer.text);
    }

    void accepted(const Expectation& expected, bool fresh, uint32_t handle) {
        totals_.accepted++;
        totals_.made += fresh;
        if (expected.verdict == Verdict::open) totals_.open++;
        if (expected.verdict == Verdict::refuse)
            wrong(totals_.wrong_verdict,
                  "accepted: " + (expected.names.empty() ? "foreign bytes" : expected.names.front()));
        present_ = true;
        if (fresh) handle_ = handle;
        values_ = expected.values;
        check_values(dump());
    }

    // The core may have made the change before it refused: all of it, or nothing.
    void adopt(const Bytes& before, const Bytes& after, const Expectation& expected) {
        if (after == before) return;
        values_ = expected.values;
        check_values(after);
    }

    void check_values(const Bytes& dump) {
        for (size_t i = 0; i < kOptions.size(); i++) {
            const uint64_t value = dumped(dump, kOptions[i]);
            const uint64_t want =
                kOptions[i].attr == TCA_PFQD_QUANTUM && !values_[i] ? one_mtu() : values_[i];
            if (value != want || !in_range(kOptions[i], value))
                wrong(totals_.wrong_values, fmt::format("{} is {}, want {}", kOptions[i].name, value, want));
        }
    }

    uint64_t one_mtu() const {
        return std::clamp<uint64_t>(mtu_ + ETH_HLEN, PFQD_QUANTUM_MIN, PFQD_QUANTUM_MAX);
    }

    // The payload of TCA_OPTIONS; nothing when there is no pfqd.
    Bytes dump() {
        Bytes options;
        socket_.dump(RTM_GETQDISC, tcmsg{}, [&](const nlmsghdr& message) {
            const auto* tc = static_cast<const tcmsg*>(nlmsg_data(&message));
            if (tc->tcm_ifindex != port_.end().ifindex() || tc->tcm_parent != parent_.leaf ||
                nl::attr_string(nl::find_attr(message, sizeof(tcmsg), TCA_KIND)) != "pfqd")
                return;
            const nlattr* nest = nl::find_attr(message, sizeof(tcmsg), TCA_OPTIONS);
            if (!nest) return;
            const auto* data = static_cast<const uint8_t*>(nla_data(nest));
            options.assign(data, data + nla_len(nest));
        });
        return options;
    }

    static uint64_t dumped(const Bytes& options, const Option& option) {
        const nlattr* attr = find_in(options, option.attr);
        uint64_t value = 0;
        if (!attr || nla_len(attr) != static_cast<int>(option.bytes)) return UINT64_MAX;
        std::memcpy(&value, nla_data(attr), option.bytes);
        return value;
    }

    // --- the books ------------------------------------------------------------------

    void check_counts() {
        if (!present_ || !mutator_.one_in(4)) return;
        const PfqdStats stats = port_.stats(parent_.leaf);
        uint32_t packets = 0, bytes = 0;
        for (const TierStats& tier : stats.tier) {
            packets += tier.backlog_packets;
            bytes += tier.backlog_bytes;
        }
        const uint32_t parked = stats.qdisc.qlen - packets;
        if (parked > 1 || (!parked && bytes != stats.qdisc.backlog))
            wrong(totals_.wrong_counts, fmt::format("qlen {} is not {} in tiers", stats.qdisc.qlen, packets));
        for (const uint32_t above : parent_.above) {
            const QdiscStats upper = qdisc_stats(port_.end(), above);
            if (upper.qlen != stats.qdisc.qlen || upper.backlog != stats.qdisc.backlog)
                wrong(totals_.wrong_counts,
                      fmt::format("{} has {} packets, pfqd {}", upper.kind, upper.qlen, stats.qdisc.qlen));
        }
        if (packets > 2 && (bytes > values_[0] || stats.memory > values_[1]))
            wrong(totals_.over_limit, fmt::format("{} bytes, {} of memory queued", bytes, stats.memory));
        if (stats.qdisc.qlen > kCrowd) sleep_ns(kCrowd * kFrameNs);
    }

    // As many classes as flows. Reading takes a few nanoseconds of virtual time, in which
    // a parent's timer may come: then the dump lies between what was before and after.
    void check_classes() {
        if (!present_) return;
        const PfqdStats stats = port_.stats(parent_.leaf);
        uint32_t rows = 0;
        tcmsg device{};
        device.tcm_ifindex = port_.end().ifindex();
        socket_.dump(RTM_GETTCLASS, device, [&](const nlmsghdr& message) {
            const auto* tc = static_cast<const tcmsg*>(nlmsg_data(&message));
            rows += TC_H_MAJ(tc->tcm_handle) == handle_;
        });
        totals_.classes += rows;
        const uint32_t after = port_.stats(parent_.leaf).flows_active;
        const auto [least, most] = std::minmax(stats.flows_active, after);
        if (rows < least || rows > most)
            wrong(totals_.wrong_classes, fmt::format("{} classes, {} to {} flows", rows, least, most));
    }

    void wrong(uint64_t& counter, const std::string& text) {
        if (counter++ < kFailuresShown)
            tap_.diag(
                fmt::format("at {} below {}: {}", totals_.accepted + totals_.refused, parent_.name, text));
    }

    Tap& tap_;
    Mutator& mutator_;
    Totals& totals_;
    const Parent& parent_;
    Port port_;
    In inside_;
    RawNetlink socket_;
    bool present_ = true;
    uint32_t handle_ = kLeaf;
    uint32_t mtu_ = 1500;
    Values values_ = default_values();
};

void print_totals(Tap& tap, const Totals& totals) {
    tap.diag(
        fmt::format("{} requests: {} accepted ({} made a qdisc), {} refused, {} of them left open by the "
                    "interface; {} deletions, {} packets, {} classes",
                    totals.accepted + totals.refused, totals.accepted, totals.made, totals.refused,
                    totals.open, totals.deleted, totals.packets, totals.classes));
    for (const auto& [cause, times] : totals.causes) tap.diag(fmt::format("refused {:>7}: {}", times, cause));
}

void test_mutations(Tap& tap) {
    tap.diag(fmt::format("seed {}, {} requests", seed, count));
    Mutator mutator(seed);
    Totals totals;
    uint64_t unclean = 0;
    for (uint64_t done = 0; done < count;) {
        const uint32_t choice = mutator.below(static_cast<uint32_t>(parents().size()) + 3);
        Place place(tap, mutator, totals, choice < parents().size() ? parents()[choice] : root_parent());
        for (uint64_t i = 0; i < kStay && done < count; i++, done++) place.step();
        unclean += !place.finish();
    }
    print_totals(tap, totals);
    tap.is("a refused request changes nothing", totals.changed_when_refused, 0u);
    tap.is("what the interface promises is accepted or refused as promised", totals.wrong_verdict, 0u);
    tap.is("accepted, each option has the value asked for or the one it had", totals.wrong_values, 0u);
    tap.is("each refusal has a reason", totals.without_reason, 0u);
    tap.is("it names the option that is at fault", totals.wrong_reason, 0u);
    tap.is("packets and bytes agree in tiers, qdisc and parents", totals.wrong_counts, 0u);
    tap.is("limits hold under every change", totals.over_limit, 0u);
    tap.is("as many classes as backlogged flows", totals.wrong_classes, 0u);
    tap.is("at the end of each place all packets leave", unclean, 0u);
    tap.is("every request was judged", totals.accepted + totals.refused, count);
    // The mutator must reach both sides of each option.
    if (count < kDefaultCount / 10) return;
    tap.ok(totals.accepted > count / 5, "many requests were accepted");
    for (const Option& option : kOptions) {
        uint64_t times = 0;
        for (const auto& [cause, number] : totals.causes)
            if (cause.starts_with(fmt::format("pfqd: {}: ", option.name))) times += number;
        tap.ok(times > 0, fmt::format("{} was refused", option.name));
    }
}

uint64_t number_from(int argc, char** argv, int index, const char* variable, uint64_t fallback) {
    const char* text = argc > index ? argv[index] : std::getenv(variable);
    return text ? std::strtoull(text, nullptr, 0) : fallback;
}

}  // namespace

int main(int argc, char** argv) {
    seed = number_from(argc, argv, 1, "PFQD_FUZZ_SEED", seed);
    count = number_from(argc, argv, 2, "PFQD_FUZZ_COUNT", kDefaultCount);
    return run_tests({{"mutations", test_mutations}});
}
