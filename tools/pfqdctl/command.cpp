// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
#include "pfqdctl/command.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace pfqd::ctl {

void require_command(CLI::App& app) {
    // CLI11's own message does not say which word it did not know.
    app.allow_extras();
    app.callback([&app] {
        const std::vector<std::string> unknown = app.remaining();
        if (!app.get_subcommands().empty() && unknown.empty()) return;
        std::vector<std::string> known;
        for (const CLI::App* one : app.get_subcommands([](const CLI::App*) { return true; }))
            known.push_back(one->get_name());
        const std::string wanted = fmt::format("one of {}", fmt::join(known, ", "));
        throw CLI::ValidationError(app.get_name(), unknown.empty()
                                                       ? fmt::format("needs {}", wanted)
                                                       : fmt::format("'{}' is not {}", unknown[0], wanted));
    });
}

}  // namespace pfqd::ctl
