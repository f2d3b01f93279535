// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
#include "lab/host/plot.hpp"

#include <fmt/format.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <stdexcept>

#include "lab/common/fd.hpp"
#include "lab/host/table.hpp"

extern char** environ;

namespace pfqd::lab {

namespace {

constexpr const char* kMissing =
    "gnuplot is missing and draws the report's plots; install it as root with:\n"
    "  apt-get install -y --no-install-recommends gnuplot-nox";

// Files without a name: gnuplot can neither block on them nor leave them behind.
Fd memory_file(const char* name) {
    return Fd(check(memfd_create(name, MFD_CLOEXEC), "create a file in memory"));
}

void write_all(const Fd& fd, std::string_view text) {
    while (!text.empty()) {
        const ssize_t size = write(fd.get(), text.data(), text.size());
        if (size < 0) throw_errno("write the plot script");
        text.remove_prefix(static_cast<size_t>(size));
    }
    check(static_cast<int>(lseek(fd.get(), 0, SEEK_SET)), "rewind the plot script");
}

std::string read_all(const Fd& fd) {
    std::string text;
    std::array<char, 65536> buffer;
    ssize_t size;
    off_t at = 0;
    while ((size = pread(fd.get(), buffer.data(), buffer.size(), at)) > 0) {
        text.append(buffer.data(), static_cast<size_t>(size));
        at += size;
    }
    return text;
}

class SpawnActions {
  public:
    SpawnActions() { posix_spawn_file_actions_init(&actions_); }
    ~SpawnActions() { posix_spawn_file_actions_destroy(&actions_); }
    SpawnActions(SpawnActions&&) = delete;
    void redirect(const Fd& fd, int to) { posix_spawn_file_actions_adddup2(&actions_, fd.get(), to); }
    const posix_spawn_file_actions_t* get() const { return &actions_; }

  private:
    posix_spawn_file_actions_t actions_;
};

void replace_all(std::string& text, std::string_view from, const std::string& to) {
    for (size_t at = 0; (at = text.find(from, at)) != text.npos; at += to.size())
        text.replace(at, from.size(), to);
}

}  // namespace

std::string run_gnuplot(const std::string& script) {
    const Fd in = memory_file("script"), out = memory_file("plot"), err = memory_file("messages");
    write_all(in, script);
    SpawnActions actions;
    actions.redirect(in, STDIN_FILENO);
    actions.redirect(out, STDOUT_FILENO);
    actions.redirect(err, STDERR_FILENO);
    std::array<const char*, 4> argv = {"gnuplot", "--default-settings", "-", nullptr};
    pid_t pid = -1;
    const int error =
        posix_spawnp(&pid, argv[0], actions.get(), nullptr, const_cast<char**>(argv.data()), environ);
    if (error == ENOENT) throw std::runtime_error(kMissing);
    if (error) throw std::runtime_error(fmt::format("cannot run gnuplot: {}", std::strerror(error)));
    int status = 0;
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {
    }
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
        throw std::runtime_error("gnuplot failed:\n" + read_all(err).substr(0, 2000));
    return read_all(out);
}

std::string svg_plot(const std::string& script, const std::string& id, const std::string& description) {
    std::string svg = run_gnuplot(script);
    const size_t begin = svg.find("<svg");
    const size_t end = svg.rfind("</svg>");
    if (begin == svg.npos || end == svg.npos) throw std::runtime_error("gnuplot printed no SVG");
    svg = svg.substr(begin, end + 6 - begin) + "\n";
    // Inside HTML the name spaces are implied, and ids belong to the whole page.
    replace_all(svg, " xmlns=\"http://www.w3.org/2000/svg\"", "");
    replace_all(svg, " xmlns:xlink=\"http://www.w3.org/1999/xlink\"", "");
    replace_all(svg, " id='", " id='" + id + "-");
    replace_all(svg, " id=\"", " id=\"" + id + "-");
    replace_all(svg, "'#", "'#" + id + "-");
    replace_all(svg, "url(#", "url(#" + id + "-");
    replace_all(svg, "<title>Gnuplot</title>", "<title>" + html_escape(description) + "</title>");
    svg.insert(4, fmt::format(" role=\"img\" aria-label=\"{}\"", html_escape(description)));
    return svg;
}

}  // namespace pfqd::lab
