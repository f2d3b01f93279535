// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
//
// What a subcommand is to main(): it adds its options to the command line and, when
// it was the one that the user wrote, says what to do once the line is read.
//
// A new subcommand is one function of this form and one line in main.cpp.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>

namespace pfqd::ctl {

// Returns an ExitStatus.
using Action = std::function<int()>;

// One of its subcommands must follow; what follows instead is named, with those there
// are. To be called after they were added.
void require_command(CLI::App& app);

void add_edge_command(CLI::App& app, Action& action);

}  // namespace pfqd::ctl
