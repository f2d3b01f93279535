// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
//
// Each function collects gnuplot's data blocks ($d0, $d1, ...) and the plot clauses that
// draw them, then puts settings in front.
#include "lab/host/plot_figures.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <set>

namespace pfqd::lab {

namespace {

// Okabe and Ito's colours, which colour-blind readers can tell apart; point shapes and
// the order of the key differ as well.
struct Style {
    const char* colour;
    int point;
};
constexpr std::array<Style, 7> kStyles = {{{"#D55E00", 7},
                                           {"#E69F00", 5},
                                           {"#009E73", 9},
                                           {"#0072B2", 13},
                                           {"#CC79A7", 11},
                                           {"#56B4E9", 4},
                                           {"#000000", 6}}};

constexpr const char* kSettings =
    "set encoding utf8\n"
    "set datafile missing '?'\n"
    "set border 3 lc rgb '#666666'\n"
    "set tics nomirror textcolor rgb '#333333'\n"
    "set grid xtics ytics lc rgb '#dddddd' lt 1 lw 0.7\n"
    "set key outside top center horizontal samplen 2.5 textcolor rgb '#222222'\n";

constexpr int kWide = 1260, kNarrow = 620;

// 1, 2, 5, 10, ...: a logarithmic axis that reads well over one decade and over five.
constexpr const char* kSlowdownTics =
    "(1, 2, 5, 10, 20, 50, 100, 200, 500, '1,000' 1000, '2,000' 2000, '5,000' 5000, "
    "'10,000' 10000, '100,000' 100000, '1,000,000' 1000000)";

Style style_of(const FigureInput& input, const std::string& config) {
    const auto place = std::find(input.order.begin(), input.order.end(), config) - input.order.begin();
    return kStyles[static_cast<size_t>(place) % kStyles.size()];
}

std::string value_text(const std::optional<double>& value) {
    return value && std::isfinite(*value) ? fmt::format("{:.6g}", *value) : "?";
}

// The data blocks and the clauses of one plot command.
class Curves {
  public:
    // `clause` draws the data block; {} in it stands for its name.
    void add(const std::string& rows, const std::vector<std::string>& clauses) {
        const std::string name = fmt::format("$d{}", blocks_++);
        data_ += name + " << EOD\n" + rows + "EOD\n";
        for (const std::string& clause : clauses)
            plot_ += (plot_.empty() ? "plot " : ", \\\n     ") + name + " " + clause;
    }
    // `width` in units of the picture; it grows and shrinks with the page.
    std::string script(int width, const std::string& settings) const {
        if (!blocks_) return "";
        return fmt::format("set terminal svg size {},400 dynamic noenhanced font 'sans-serif,13'\n", width) +
               kSettings + settings + data_ + plot_ + "\n";
    }

