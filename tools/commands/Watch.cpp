// tools/commands/Watch.cpp - tessera watch: examines a training run at
// intervals and reports the first anomaly.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "tools/commands/Command.h"

#include "support/File.h"
#include "trainer/observe/ExamineRun.h"

#include <CLI/CLI.hpp>

#include <chrono>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <thread>

namespace tessera::tools {
namespace {

struct WatchOptions {
  std::string run;
  trainer::WatchLimits limits;
  double interval = 15;
  bool once = false, halt = false;
};

double now() {
  return std::chrono::duration<double>(
             std::chrono::system_clock::now().time_since_epoch())
      .count();
}

int watch(const WatchOptions &options) {
  for (;;) {
    const trainer::Verdict verdict =
        trainer::examineRun(options.run, options.limits, now());
    if (verdict.finding != trainer::RunFinding::Fine) {
      std::printf("%s: %s\n", trainer::findingName(verdict.finding),
                  verdict.text.c_str());
      if (!verdict.finished) {
        const std::filesystem::path run = options.run;
        writeFile(run / ".anomaly_type",
                  std::string(trainer::findingName(verdict.finding)) + "\n");
        if (options.halt)
          writeFile(run / ".HALT",
                    verdict.text + "; the same command continues there\n");
      }
      return int(verdict.finding);
    }
    if (options.once || verdict.finished) {
      std::printf("%s\n", verdict.text.c_str());
      return 0;
    }
    std::this_thread::sleep_for(
        std::chrono::duration<double>(options.interval));
  }
}

} // namespace

Command addWatch(CLI::App &app) {
  CLI::App *verb = app.add_subcommand(
      "watch",
      "Watch a training run by its files; ends when something is "
      "wrong (3 stall, 4 tokens per second collapse, 5 not finite, 6 "
      "gates collapse, 7 zero gradient) or when the run has ended (0)");
  const auto options = std::make_shared<WatchOptions>();
  verb->add_option("run", options->run, "run folder")->required();
  verb->add_flag("--once", options->once, "look once: 0 when all is well");
  verb->add_flag("--halt", options->halt,
                 "write .HALT, which makes the run save and end");
  verb->add_option("--stall", options->limits.stall,
                   "seconds without a sign of life, ten median steps at least")
      ->check(CLI::Range(1.0, 1e6))
      ->capture_default_str();
  verb->add_option("--interval", options->interval, "seconds between looks")
      ->check(CLI::Range(0.1, 1e6))
      ->capture_default_str();
  return {verb, [options] { return watch(*options); }};
}

} // namespace tessera::tools
