// tools/commands/Preflight.cpp - tessera preflight: makes the first steps of a
// training run to find problems early.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "tools/commands/Command.h"

#include "support/Error.h"
#include "support/File.h"
#include "support/Process.h"
#include "support/ScratchFolder.h"
#include "support/ShallowJson.h"
#include "trainer/loop/Preflight.h"
#include "trainer/settings/Config.h"

#include <CLI/CLI.hpp>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <sstream>
#include <unistd.h>

namespace tessera::tools {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

struct PreflightOptions {
  std::string file;
  std::vector<std::string> settings;
  int64_t processes = 1, steps = 20;
};

volatile std::sig_atomic_t interrupted = 0;

std::vector<json> recordsOf(const fs::path &run) {
  std::istringstream lines(tryReadFile(run / "metrics.jsonl").value_or(""));
  std::vector<json> all;
  for (std::string line; std::getline(lines, line);)
    if (json record = parseShallowJson(line); record.is_object())
      all.push_back(std::move(record));
  return all;
}

/// Makes the first steps of the run in `folder`, with the schedule of the run.
ExitStatus makeSteps(const PreflightOptions &options, const fs::path &folder) {
  SpawnOptions spawn;
  spawn.arguments = {executablePath().string(), "train"};
  auto &all = spawn.arguments;
  if (!options.file.empty())
    all.insert(all.end(), {"--config", options.file});
  if (options.processes > 1)
    all.insert(all.end(), {"--nproc", std::to_string(options.processes)});
  all.insert(all.end(), options.settings.begin(), options.settings.end());
  all.insert(all.end(),
             {"out=" + folder.string(), "resume=never", "panel=false",
              "train.log_every=1", "train.save_every=0", "train.eval_every=0",
              "train.final_windows=1"});
  // The run has a separate process group, so Ctrl-C does not reach it.
  for (const int signal : {SIGINT, SIGTERM})
    std::signal(signal, [](int) { interrupted = 1; });
  Process run = Process::spawn(spawn);
  for (;;) {
    if (interrupted)
      throw Error("interrupted: the run is ended, its folder removed");
    if (const auto status = run.wait(std::chrono::milliseconds(100)))
      return *status;
    // The run saves and ends after its current step if .HALT exists.
    const auto records = recordsOf(folder);
    if (!records.empty() &&
        records.back().value("step", int64_t(0)) >= options.steps &&
        !fs::exists(folder / ".HALT"))
      writeFile(folder / ".HALT", "the steps of tessera preflight are made\n");
  }
}

int preflight(const PreflightOptions &options) {
  const trainer::Config config =
      trainer::readConfig(options.file, options.settings, options.processes);
  const ScratchFolder folder("preflight");
  const ExitStatus status = makeSteps(options, folder.path());
  auto records = recordsOf(folder.path());
  const int64_t wanted = std::min(options.steps, config.steps);
  std::erase_if(records, [&](const json &r) {
    return r.value("step", int64_t(0)) > wanted;
  });
  trainer::Preflight result = trainer::judgePreflight(
      config, wanted, records,
      int64_t(sysconf(_SC_PHYS_PAGES)) * sysconf(_SC_PAGE_SIZE));
  if (!status.ok() && status.code != 128 + SIGTERM)
    result.faults.insert(
        result.faults.begin(),
        "the run failed: " + status.text() +
            ". Its folder is removed, so a hint above to resume it does not "
            "apply: change the settings and repeat tessera preflight");
  std::printf("%s", result.table.c_str());
  for (const std::string &fault : result.faults)
    std::printf("NO-GO: %s\n", fault.c_str());
  if (result.faults.empty())
    std::printf("GO\n");
  return result.faults.empty() ? 0 : 1;
}

} // namespace

Command addPreflight(CLI::App &app) {
  CLI::App *verb = app.add_subcommand(
      "preflight", "Make the first steps of a training run in a folder of "
                   "their own, and say GO (0) or NO-GO (1)");
  const auto options = std::make_shared<PreflightOptions>();
  verb->add_option("--config", options->file, "settings (YAML)");
  verb->add_option("settings", options->settings, "key=value, over the config");
  verb->add_option("--nproc", options->processes,
                   "processes on this machine that share each batch")
      ->check(CLI::Range(1, 1024));
  verb->add_option("--steps", options->steps, "steps to make")
      ->check(CLI::Range(4, 100000))
      ->capture_default_str();
  return {verb, [options] { return preflight(*options); }};
}

} // namespace tessera::tools
