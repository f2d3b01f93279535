// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
#include "lab/host/results_log.hpp"

#include <fmt/compile.h>
#include <fmt/format.h>

#include <cmath>
#include <cstring>
#include <iterator>
#include <stdexcept>

#include "lab/host/results_file.hpp"

namespace fs = std::filesystem;

namespace pfqd::lab {

namespace {

constexpr size_t kMaxLog = size_t{4} << 30;  // bytes: a hundred times the largest cell
constexpr size_t kFlush = 1 << 20;           // bytes between two write calls

// What is wrong with a record, or nullptr.
const char* fault(const Record& record, size_t position, const Record* before, uint32_t hosts) {
    if (record.id != position) return "its id is not its position";
    if (record.bytes < 1 || record.bytes > RPCLOAD_MAX_BYTES) return "its size is out of range";
    if (record.src >= hosts || record.dst >= hosts) return "its host does not exist";
    if (record.src == record.dst) return "it is sent to its own sender";
    if (record.conn >= RPCLOAD_MAX_CONNS) return "its connection does not exist";
    if (before && record.at_ns < before->at_ns) return "it arrives before the record before it";
    const bool sent = record.sent_ns != RPCLOAD_UNFINISHED;
    const bool done = record.done_ns != RPCLOAD_UNFINISHED;
    if (sent && record.sent_ns < record.at_ns) return "it is sent before it arrives";
    if (done && record.done_ns < record.at_ns) return "it is done before it arrives";
    return nullptr;
}

using Buffer = fmt::memory_buffer;

void append_time(Buffer& out, uint64_t ns) {
    if (ns == RPCLOAD_UNFINISHED)
        out.append(std::string_view("null"));
    else
        fmt::format_to(std::back_inserter(out), FMT_COMPILE("{}"), ns);
}

// Four decimals, in integer arithmetic: several times faster than printing a double.
void append_slowdown(Buffer& out, double value) {
    if (!std::isfinite(value) || value > 1e14) {
        out.append(std::string_view("null"));
        return;
    }
    const auto scaled = static_cast<uint64_t>(std::llround(value * 10'000));
    fmt::format_to(std::back_inserter(out), FMT_COMPILE("{}.{:04}"), scaled / 10'000, scaled % 10'000);
}

void append_line(Buffer& out, const Record& record, double slowdown) {
    fmt::format_to(std::back_inserter(out),
                   FMT_COMPILE(R"({{"id":{},"src":{},"dst":{},"conn":{},"bytes":{},"at_ns":{},"sent_ns":)"),
                   record.id, record.src, record.dst, record.conn, record.bytes, record.at_ns);
    append_time(out, record.sent_ns);
    out.append(std::string_view(R"(,"done_ns":)"));
    append_time(out, record.done_ns);
    out.append(std::string_view(R"(,"slowdown":)"));
    append_slowdown(out, slowdown);
    out.append(std::string_view("}\n"));
}

}  // namespace

std::vector<Record> load_log(const fs::path& path, uint32_t hosts) {
    const std::string text = read_regular_file(path, kMaxLog);
    if (text.size() % sizeof(Record) != 0)
        throw std::runtime_error(fmt::format("{}: {} bytes are no whole number of records of {} bytes",
                                             path.string(), text.size(), sizeof(Record)));
    std::vector<Record> records(text.size() / sizeof(Record));
    if (!records.empty()) std::memcpy(records.data(), text.data(), text.size());
    for (size_t i = 0; i < records.size(); i++)
        if (const char* what = fault(records[i], i, i ? &records[i - 1] : nullptr, hosts))
            throw std::runtime_error(fmt::format("{}: record {} is damaged: {}", path.string(), i, what));
    return records;
}

void write_jsonl(const fs::path& path, std::span<const Record> records, std::span<const double> slowdowns) {
    if (records.size() != slowdowns.size())
        throw std::runtime_error(fmt::format("{}: {} messages with {} slowdowns", path.string(),
                                             records.size(), slowdowns.size()));
    AtomicFile file(path);
    Buffer out;
    for (size_t i = 0; i < records.size(); i++) {
        append_line(out, records[i], slowdowns[i]);
        if (out.size() < kFlush) continue;
        file.write({out.data(), out.size()});
        out.clear();
    }
    file.write({out.data(), out.size()});
    file.commit();
}

}  // namespace pfqd::lab
