// tools/commands/PackCases.cpp - tessera pack-cases CASE... -o FOLDER: packs
// recorded launches with their GPU code.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "tools/commands/Command.h"
#include "tools/commands/OutOption.h"
#include "tools/pack/Cases.h"

#include <CLI/CLI.hpp>

#include <memory>

namespace tessera::tools {

Command addPackCases(CLI::App &app) {
  auto options = std::make_shared<PackCasesOptions>();
  CLI::App *verb = app.add_subcommand(
      "pack-cases", "Add compiled GPU code to recorded cases");
  verb->add_option("case", options->cases,
                   "folder with case.json, or a folder of such folders")
      ->required();
  addOut(*verb, options->out, "folder that gets the cases")
      ->capture_default_str();
  verb->add_option("--targets,--target", options->targets, "sm_80,sm_90 ...")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->capture_default_str();
  verb->add_option("--commit", options->commit,
                   "of the sources; kept in pack.json and in results");
  verb->add_flag("--tune", options->tune,
                 "also compile every configuration of the search spaces, to "
                 "be timed where the GPU is");
  verb->add_option("--tune-kernels", options->tuneKernels,
                   "with --tune: only kernels of these patterns, "
                   "\"window_*,rope\"");
  verb->add_option("--tune-budget", options->tuneBudget,
                   "with --tune: time to compile configurations, for each "
                   "target (2m); default: as long as it takes");
  verb->add_flag(
      "--tune-ptx", options->tunePtx,
      "with --tune: keep the configurations' PTX in addition to their "
      "machine code, as a simulated driver needs it");
  verb->add_flag("--microbenchmarks", options->microbenchmarks,
                 "also the kernels that measure the figures of the cost "
                 "model");
  verb->footer(
      "Examples:\n"
      "  tessera record --config configs/sim_smoke.yaml --out cases\n"
      "  tessera pack-cases cases -o packed\n"
      "  packed/tessera-gpu-check packed --json result.json\n\n"
      "The folder needs nothing but an NVIDIA driver; docs/gpu-check.md.");
  return {verb, [options] { return packCases(*options); }};
}

} // namespace tessera::tools
