// tools/commands/Profile.cpp - tessera profile --config RUN.yaml -o FOLDER:
// traces steps and writes pages.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "tools/commands/Command.h"
#include "tools/commands/OutOption.h"

#include "support/Error.h"
#include "support/File.h"
#include "support/GpuTarget.h"
#include "tools/profile/Write.h"
#include "trainer/settings/Config.h"

#include <CLI/CLI.hpp>

#include <algorithm>
#include <cstdio>
#include <memory>

namespace tessera::tools {
namespace {

struct ProfileOptions {
  std::string config, target, out = "profile";
  std::vector<std::string> settings;
  int64_t steps = 3, warmUp = 2;
};

void requireSteps(const ProfileOptions &options) {
  const trainer::Config config =
      trainer::readConfig(options.config, options.settings);
  if (const int64_t wanted = options.warmUp + options.steps;
      config.steps < wanted)
    throw Error("the run ends after " + std::to_string(config.steps) +
                    " steps, and " + std::to_string(options.warmUp) +
                    " to warm up and " + std::to_string(options.steps) +
                    " to trace are " + std::to_string(wanted),
                "write train.steps=" + std::to_string(wanted) +
                    ", or ask for fewer: --warm-up 0 --steps 1");
}

std::string commandText(const ProfileOptions &options) {
  std::string text = "tessera profile";
  if (!options.config.empty())
    text += " --config " + options.config;
  for (const std::string &setting : options.settings)
    text += " " + setting;
  return text;
}

// Returns the description of the run and its pages.
Json aboutRun(const ProfileOptions &options,
              const std::vector<KernelLink> &links) {
  std::string device = "torch alone", pages;
  bool gpu = false;
  for (const KernelLink &link : links) {
    device = link.ran.at("target").get<std::string>();
    gpu = GpuTarget::looksLike(device);
    if (!link.page.empty())
      pages = link.configured.at("target").get<std::string>();
  }
  return {{"command", commandText(options)},
          {"device", device},
          {"pages", pages},
          {"host", gpu}};
}

void printProfile(const Json &data) {
  const double steps = double(data.at("steps").size()),
               total = data.at("total_ms");
  const auto share = [&](const char *of) {
    return 100 * data.at(of).get<double>() / total;
  };
  std::printf("%s to %s: %.1f ms a step; %.1f%% in kernels, %.1f%% in matrix "
              "products of torch, %.1f%% outside\n",
              data["steps"].front()["name"].get<std::string>().c_str(),
              data["steps"].back()["name"].get<std::string>().c_str(),
              total / steps, share("kernels_ms"), share("gemms_ms"),
              share("outside_ms"));
  std::vector<Json> rows(data.at("kernels").begin(), data.at("kernels").end());
  std::stable_sort(rows.begin(), rows.end(), [](const Json &a, const Json &b) {
    return a.at("ms").get<double>() > b.at("ms").get<double>();
  });
  if (!rows.empty())
    std::printf("  %-24s %8s %10s %10s %6s\n", "kernel", "launches", "mean us",
                "ms a step", "share");
  for (size_t i = 0; i < std::min<size_t>(rows.size(), 8); ++i) {
    const double ms = rows[i].at("ms"),
                 launches = rows[i].at("launches").get<double>();
    std::printf("  %-24s %8.0f %10.1f %10.2f %5.1f%%\n",
                rows[i].at("name").get<std::string>().c_str(), launches / steps,
                1e3 * ms / launches, ms / steps, 100 * ms / total);
  }
}

int profile(const ProfileOptions &options) {
  const std::string target =
      GpuTarget::parse(options.target.empty() ? "sm_80" : options.target).name;
  requireSteps(options);
  noteInterrupts();
  NewFolder folder(options.out);
  const RunTrace made =
      traceSteps({options.config, options.settings, options.warmUp + 1,
                  options.warmUp + options.steps, target});
  const std::vector<KernelLink> links =
      writeKernelPages(made.kernels, !options.target.empty(), folder.path());
  const Json data = indexJson(made.trace, links, aboutRun(options, links));
  writeFile(folder.path() / "trace.json", linkedTrace(made.trace, links));
  writeFile(folder.path() / "index.html", indexPage(data));
  throwIfInterrupted();
  folder.finish();
  printProfile(data);
  size_t without = 0;
  for (const KernelLink &link : links)
    without += link.page.empty();
  std::string missing;
  if (without)
    missing =
        "; " + std::to_string(without) +
        (without == 1 ? " kind of launch has" : " kinds of launches have") +
        " no page, index.html says why";
  std::fprintf(stderr, "tessera: wrote %s/index.html and trace.json%s\n",
               options.out.c_str(), missing.c_str());
  return 0;
}

} // namespace

Command addProfile(CLI::App &app) {
  const auto options = std::make_shared<ProfileOptions>();
  CLI::App *verb = app.add_subcommand(
      "profile", "Trace the first steps of a training run: where their time "
                 "goes, with a page of every kernel");
  verb->add_option("--config", options->config, "the run's settings (YAML)");
  verb->add_option("settings", options->settings, "key=value, over the config");
  verb->add_option("--steps", options->steps, "steps to trace")
      ->check(CLI::Range(1, 1000))
      ->capture_default_str();
  verb->add_option("--warm-up", options->warmUp,
                   "steps before them, which are not traced")
      ->check(CLI::Range(0, 100000))
      ->capture_default_str();
  verb->add_option("--target", options->target,
                   "GPU that the kernels' pages are for: sm_80, sm_86, sm_89, "
                   "sm_90 (the one of the run; sm_80 where it is on the cpu)");
  addOut(*verb, options->out,
         "new folder that gets index.html, trace.json "
         "and kernels/")
      ->capture_default_str();
  verb->footer(
      "Examples:\n"
      "  tessera profile --config configs/quickstart.yaml -o profile\n"
      "  tessera profile --config my.yaml train.seq_len=1024 --steps 1 "
      "--target sm_90 -o long\n\n"
      "The steps are made in a folder that is removed; the run itself is "
      "neither started nor\nchanged. index.html says how long phases, kernels "
      "and other operations took, each\nkernel with a link to its page (as of "
      "tessera inspect); trace.json is for\nhttps://ui.perfetto.dev, where a "
      "launch has its configuration and the path of its\npage. "
      "docs/profile.md");
  return {verb, [options] { return profile(*options); }};
}

} // namespace tessera::tools
