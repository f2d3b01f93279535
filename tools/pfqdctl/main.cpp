// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
//
// pfqdctl: the operator's command. Each subcommand is registered here and lives in
// files of its own.
//
// Exit status: see failure.hpp and pfqdctl(8).
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <exception>

#include "pfqdctl/command.hpp"
#include "pfqdctl/failure.hpp"

namespace {

using namespace pfqd::ctl;

constexpr const char* kFooter =
    "\nExamples:\n"
    "  pfqdctl edge attach eth0           stamp all that enters by eth0\n"
    "  pfqdctl edge attach eth0 --trust   keep valid stamps of a trusted upstream\n"
    "  pfqdctl edge show                  where, in which mode, how many packets\n"
    "  pfqdctl edge detach eth0\n"
    "\nExit status: 0 done, 1 failed, 2 wrong usage, 3 show: not attached. See pfqdctl(8).\n";

int dispatch(int argc, char** argv) {
    CLI::App app{"pfqdctl: PFQD-DC on this host.", "pfqdctl"};
    app.footer(kFooter);
    Action action;
    add_edge_command(app, action);
    require_command(app);
    try {
        app.parse(argc, argv);
    } catch (const CLI::ParseError& error) {
        return app.exit(error) == 0 ? kDone : kUsage;
    }
    return action();
}

}  // namespace

int main(int argc, char** argv) {
    int status = kFailed;
    try {
        status = dispatch(argc, argv);
    } catch (const std::exception& error) {
        fmt::print(stderr, "pfqdctl: {}\n", error.what());
    }
    // A report that did not reach its file must not look like one that did.
    if (std::fflush(stdout) != 0 || std::ferror(stdout)) {
        std::perror("pfqdctl: standard output");
        return kFailed;
    }
    return status;
}
