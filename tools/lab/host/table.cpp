// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
#include "lab/host/table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>

namespace pfqd::lab {

namespace {

constexpr size_t kGap = 2;  // blanks between columns

// Characters, not bytes: continuation bytes of UTF-8 take no place.
size_t display_width(std::string_view text) {
    return static_cast<size_t>(std::count_if(
        text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; }));
}

void append_cell(std::string& line, const std::string& text, size_t width, Table::Align align) {
    const std::string blanks(width - display_width(text), ' ');
    line += align == Table::Align::right ? blanks + text : text + blanks;
    line.append(kGap, ' ');
}

void end_line(std::string& line, std::string& out) {
    line.erase(line.find_last_not_of(' ') + 1);
    out += line + "\n";
    line.clear();
}

std::string html_cell(const std::string& text) {
    const size_t end = text.find('\n');
    if (end == text.npos) return html_escape(text);
    return html_escape(text.substr(0, end)) + "<br><small>" + html_escape(text.substr(end + 1)) + "</small>";
}

const char* css_class(const Table::Column& column) {
    return column.align == Table::Align::left ? " class=\"l\"" : "";
}

}  // namespace

void Table::add(std::vector<std::string> row) {
    if (row.size() != columns_.size())
        throw std::runtime_error(
            fmt::format("a row of {} cells in a table of {}", row.size(), columns_.size()));
    rows_.push_back({std::move(row), gap_ && !rows_.empty()});
    gap_ = false;
}

void Table::separate() {
    gap_ = true;
}

std::vector<size_t> Table::widths() const {
    std::vector<size_t> widths;
    for (size_t i = 0; i < columns_.size(); i++) {
        size_t width = std::max(display_width(columns_[i].upper), display_width(columns_[i].lower));
        for (const Row& row : rows_) width = std::max(width, display_width(row.cells[i]));
        widths.push_back(width);
    }
    return widths;
}

std::string Table::text() const {
    const std::vector<size_t> width = widths();
    std::string out, line;
    for (auto part : {&Column::upper, &Column::lower}) {
        for (size_t i = 0; i < columns_.size(); i++)
            append_cell(line, columns_[i].*part, width[i], columns_[i].align);
        end_line(line, out);
    }
    for (size_t i = 0; i < columns_.size(); i++)
        append_cell(line, std::string(width[i], '-'), width[i], Align::left);
    end_line(line, out);
    for (const Row& row : rows_) {
        if (row.gap_before) out += "\n";
        for (size_t i = 0; i < columns_.size(); i++)
            append_cell(line, row.cells[i], width[i], columns_[i].align);
        end_line(line, out);
    }
    return out;
}

std::string Table::html(const std::string& caption, size_t head_columns) const {
    std::string out = "<table>\n<caption>" + html_escape(caption) + "</caption>\n<thead><tr>";
    for (const Column& column : columns_)
        out += fmt::format("<th scope=\"col\"{}>{}{}{}</th>", css_class(column), html_escape(column.upper),
                           column.upper.empty() || column.lower.empty() ? "" : "<br>",
                           html_escape(column.lower));
    out += "</tr></thead>\n<tbody>\n";
    for (const Row& row : rows_) {
        out += row.gap_before ? "<tr class=\"gap\">" : "<tr>";
        for (size_t i = 0; i < columns_.size(); i++) {
            const char* tag = i < head_columns ? "th" : "td";
            out += fmt::format("<{}{}{}>{}</{}>", tag, i < head_columns ? " scope=\"row\"" : "",
                               css_class(columns_[i]), html_cell(row.cells[i]), tag);
        }
        out += "</tr>\n";
    }
    return out + "</tbody>\n</table>\n";
}

std::string html_escape(std::string_view text) {
    std::string out;
    for (char c : text) {
        switch (c) {
            case '&':
                out += "&amp;";
                break;
            case '<':
                out += "&lt;";
                break;
            case '>':
                out += "&gt;";
                break;
            case '"':
                out += "&quot;";
                break;
            case '\'':
                out += "&#39;";
                break;
            default:
                out += c;
        }
    }
    return out;
}

}  // namespace pfqd::lab
