// tools/tessera-gpu-check.cpp - runs packed cases on the machine's NVIDIA GPU.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "runtime/device/cuda/Driver.h"
#include "support/Error.h"
#include "support/StopSignals.h"
#include "tools/gpucheck/GpuCheck.h"

#include <CLI/CLI.hpp>

#include <cstdio>

using namespace tessera;

// Prints the GPU. Returns exit code 2 without a GPU.
static int probe() {
  try {
    std::printf("%s\n", runtime::cuda::Driver::instance().gpu().c_str());
    return 0;
  } catch (const runtime::cuda::NoGpu &none) {
    std::printf("%s\n", none.message.c_str());
    return 2;
  }
}

int main(int argc, char **argv) {
  CLI::App app{"Runs packed cases on an NVIDIA GPU, compares their results "
               "with the recorded ones, and times them."};
  gpucheck::Options options;
  bool warm = false, probes = false;
  app.add_option("folder", options.folder,
                 "what tessera pack-cases wrote, or a case in it");
  app.add_flag("--probe", probes,
               "only say which GPU there is; exit code 2 where there is none");
  app.add_option("--json", options.json, "file that gets the results");
  app.add_option("--repeat", options.timed,
                 "timed launches of each case; 0: none")
      ->check(CLI::Range(0u, 100000u))
      ->capture_default_str();
  app.add_option("--again", options.repeated,
                 "launches that must write the same bytes again")
      ->check(CLI::Range(0u, 1000u))
      ->capture_default_str();
  app.add_option("--timeout", options.seconds,
                 "seconds after which a launch is stopped")
      ->check(CLI::Range(1u, 3600u))
      ->capture_default_str();
  app.add_flag("--warm-cache", warm,
               "do not clear the L2 cache before each timed launch");
  app.add_option("--phases", options.phases,
                 "only these: check, tune, time, peers, calibrate; results "
                 "are always compared")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->check(CLI::IsMember({"check", "tune", "time", "peers", "calibrate"}));
  app.add_option("--budget", options.budget,
                 "seconds of all; what does not fit is listed; 0: no limit")
      ->check(CLI::Range(0u, 1000000u))
      ->capture_default_str();
  app.add_flag("--resume", options.resume,
               "continue with the file of --json: nothing is done twice");
  app.add_option("--table", options.table,
                 "file that gets the tuned configurations; default: named "
                 "after the GPU, alongside the file of --json");
  app.add_option("--python", options.python,
                 "Python that may have torch, whose attention is timed, too")
      ->capture_default_str();
  app.footer("Example:\n  tessera-gpu-check packed --json result.json\n\n"
             "Without a GPU it says so and ends with 0; else with 1 unless "
             "every case is ok. Ctrl-C keeps what is known.");
  CLI11_PARSE(app, argc, argv);
  options.clearCache = !warm;
  try {
    if (probes)
      return probe();
    if (options.resume && options.json.empty())
      throw Error("--resume has no file to go on with", "name it with --json");
    if (options.folder.empty())
      throw Error("no folder is given", "name what tessera pack-cases wrote");
    const StopSignals signals;
    return gpucheck::runGpuCheck(options).exitCode;
  } catch (const std::exception &error) {
    std::fprintf(stderr, "tessera-gpu-check: error: %s\n", error.what());
  }
  return 1;
}
