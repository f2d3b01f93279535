// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
#include "lab/common/workload.hpp"

#include <algorithm>
#include <charconv>
#include <fstream>
#include <stdexcept>
#include <string_view>

namespace fs = std::filesystem;

namespace pfqd::lab {

namespace {

constexpr size_t kMaxLine = 4096;  // characters

// Where the point that is being checked came from: "FILE:LINE" or "point N".
[[noreturn]] void fail(const std::string& where, const std::string& what) {
    throw std::runtime_error(where + ": " + what);
}

// Hostile text in a message: short, and printable.
std::string quoted(std::string_view text) {
    std::string out = "'";
    for (char c : text.substr(0, 40)) out += c >= ' ' && c <= '~' ? c : '?';
    return out + (text.size() > 40 ? "...'" : "'");
}

template <class T>
T parse(const std::string& where, const char* field, std::string_view text, const char* accepted) {
    T value{};
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc() || end != text.data() + text.size())
        fail(where, std::string(field) + " " + quoted(text) + " is not " + accepted);
    return value;
}

const char* const kBytesRange = "a whole number from 1 to 67108864 (bytes)";
const char* const kFractionRange = "a number above 0 and at most 1";

void check_point(const std::string& where, const Workload::Point& point, const Workload::Point* before) {
    if (point.bytes < 1 || point.bytes > Workload::kMaxBytes)
        fail(where, "size '" + std::to_string(point.bytes) + "' is not " + kBytesRange);
    if (!(point.fraction > 0 && point.fraction <= 1))  // NaN fails too
        fail(where, "fraction '" + std::to_string(point.fraction) + "' is not " + kFractionRange);
    if (!before) return;
    if (point.bytes <= before->bytes)
        fail(where, "size '" + std::to_string(point.bytes) + "' must be above the size before it, " +
                        std::to_string(before->bytes));
    if (point.fraction <= before->fraction)
        fail(where, "fraction '" + std::to_string(point.fraction) +
                        "' must be above the fraction before it, " + std::to_string(before->fraction));
}

std::vector<std::string_view> words(std::string_view line) {
    std::vector<std::string_view> found;
    constexpr std::string_view kBlank = " \t\r";
    for (size_t at = line.find_first_not_of(kBlank); at != line.npos;) {
        const size_t end = std::min(line.find_first_of(kBlank, at), line.size());
        found.push_back(line.substr(at, end - at));
        at = line.find_first_not_of(kBlank, end);
    }
    return found;
}

}  // namespace

Workload Workload::load(const fs::path& path) {
    std::error_code error;
    if (!fs::is_regular_file(path, error)) fail(path.string(), "there is no such workload file");
    std::ifstream file(path);
    if (!file) fail(path.string(), "cannot read the workload file");

    std::vector<Point> points;
    size_t number = 0;
    for (std::string line; std::getline(file, line);) {
        const std::string where = path.string() + ":" + std::to_string(++number);
        if (line.size() > kMaxLine)
            fail(where, "the line has more than " + std::to_string(kMaxLine) + " characters");
        const auto fields = words(std::string_view(line).substr(0, line.find('#')));
        if (fields.empty()) continue;
        if (fields.size() != 2)
            fail(where, "expected two fields, a size in bytes and a cumulative fraction, not " +
                            std::to_string(fields.size()));
        const Point point{parse<uint32_t>(where, "size", fields[0], kBytesRange),
                          parse<double>(where, "fraction", fields[1], kFractionRange)};
        check_point(where, point, points.empty() ? nullptr : &points.back());
        points.push_back(point);
        if (points.size() > kMaxPoints) fail(where, "more than " + std::to_string(kMaxPoints) + " points");
    }
    if (file.bad()) fail(path.string(), "cannot read the workload file");
    if (points.empty()) fail(path.string(), "the workload file has no points");
    if (points.back().fraction != 1)
        fail(path.string() + ":" + std::to_string(number),
             "the last fraction is '" + std::to_string(points.back().fraction) + "', expected 1");
    return from_points(std::move(points));
}

Workload Workload::from_points(std::vector<Point> points) {
    if (points.empty() || points.size() > kMaxPoints)
        fail("workload",
             std::to_string(points.size()) + " points, expected 1 to " + std::to_string(kMaxPoints));
    for (size_t i = 0; i < points.size(); i++)
        check_point("workload point " + std::to_string(i + 1), points[i], i ? &points[i - 1] : nullptr);
    if (points.back().fraction != 1)
        fail("workload", "the last fraction is '" + std::to_string(points.back().fraction) + "', expected 1");
    Workload workload;
    workload.points_ = std::move(points);
    return workload;
}

uint32_t Workload::sample(double u) const {
    const auto found =
        std::lower_bound(points_.begin(), points_.end(), u,
                         [](const Point& point, double value) { return point.fraction < value; });
    return found == points_.end() ? points_.back().bytes : found->bytes;
}

double Workload::mean() const {
    double sum = 0, below = 0;
    for (const Point& point : points_) {
        sum += point.bytes * (point.fraction - below);
        below = point.fraction;
    }
    return sum;
}

}  // namespace pfqd::lab