  private:
    std::string data_, plot_;
    size_t blocks_ = 0;
};

// Configurations stand beside each other, or their error bars would hide one another.
double dodge(size_t index, size_t count) {
    return (static_cast<double>(index) - static_cast<double>(count - 1) / 2) * 0.05;
}

std::string decile_tics(const FigureInput& input) {
    std::string tics;
    for (size_t i = 0; i < kDeciles; i++) {
        double bytes = 0;
        for (const CellSummary& cell : input.cells) bytes = std::max(bytes, cell.deciles[i].max_bytes);
        tics += fmt::format("{}'{}' {}", i ? ", " : "", bytes > 0 ? bytes_text(bytes) : "-", i + 1);
    }
    return tics;
}

// x, p99, its smallest and largest over the seeds, p50.
std::string decile_rows(const CellSummary& cell, double shift) {
    std::string rows;
    for (size_t i = 0; i < kDeciles; i++) {
        const DecileSummary& decile = cell.deciles[i];
        if (!decile.p50.median || !std::isfinite(*decile.p50.median)) continue;
        const auto bound = [&](const std::optional<double>& value) {
            return value && std::isfinite(*value) ? value : decile.p99.median;
        };
        rows += fmt::format("{:.3f} {} {} {} {}\n", static_cast<double>(i + 1) + shift,
                            value_text(decile.p99.median), value_text(bound(decile.p99.min)),
                            value_text(bound(decile.p99.max)), value_text(decile.p50.median));
    }
    return rows;
}

// slowdown, fraction of messages that are not slower.
std::string quantile_rows(const Quantiles& quantiles, uint64_t messages) {
    std::string rows;
    for (const auto& [fraction, slowdown] : quantiles) {
        // Beyond the last message but one, a quantile says nothing that is not there.
        if (!std::isfinite(slowdown) || (1 - fraction) * static_cast<double>(messages) < 1) break;
        rows += fmt::format("{:.6g} {:.6g}\n", slowdown, fraction);
    }
    return rows;
}

// ms, deepest port in KB.
std::string depth_rows(const DepthMeasure& depth) {
    std::string rows;
    for (size_t i = 0; i < depth.series_deepest.size(); i++)
        rows += fmt::format("{:.6g} {:.6g}\n", static_cast<double>(i * depth.series_period_ns) / 1e6,
                            static_cast<double>(depth.series_deepest[i]) / 1e3);
    return rows;
}

}  // namespace

std::string bytes_text(double bytes) {
    const auto short_number = [](double value, const char* unit) {
        // Three digits, without a point that has nothing behind it.
        std::string text = fmt::format("{:.{}f}", value, value < 10 ? 2 : value < 100 ? 1 : 0);
        if (text.find('.') != text.npos) text.erase(text.find_last_not_of('0') + 1);
        if (text.back() == '.') text.pop_back();
        return text + unit;
    };
    if (bytes < 1'000) return fmt::format("{:.0f}", bytes);
    if (bytes < 999'500) return short_number(bytes / 1e3, "k");
    return short_number(bytes / 1e6, "M");
}

std::string decile_script(const FigureInput& input) {
    Curves curves;
    for (size_t i = 0; i < input.cells.size(); i++) {
        const CellSummary& cell = input.cells[i];
        const std::string rows = decile_rows(cell, dodge(i, input.cells.size()));
        if (rows.empty()) continue;
        const Style style = style_of(input, cell.config);
        // The points come last: they must lie on top of their own error bars.
        std::vector<std::string> clauses = {
            fmt::format("using 1:5 with lines lc rgb '{}' lw 1.5 dt 2 notitle", style.colour)};
        if (cell.seeds.size() > 1)
            clauses.push_back(fmt::format("using 1:2:3:4 with yerrorbars lc rgb '{}' lw 1 pt 0 ps 0 notitle",
                                          style.colour));
        clauses.push_back(fmt::format("using 1:2 with linespoints lc rgb '{}' lw 2 pt {} ps 0.8 title '{}'",
                                      style.colour, style.point, cell.config));
        curves.add(rows, clauses);
    }
    return curves.script(kWide, "set logscale y\nset yrange [0.9:*]\nset xrange [0.5:10.5]\nset ytics " +
                                    std::string(kSlowdownTics) + "\nset xtics (" + decile_tics(input) +
                                    ")\nset xlabel 'largest message of the decile, bytes'\n"
                                    "set ylabel 'slowdown: P99 solid, P50 dashed'\n");
}

std::string short_tail_script(const FigureInput& input) {
    Curves curves;
    for (const CellSummary& cell : input.cells) {
        const std::string rows = quantile_rows(cell.short_quantiles, cell.short_messages);
        if (rows.empty()) continue;
        curves.add(rows, {fmt::format("using 1:(1-$2) with lines lc rgb '{}' lw 2 title '{}'",
                                      style_of(input, cell.config).colour, cell.config)});
    }
    return curves.script(
        kNarrow,
        "set logscale xy\nset xrange [0.95:*]\nset yrange [0.0005:1]\nset xtics " +
            std::string(kSlowdownTics) +
            "\nset ytics ('100 %%' 1, '50 %%' 0.5, '10 %%' 0.1, '5 %%' 0.05, '1 %%' 0.01, '0.1 %%' 0.001)\n"
            "set xlabel 'slowdown'\nset ylabel 'short messages that are slower'\n");
}

std::string large_distribution_script(const FigureInput& input) {
    Curves curves;
    for (const CellSummary& cell : input.cells) {
        const std::string rows = quantile_rows(cell.large_quantiles, cell.large_messages);
        if (rows.empty()) continue;
        curves.add(rows, {fmt::format("using 1:(100*$2) with lines lc rgb '{}' lw 2 title '{}'",
                                      style_of(input, cell.config).colour, cell.config)});
    }
    return curves.script(kNarrow, "set logscale x\nset xrange [0.95:*]\nset yrange [0:100]\nset xtics " +
                                      std::string(kSlowdownTics) +
                                      "\nset xlabel 'slowdown'\nset ylabel 'large messages not slower, %'\n");
}

std::string depth_script(std::span<const Run> runs, std::span<const std::string> order) {
    Curves curves;
    std::set<std::string> drawn;
    for (const Run& run : runs) {
        if (!run.measures.depth || !drawn.insert(run.config).second) continue;
        curves.add(depth_rows(*run.measures.depth),
                   {fmt::format("using 1:2 with lines lc rgb '{}' lw 1.5 title '{}'",
                                style_of({{}, order}, run.config).colour, run.config)});
    }
    return curves.script(kWide,
                         "set yrange [0:*]\nset xlabel 'ms'\nset ylabel 'deepest port, KB (1000 B)'\n");
}

}  // namespace pfqd::lab
