// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
#include "lab/host/qdisc_bench_report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <stdexcept>
#include <vector>

#include "lab/host/table.hpp"

namespace pfqd::lab {

namespace {

using Values = std::vector<double>;

constexpr std::array kOrder = {"pfqd", "fq", "fq+", "fq_codel", "cake", "pfifo"};

// Linear between the two nearest ranks.
double quantile(Values values, double p) {
    if (values.empty()) throw std::runtime_error("the bench measured no round");
    std::sort(values.begin(), values.end());
    const double at = p * static_cast<double>(values.size() - 1);
    const auto low = static_cast<size_t>(at);
    const size_t high = std::min(low + 1, values.size() - 1);
    return values[low] + (values[high] - values[low]) * (at - static_cast<double>(low));
}

nlohmann::json spread(const Values& values) {
    return {{"median", quantile(values, 0.5)},
            {"q1", quantile(values, 0.25)},
            {"q3", quantile(values, 0.75)},
            {"min", quantile(values, 0)},
            {"max", quantile(values, 1)}};
}

Values sums(const nlohmann::json& qdisc) {
    const auto enqueue = qdisc.at("enqueue_ns").get<Values>();
    const auto dequeue = qdisc.at("dequeue_ns").get<Values>();
    Values out;
    for (size_t i = 0; i < enqueue.size(); i++) out.push_back(enqueue[i] + dequeue.at(i));
    return out;
}

Values ratios(const Values& values, const Values& base) {
    Values out;
    for (size_t i = 0; i < values.size(); i++) out.push_back(values[i] / base.at(i));
    return out;
}

nlohmann::json summarize_group(const nlohmann::json& group) {
    nlohmann::json out = group;
    const nlohmann::json& qdiscs = group.at("qdiscs");
    const Values fq = sums(qdiscs.at("fq")), fq_wide = sums(qdiscs.at("fq+"));
    for (auto& [name, qdisc] : out.at("qdiscs").items()) {
        const Values sum = sums(qdisc);
        qdisc["enqueue"] = spread(qdisc.at("enqueue_ns"));
        qdisc["dequeue"] = spread(qdisc.at("dequeue_ns"));
        qdisc["sum"] = spread(sum);
        qdisc["ratio_fq"] = spread(ratios(sum, fq));
        qdisc["ratio_fq_wide"] = spread(ratios(sum, fq_wide));
    }
    return out;
}

std::string with_spread(const nlohmann::json& value) {
    return fmt::format("{:.0f} ±{:.0f}", value.at("median").get<double>(),
                       (value.at("q3").get<double>() - value.at("q1").get<double>()) / 2);
}

std::string ratio_text(const nlohmann::json& value) {
    return fmt::format("{:.2f} ({:.2f}-{:.2f})", value.at("median").get<double>(),
                       value.at("q1").get<double>(), value.at("q3").get<double>());
}

std::string shape_text(const nlohmann::json& group) {
    const auto flows = group.at("flows").get<uint32_t>(), packets = group.at("packets").get<uint32_t>();
    const auto burst = group.at("burst").get<uint32_t>();
    std::string text = fmt::format("{} x {}", flows, packets / flows);
    if (burst > 1) text += fmt::format(" by {}", burst);
    return text;
}

std::string costs_table(const nlohmann::json& summary) {
    Table table({{"flows x", "packets", Table::Align::left},
                 {"", "packets are", Table::Align::left},
                 {"", "qdisc", Table::Align::left},
                 {"ns per", "enqueue"},
                 {"ns per", "dequeue"},
                 {"", "both"},
                 {"ratio", "to fq"},
                 {"ratio", "to fq+"}});
    for (const nlohmann::json& group : summary.at("groups")) {
        table.separate();
        for (const char* name : kOrder) {
            const nlohmann::json& qdisc = group.at("qdiscs").at(name);
            table.add({shape_text(group), group.at("kind"), name, with_spread(qdisc.at("enqueue")),
                       with_spread(qdisc.at("dequeue")), with_spread(qdisc.at("sum")),
                       ratio_text(qdisc.at("ratio_fq")), ratio_text(qdisc.at("ratio_fq_wide"))});
        }
    }
    return table.text();
}

std::string memory_table(const nlohmann::json& summary) {
    Table table({{"", "qdisc", Table::Align::left},
                 {"structure", "bytes"},
                 {"set-up", "KiB"},
                 {"bytes a flow", "queued"}});
    for (const char* name : kOrder) {
        const nlohmann::json& row = summary.at("memory").at(name);
        table.add({name, fmt::format("{}", row.at("struct_bytes").get<uint64_t>()),
                   fmt::format("{}", row.at("setup_bytes").get<uint64_t>() / 1024),
                   fmt::format("{:.0f}", row.at("bytes_per_flow").get<double>())});
    }
    return fmt::format("memory (flows queued: {})\n",
                       summary.at("memory").at("pfqd").at("flows").get<uint32_t>()) +
           table.text();
}

std::string profile_text(const nlohmann::json& profile) {
    std::string out = fmt::format("\nwhere pfqd's time goes, {} flows, packets {} ({} samples):\n",
                                  profile.at("flows").get<uint32_t>(), profile.at("kind").get<std::string>(),
                                  profile.at("samples").get<uint64_t>());
    for (const nlohmann::json& row : profile.at("symbols"))
        out += fmt::format("  {:5.1f} %  {}\n", row.at("percent").get<double>(),
                           row.at("symbol").get<std::string>());
    return out;
}

constexpr const char* kNotes =
    "\n"
    "owned      TCP of established sockets of this host; fq finds the flow by the socket\n"
    "forwarded  no socket, skb_iif set, skb->hash as a NIC with RSS leaves it\n"
    "unhashed   the same without a hash: whoever needs one dissects the packet\n"
    "fq         1,024 trees and 1,024 orphan hashes, its defaults: forwarded flows beyond share;\n"
    "           fq+ has 131,072 of both. pfqd has flows 131072\n"
    "fq_codel   65,536 queues, its most: 100,000 flows share them by hash\n"
    "cake       1,024 queues a tin, fixed: more flows than that share them\n"
    "pfifo      the floor: a list, and the cache misses of the packets themselves\n"
    "All limits are out of reach: in every run all packets went in and came out. ns: median over\n"
    "the rounds and half the distance of the quartiles; ratio: of enqueue + dequeue within one round,\n"
    "median and quartiles. Only ratios of one run of this bench compare.\n";

}  // namespace

nlohmann::json summarize_qdisc_bench(const nlohmann::json& measured) {
    nlohmann::json out = measured;
    out.erase("status");
    for (nlohmann::json& group : out.at("groups")) group = summarize_group(group);
    return out;
}

std::string qdisc_bench_text(const nlohmann::json& summary) {
    uint64_t batches = 0, foreign = 0;
    for (const nlohmann::json& group : summary.at("groups"))
        for (const nlohmann::json& qdisc : group.at("qdiscs")) {
            batches += qdisc.at("batches").get<uint64_t>();
            foreign += qdisc.at("foreign_batches").get<uint64_t>();
        }
    std::string out = fmt::format(
        "kernel {} · frames of {} B, truesize {} B · ktime_get_ns() costs {:.1f} ns here, reading the\n"
        "bench's clock {:.1f} ns a batch · {} of {} batches left out: the machine ran something else\n\n",
        summary.at("kernel").at("source").get<std::string>(), summary.at("frame").get<uint32_t>(),
        summary.at("truesize").get<uint32_t>(), summary.at("clock_ns").get<double>(),
        summary.at("overhead_ns").get<double>(), foreign, batches);
    out += costs_table(summary) + kNotes + "\n" + memory_table(summary);
    if (summary.contains("profiles"))
        for (const nlohmann::json& profile : summary.at("profiles")) out += profile_text(profile);
    return out;
}

}  // namespace pfqd::lab
