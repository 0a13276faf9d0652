// tools/commands/Replay.cpp - tessera replay CASE...: runs recorded launches
// and compares results.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "tools/commands/Command.h"
#include "tools/commands/OptionChecks.h"
#include "tools/commands/OutOption.h"

#include "replay/Replay.h"
#include "support/Error.h"
#include "support/File.h"
#include "support/Lists.h"

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <cstdio>
#include <filesystem>
#include <memory>

namespace tessera::tools {

namespace fs = std::filesystem;

namespace {

struct ReplayOptions {
  std::vector<std::string> cases;
  cases::ReplayOptions replay;
  std::string out, json, ptx;
  int64_t timeout = 600;
  bool verbose = false;
};

int run(ReplayOptions &options) {
  std::vector<fs::path> folders;
  for (const std::string &path : options.cases)
    for (const fs::path &folder : cases::findCases(path))
      folders.push_back(folder);
  options.replay.out = options.out;
  options.replay.deviceOptions.ptx = options.ptx;
  options.replay.timeout = std::chrono::seconds(options.timeout);

  size_t counts[4] = {};
  std::string json;
  cases::replay(folders, options.replay, [&](const cases::CaseReport &report) {
    ++counts[size_t(report.status)];
    std::printf("%s\n", cases::reportLine(report).c_str());
    std::fflush(stdout);
    if (options.verbose && !report.message.empty())
      std::fprintf(stderr, "%s\n", report.message.c_str());
    json += (json.empty() ? "[\n" : ",\n") + cases::reportJson(report);
  });
  if (!options.json.empty())
    writeOutput(options.json, json + "\n]\n");
  if (folders.size() > 1) {
    std::printf("%zu cases:", folders.size());
    for (int i = 0; i < 4; ++i)
      if (counts[i])
        std::printf(" %zu %s", counts[i], cases::statusName(cases::Status(i)));
    std::printf("\n");
  }
  return counts[0] == folders.size() ? 0 : 1;
}

} // namespace

Command addReplay(CLI::App &app) {
  auto options = std::make_shared<ReplayOptions>();
  CLI::App *verb = app.add_subcommand(
      "replay", "Run recorded kernel launches and compare their results");
  verb->add_option("case", options->cases,
                   "folder with case.json, or a folder of such folders")
      ->required();
  verb->add_option("--device", options->replay.device,
                   joined(cases::deviceTable(), ", ",
                          [](const cases::DeviceKind &kind) {
                            return fmt::format("{} ({})", kind.prefix,
                                               kind.help);
                          }))
      ->capture_default_str();
  verb->add_option("--ptx", options->ptx,
                   "PTX to run instead of the case's kernel (--device sim): "
                   "a file, or its name in each case's folder");
  verb->add_flag("--serial", options->replay.serial,
                 "run the programs one after another in grid order");
  addOut(*verb, options->out,
         "folder that gets the produced tensors, one "
         "CASE.safetensors each");
  verb->add_option("--json", options->json,
                   "file that gets the reports as a JSON list");
  verb->add_option("--timeout", options->timeout,
                   "seconds after which one launch is stopped")
      ->check(positiveNumber())
      ->capture_default_str();
  verb->add_flag("-v,--verbose", options->verbose,
                 "whole compiler messages on stderr");
  verb->footer(
      "Examples:\n"
      "  tessera replay tests/replay\n"
      "  tessera replay tests/replay/own_matmul-fp32.matmul_plain --serial "
      "-v\n"
      "  tessera replay my_cases --out produced --json report.json\n"
      "  tessera replay my_case --device sim:sm_80 --ptx triton.ptx\n\n"
      "A line per case: its name, the device, the largest and the relative "
      "root mean square error of every\nwritten argument, and ok, mismatch, "
      "unsupported or error. The exit code is 1 unless all are ok.\n"
      "docs/cases.md describes the format and the rules of comparison.");
  return {verb, [options] { return run(*options); }};
}

} // namespace tessera::tools
