// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
//
// A table of texts that can be shown on a terminal and in a web page.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace pfqd::lab {

class Table {
  public:
    enum class Align { left, right };
    struct Column {
        std::string upper, lower;  // two lines of header; the lower names the column
        Align align = Align::right;
    };

    explicit Table(std::vector<Column> columns) : columns_(std::move(columns)) {}

    // Throws when the row has another number of cells than there are columns.
    void add(std::vector<std::string> row);
    // A gap before the next row.
    void separate();
    bool empty() const { return rows_.empty(); }

    // Aligned columns, plain ASCII if the cells are.
    std::string text() const;
    // A <table>; a cell's second line is shown small. The first `head_columns` cells of a row
    // are its headers.
    std::string html(const std::string& caption, size_t head_columns = 1) const;

  private:
    struct Row {
        std::vector<std::string> cells;
        bool gap_before = false;
    };

    std::vector<size_t> widths() const;

    std::vector<Column> columns_;
    std::vector<Row> rows_;
    bool gap_ = false;
};

// Text for HTML, in and outside of attributes.
std::string html_escape(std::string_view text);

}  // namespace pfqd::lab
