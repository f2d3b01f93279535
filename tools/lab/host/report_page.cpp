// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
//
// Texts from run files are untrusted here too: everything goes through html_escape().
#include "lab/host/report_page.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "lab/host/plot.hpp"
#include "lab/host/plot_figures.hpp"
#include "lab/host/report_measures.hpp"
#include "lab/host/report_prose.hpp"
#include "lab/host/report_rows.hpp"

using nlohmann::json;

namespace pfqd::lab {

namespace {

using Align = Table::Align;

std::string plain(const json& value) {
    return value.is_string() ? value.get<std::string>()
                             : value.dump(-1, ' ', false, json::error_handler_t::replace);
}

std::string wide(const std::string& content) {
    return "<div class=\"wide\">\n" + content + "</div>\n";
}

std::string warning(const std::string& title, const std::vector<std::string>& items) {
    if (items.empty()) return "";
    std::string content = "<div class=\"warn\">" + html_escape(title) + "<ul>";
    for (const std::string& item : items) content += "<li>" + html_escape(item) + "</li>";
    return content + "</ul></div>\n";
}

std::string section(const std::string& id, const std::string& title, const std::string& content) {
    return fmt::format("<section aria-labelledby=\"{0}\">\n<h2 id=\"{0}\">{1}</h2>\n{2}</section>\n", id,
                       html_escape(title), content);
}

// Name and value, a line each.
std::string name_value_table(const json& members, const std::string& caption) {
    if (members.empty()) return "";
    Table table({{"", "name", Align::left}, {"", "value", Align::left}});
    for (const auto& [name, value] : members.items()) table.add({name, plain(value)});
    return wide(table.html(caption));
}

std::string group_title(const Group& group) {
    return group.variant.empty() ? group.cell : group.cell + ", " + group.variant;
}

std::string figure(const std::string& script, const std::string& id, const std::string& caption) {
    if (script.empty()) return "";
    return "<figure>\n" + svg_plot(script, id, caption) + "<figcaption>" + html_escape(caption) +
           "</figcaption>\n</figure>\n";
}

std::string figures_of(const Group& group, const std::vector<std::string>& order, size_t number) {
    const FigureInput input{group.cells, order};
    const std::string id = fmt::format("f{}", number), title = group_title(group);
    return "<div class=\"figures\">\n" +
           figure(decile_script(input), id + "d",
                  title +
                      ": slowdown by decile of message size. P99 solid with its range over the seeds, P50 "
                      "dashed.") +
           figure(short_tail_script(input), id + "s",
                  title + ": short messages that are slower than a slowdown (complementary distribution).") +
           figure(large_distribution_script(input), id + "l",
                  title + ": large messages, cumulative distribution of slowdown.") +
           "</div>\n";
}

std::string cells_section(const std::vector<Group>& groups) {
    const std::vector<std::string> order = configs_of(groups);
    std::string content;
    for (size_t i = 0; i < groups.size(); i++) {
        content += "<h3>" + html_escape(group_title(groups[i])) + "</h3>\n" + figures_of(groups[i], order, i);
        content += "<details><summary>The same as a table</summary>\n" +
                   wide(decile_table(groups[i]).html(group_title(groups[i]) +
                                                     ": slowdown by decile of message size")) +
                   "</details>\n";
    }
    return section("cells", "Slowdown by size", content);
}

std::string results_section(const std::vector<Group>& groups) {
    const bool variants =
        std::any_of(groups.begin(), groups.end(), [](const Group& one) { return !one.variant.empty(); });
    std::string content = wide(main_table(groups, true)
                                   .html("Slowdowns, 1 is ideal: median over the seeds, and range. Counters: "
                                         "sums over the seeds.",
                                         variants ? 3 : 2));
    content += warning("Not all of it has run:", gaps(groups));
    return section("results", "Results", content);
}

std::string depth_figures(std::span<const Run> runs, const std::vector<std::string>& order) {
    std::string content;
    size_t number = 0;
    for (size_t begin = 0, end = 0; begin < runs.size(); begin = end) {
        while (end < runs.size() && runs[end].cell == runs[begin].cell &&
               runs[end].variant == runs[begin].variant)
            end++;
        const std::string variant = variant_text(runs[begin].variant);
        content += figure(depth_script(runs.subspan(begin, end - begin), order), fmt::format("q{}", number++),
                          runs[begin].cell + (variant.empty() ? "" : ", " + variant) +
                              ": the deepest port of the switch over time, first seed of each.");
    }
    return content.empty() ? "" : "<div class=\"figures\">\n" + content + "</div>\n";
}

// Empty when no run has any of it.
std::string queues_section(std::span<const Run> runs, const std::vector<std::string>& order) {
    const auto part = [](const Table& table, const std::string& caption) {
        return table.empty() ? "" : wide(table.html(caption, 3));
    };
    const std::string content =
        part(depth_table(runs), "Depth of the switch's ports to hosts: bytes in the port's qdisc.") +
        depth_figures(runs, order) +
        part(internet_table(runs),
             "Bulk flows from and to the internet: bytes acknowledged over the time of the messages.") +
        part(class_table(runs),
             "pfqd by RTT class, where stamps were read: marks and drops for a budget, then drops for a full "
             "queue, then serves. Sums over the seeds.") +
        part(sojourn_table(runs),
             "Time in pfqd's queues, by band where stamps were read: the percentile is at most this. "
             "Sums over the seeds.");
    return content.empty() ? "" : section("queues", "Queues", content);
}

// What belongs to single cells, beside what is common to all.
std::string parameters_section(const std::vector<CellSummary>& cells) {
    std::vector<json> all;
    for (const CellSummary& cell : cells) all.push_back(cell.parameters);
    const json common = common_members(all);
    Table table({{"", "cell", Align::left},
                 {"", "variant", Align::left},
                 {"", "config", Align::left},
                 {"", "what differs", Align::left}});
    for (const CellSummary& cell : cells) {
        std::string own;
        for (const auto& [name, value] : cell.parameters.items())
            if (!common.contains(name))
                own += fmt::format("{}{} = {}", own.empty() ? "" : "; ", name, plain(value));
        const std::string variant = variant_text(cell.variant);
        table.add({cell.cell, variant.empty() ? "default" : variant, cell.config, own.empty() ? "-" : own});
    }
    return section("parameters", "Parameters",
                   name_value_table(common, "Equal in all runs") +
                       wide(table.html("Different between cells and configurations", 3)));
}

std::string runs_table(std::span<const Run> runs, const json& common) {
    Table table({{"", "run", Align::left},
                 {"", "seed"},
                 {"wall", "s"},
                 {"set-up", "s"},
                 {"CPU", "user s"},
                 {"CPU", "system s"},
                 {"memory", "MiB"},
                 {"data", "packets/s"},
                 {"", "hashes", Align::left}});
    for (const Run& run : runs) {
        std::string own;
        const json hashes = flat(run.hash);
        for (const auto& [name, value] : hashes.items())
            if (!common.contains(name))
                own += fmt::format("{}{} {}", own.empty() ? "" : "; ", name, plain(value));
        table.add({run.file, std::to_string(run.seed), fmt::format("{:.1f}", run.wall_s),
                   fmt::format("{:.1f}", run.setup_s), fmt::format("{:.1f}", run.user_s),
                   fmt::format("{:.1f}", run.sys_s),
                   fmt::format("{:.0f}", static_cast<double>(run.rss_kib) / 1024),
                   fmt::format("{:.0f}", run.packets_per_s), own});
    }
    return wide(table.html("Every run"));
}

std::string identity_section(std::span<const Run> runs, const json& summary) {
    std::vector<json> hashes;
    for (const Run& run : runs) hashes.push_back(flat(run.hash));
    const json common = common_members(hashes);
    std::string content;
    content += warning("Compare with care:", differences(runs));
    const json kernel =
        summary["kernel"].is_object() ? flat(summary["kernel"]) : json{{"kernel", summary["kernel"]}};
    content += name_value_table(kernel, "Kernel") +
               name_value_table(summary["modules"], "Modules (SHA-256)") +
               name_value_table(common, "What a log's hash depends on, equal in all runs") +
               "<details><summary>Every run with the hash of its log</summary>\n" + runs_table(runs, common) +
               "</details>\n";
    return section("identity", "Kernel, modules, hashes", content);
}

std::string reproduce_section(std::span<const Run> runs) {
    std::set<std::string> commands;
    for (const Run& run : runs)
        if (!run.command.empty()) commands.insert(run.command);
    std::string content =
        "<p>In a checkout of the same revision, on Debian 12 or 13. The first command installs what is "
        "missing and builds tools, modules and the lab kernel.</p>\n<pre>make lab\n";
    for (const std::string& command : commands)
        content += html_escape((command.starts_with("pfqd-lab ") ? "build/bin/" : "") + command) + "\n";
    content += "</pre>\n";
    if (commands.empty())
        content += "<p class=\"warn\">The runs do not say by which command they were made.</p>\n";
    content +=
        "<p><code>pfqd-lab verify</code> proves that a run is a function of its inputs: it repeats one and "
        "compares the logs bit by bit. Raw data: <code>runs/*.jsonl</code> has one line a message, "
        "<code>results.jsonl</code> one line a decile, <code>summary.json</code> the table above.</p>\n";
    return section("reproduce", "How to reproduce", content);
}

std::string title_of(std::span<const Run> runs) {
    std::set<std::string> experiments;
    for (const Run& run : runs) experiments.insert(run.experiment);
    std::string names;
    for (const std::string& one : experiments) names += (names.empty() ? "" : ", ") + one;
    return "Tail latency, experiment " + names;
}

}  // namespace

std::string report_page(std::span<const Run> runs) {
    const std::vector<CellSummary> cells = summarise(runs);
    const std::vector<Group> groups = group(cells);
    const std::string title = html_escape(title_of(runs));
    const std::string queues = queues_section(runs, configs_of(groups));
    uint64_t messages = 0;
    for (const Run& run : runs) messages += run.counters.messages;
    return "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
           "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<title>" +
           title + "</title>\n<style>" + kPageStyle + "</style>\n</head>\n<body>\n<main>\n<h1>" + title +
           "</h1>\n" +
           fmt::format(
               "<p class=\"lead\">The real kernel's TCP and the real modules, in virtual time: {} runs, {} "
               "messages.</p>\n",
               runs.size(), count_text(messages)) +
           "<nav aria-label=\"Contents\"><a href=\"#results\">Results</a><a href=\"#cells\">By size</a>" +
           (queues.empty() ? "" : "<a href=\"#queues\">Queues</a>") +
           "<a href=\"#definitions\">Definitions</a><a href=\"#limits\">Limits</a>"
           "<a href=\"#parameters\">Parameters</a><a href=\"#identity\">Hashes</a>"
           "<a href=\"#reproduce\">Reproduce</a></nav>\n" +
           results_section(groups) + cells_section(groups) + queues +
           section("definitions", "Definitions", kDefinitions) + section("limits", "Limits", kLimits) +
           parameters_section(cells) + identity_section(runs, summary_json(runs)) + reproduce_section(runs) +
           "</main>\n</body>\n</html>\n";
}

}  // namespace pfqd::lab
