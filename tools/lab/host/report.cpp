// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
#include "lab/host/report.hpp"

#include <fmt/format.h>

#include "lab/host/report_measures.hpp"
#include "lab/host/report_page.hpp"
#include "lab/host/report_rows.hpp"
#include "lab/host/results_file.hpp"

namespace fs = std::filesystem;

namespace pfqd::lab {

namespace {

// What few runs have; all of the tables are on the page.
void print_measures(std::span<const Run> runs) {
    if (const Table table = depth_table(runs); !table.empty())
        fmt::print("\nDepth of the switch's ports to hosts:\n{}", table.text());
    if (const Table table = internet_table(runs); !table.empty())
        fmt::print("\nBulk flows from and to the internet:\n{}\nBy RTT class:\n{}", table.text(),
                   class_table(runs).text());
}

void print_table(std::span<const Run> runs) {
    const std::vector<Group> groups = group(summarise(runs));
    fmt::print("{}\n", main_table(groups, false).text());
    fmt::print(
        "Slowdown: 1 is an idle network. Short: deciles of messages up to {} B; large: above {} B.\n"
        "Percentiles are medians over the seeds; drops to messages are sums over them.\n"
        "-: fewer than {} messages, or none. inf: so many messages never finished.\n",
        count_text(kShortBytes), count_text(kLargeBytes), kLargeMinimum);
    for (const std::string& gap : gaps(groups)) fmt::print("Missing: {}.\n", gap);
    for (const std::string& one : differences(runs)) fmt::print("Careful: {}.\n", one);
    print_measures(runs);
}

}  // namespace

int report(const fs::path& dir, const ReportOptions& options) {
    const std::vector<Run> runs = load_runs(dir);
    write_results(dir);
    const fs::path page = options.html.value_or(dir / "report.html");
    if (options.json)
        fmt::print("{}\n", summary_json(runs).dump(2));
    else
        print_table(runs);
    std::fflush(stdout);
    write_file_atomically(page, report_page(runs));
    fmt::print(stderr, "The report with plots is {}\n", page.string());
    return 0;
}

}  // namespace pfqd::lab
