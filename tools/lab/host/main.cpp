// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
//
// pfqd-lab: the command line of the lab.
//
// Exit status: 0 success, 1 a run or test failed, 2 wrong usage, 130 interrupted.
#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <thread>

#include "lab/host/configs.hpp"
#include "lab/host/installation.hpp"
#include "lab/host/qdisc_bench.hpp"
#include "lab/host/report.hpp"
#include "lab/host/selftest_command.hpp"
#include "lab/host/sweep.hpp"
#include "lab/host/verify.hpp"

namespace {

using namespace pfqd::lab;

// What the user typed, for the report's "how to reproduce".
std::string command_line(int argc, char** argv) {
    std::string text = "pfqd-lab";
    for (int i = 1; i < argc; i++) text += std::string(" ") + argv[i];
    return text;
}

void add_kernel_options(CLI::App* command, KernelChoice& kernel) {
    command
        ->add_option("--kernel-version,--version", kernel.version, "kernel series of Debian's linux-source")
        ->capture_default_str();
    command->add_flag("--debug", kernel.debug, "the kernel with KASAN, lockdep and the other detectors");
}

int run_kernel_script(const Installation& installation, const KernelChoice& kernel) {
    std::vector<const char*> argv = {"lab-kernel", "--version", kernel.version.c_str()};
    if (kernel.debug) argv.push_back("--debug");
    argv.push_back(nullptr);
    execv(installation.kernel_script().c_str(), const_cast<char**>(argv.data()));
    throw std::runtime_error("cannot run " + installation.kernel_script().string());
}

std::string run_help() {
    std::string text = "\nConfigurations:\n";
    for (const Configuration& one : configurations())
        text += fmt::format("  {:<16} {}\n", one.name, one.summary);
    text +=
        "\nCells: " + fmt::format("{}", fmt::join(e1_cells(), " ")) +
        " (any wN:LOAD, LOAD in percent of 25 Gbit/s or such as 3.2g)\n\nParameters for --set NAME=VALUE:\n" +
        settings_help() +
        "\nExamples:\n"
        "  pfqd-lab run e1 --cell w4:50 --config fifo,pfqd --seeds 1-3 --out results\n"
        "  pfqd-lab run e1 --cell w4:80 --config pfqd --set connection=random --out results\n";
    return text;
}

// The strings that CLI11 fills before they are checked and become a plan.
struct RunOptions {
    std::string experiment;
    std::string cells;
    std::string configs = "fifo,dctcp,fq_codel,pfqd";
    std::string seeds = "1";
    std::vector<std::string> settings;
    double duration_ms = 0;
    unsigned jobs = std::max(1u, std::thread::hardware_concurrency());
    unsigned stall_s = 120;
    std::string out = "results";
};

SweepPlan make_plan(const RunOptions& options, const KernelChoice& kernel, const std::string& command) {
    if (options.experiment != "e1")
        throw std::invalid_argument(fmt::format("experiment '{}' is none of e1", options.experiment));
    SweepPlan plan;
    plan.cells = options.cells.empty() ? e1_cells() : split_list(options.cells);
    plan.configs = split_list(options.configs);
    plan.seeds = parse_seeds(options.seeds);
    for (const std::string& text : options.settings) plan.settings.insert(parse_setting(text));
    if (options.duration_ms > 0) plan.duration_ns = static_cast<uint64_t>(options.duration_ms * 1e6);
    plan.jobs = options.jobs;
    plan.out = options.out;
    plan.kernel = kernel;
    plan.guest.stall = std::chrono::seconds(options.stall_s);
    plan.command = command;
    return plan;
}

void add_bench_options(CLI::App* bench, QdiscBenchPlan& plan, KernelChoice& kernel) {
    bench->add_option("--flows", plan.flows, "backlogs of so many flows, separated by commas")
        ->capture_default_str();
    bench->add_option("--packets", plan.kinds, "owned, forwarded and/or unhashed")->capture_default_str();
    bench->add_option("--rounds", plan.rounds, "rounds that count, over which medians are taken")
        ->check(CLI::Range(1, 1000))
        ->capture_default_str();
    bench->add_option("--batch", plan.batch, "operations between two readings of the clock")
        ->check(CLI::Range(1, 1024))
        ->capture_default_str();
    bench->add_flag("--profile", plan.profile, "also where pfqd's time goes, by function (needs perf)");
    bench->add_flag("--json", plan.json, "everything that was measured, as JSON");
    add_kernel_options(bench, kernel);
    bench->footer(
        "\nExamples:\n  pfqd-lab bench-qdisc\n"
        "  pfqd-lab bench-qdisc --flows 1000 --packets owned --rounds 31 --profile\n");
}

int dispatch(int argc, char** argv) {
    CLI::App app{
        "pfqd-lab: the real kernel in virtual time.\n"
        "Runs stock TCP and the project's modules in a User-Mode Linux guest whose clock is simulated."};
    app.require_subcommand(1);
    app.footer(
        "\nExamples:\n  pfqd-lab kernel\n  pfqd-lab run e1 --cell w4:50 --config fifo,pfqd --out results\n"
        "  pfqd-lab report results\n  pfqd-lab verify");
    KernelChoice kernel;

    CLI::App* build =
        app.add_subcommand("kernel", "build and cache the lab kernel and the modules against it");
    add_kernel_options(build, kernel);

    RunOptions options;
    CLI::App* run = app.add_subcommand("run", "run an experiment");
    run->add_option("experiment", options.experiment, "e1")->required();
    run->add_option("--cell", options.cells, "cells, separated by commas (default: all eight of E1)");
    run->add_option("--config", options.configs, "configurations, separated by commas")
        ->capture_default_str();
    run->add_option("--seeds", options.seeds, "seeds, such as 1-5 or 1,3")->capture_default_str();
    run->add_option("--duration", options.duration_ms, "traffic in ms (default 60 for w4 and w5, else 20)")
        ->check(CLI::Range(0.01, 100000.0));
    run->add_option("--set", options.settings, "NAME=VALUE, may be repeated; names below");
    run->add_option("--jobs", options.jobs, "guests at once")
        ->check(CLI::Range(1, 256))
        ->capture_default_str();
    run->add_option("--stall", options.stall_s,
                    "give a guest up that shows no sign of life for so many seconds")
        ->check(CLI::Range(5, 86400))
        ->capture_default_str();
    run->add_option("--out", options.out, "results directory; finished runs in it are kept")
        ->capture_default_str();
    add_kernel_options(run, kernel);
    run->footer(run_help());

    std::string report_dir;
    bool report_json = false;
    CLI::App* report = app.add_subcommand("report", "table on the terminal and DIR/report.html");
    report->add_option("dir", report_dir, "results directory of a run")->required();
    report->add_flag("--json", report_json, "print summary.json instead of the table");

    CLI::App* verify = app.add_subcommand("verify", "prove that a run is a function of its seed alone");
    add_kernel_options(verify, kernel);

    SelftestPlan tests;
    CLI::App* selftest = app.add_subcommand("selftest", "run the selftests in the guest");
    selftest->add_option("group", tests.groups, "groups below selftests/ (default: all)");
    selftest->add_flag("--verbose,-v", tests.verbose, "print every test point");
    add_kernel_options(selftest, kernel);

    QdiscBenchPlan bench_plan;
    CLI::App* bench = app.add_subcommand(
        "bench-qdisc", "what an enqueue and a dequeue of pfqd cost beside fq, fq_codel and cake");
    add_bench_options(bench, bench_plan, kernel);

    try {
        app.parse(argc, argv);
    } catch (const CLI::ParseError& error) {
        return app.exit(error) == 0 ? 0 : 2;
    }
    const Installation installation = Installation::find();
    tests.kernel = bench_plan.kernel = kernel;
    if (*build) return run_kernel_script(installation, kernel);
    if (*run) return run_sweep(make_plan(options, kernel, command_line(argc, argv)), installation);
    if (*report) return pfqd::lab::report(report_dir, {.json = report_json, .html = {}});
    if (*verify) return run_verify(kernel, installation);
    if (*bench) return run_qdisc_bench_command(bench_plan, installation);
    return run_selftest_command(tests, installation);
}

}  // namespace

int main(int argc, char** argv) {
    try {
        return dispatch(argc, argv);
    } catch (const std::invalid_argument& error) {
        fmt::print(stderr, "pfqd-lab: {}\n", error.what());
        return 2;
    } catch (const std::exception& error) {
        fmt::print(stderr, "pfqd-lab: {}\n", error.what());
        return 1;
    }
}
