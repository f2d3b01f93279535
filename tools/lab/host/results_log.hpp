// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
//
// The log of a run: one record a message. It comes out of the guest as an array of
// struct rpcload_record, and is kept as JSON lines that any tool can read.
#pragma once

#include <filesystem>
#include <span>
#include <vector>

#include "lab/host/stats.hpp"

namespace pfqd::lab {

// The guest's log, checked: whole records, ids in order, arrivals in order of time, no
// message to its own sender, nothing done before it was sent. Throws with the file
// and the record.
std::vector<Record> load_log(const std::filesystem::path& path, uint32_t hosts);

// One line a message:
// {"id":,"src":,"dst":,"conn":,"bytes":,"at_ns":,"sent_ns":,"done_ns":,"slowdown":}
// null where a message was not sent or not finished. Written atomically.
void write_jsonl(const std::filesystem::path& path, std::span<const Record> records,
                 std::span<const double> slowdowns);

}  // namespace pfqd::lab
