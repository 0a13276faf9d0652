// tools/commands/Record.cpp - tessera record: runs a command that records.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "tools/commands/Command.h"
#include "tools/commands/OptionChecks.h"
#include "tools/commands/OutOption.h"

#include "replay/Case.h"
#include "support/Error.h"
#include "support/Names.h"
#include "support/Options.h"
#include "support/Process.h"

#include <CLI/CLI.hpp>

#include <cinttypes>
#include <cstdio>
#include <filesystem>
#include <memory>

namespace tessera::tools {

namespace fs = std::filesystem;

namespace {

struct RecordOptions {
  std::string out = "recorded", kernels, config;
  int64_t limit = 1;
};

// Returns the words after the verb's options: a command, or settings of the
// training run.
std::vector<std::string> commandOf(const RecordOptions &options,
                                   std::vector<std::string> rest) {
  if (!rest.empty() && rest[0] == "--")
    rest.erase(rest.begin());
  if (!rest.empty() && rest[0].size() > 1 && rest[0][0] == '-')
    throw Error(
        "`record` has no option " + rest[0],
        nearestNameHint(rest[0].substr(0, rest[0].find('=')),
                        {"-o", "--out", "--kernels", "--limit", "--config"},
                        "options"));
  if (!options.config.empty()) {
    std::vector<std::string> command = {executablePath().string(), "train",
                                        "--config", options.config};
    command.insert(command.end(), rest.begin(), rest.end());
    return command;
  }
  if (rest.empty())
    throw Error("nothing to run",
                "give --config FILE, or a command: tessera record python "
                "script.py");
  return rest;
}

// Searches PATH for a program, as a shell does.
std::string findProgram(const std::string &name) {
  if (name.find('/') != std::string::npos)
    return name;
  const char *path = std::getenv("PATH");
  std::string folders = path ? path : "";
  for (size_t begin = 0; begin <= folders.size();) {
    const size_t end = std::min(folders.find(':', begin), folders.size());
    const fs::path candidate =
        fs::path(folders.substr(begin, end - begin)) / name;
    std::error_code error;
    if (fs::is_regular_file(candidate, error))
      return candidate.string();
    begin = end + 1;
  }
  throw Error("no program `" + name + "`", "give its path, or check PATH");
}

int run(const RecordOptions &options, const std::vector<std::string> &rest) {
  SpawnOptions spawn;
  spawn.arguments = commandOf(options, rest);
  spawn.arguments[0] = findProgram(spawn.arguments[0]);
  std::error_code error;
  const fs::path folder = fs::absolute(options.out, error);
  auto set = [&](Option option, const std::string &value) {
    spawn.environment.push_back(std::string(optionInfo(option).name) + "=" +
                                value);
  };
  set(Option::Record, folder.string());
  set(Option::RecordKernels, options.kernels);
  set(Option::RecordLimit, std::to_string(options.limit));
  const ExitStatus status = Process::spawn(spawn).wait();
  if (!status.ok())
    std::fprintf(stderr, "tessera: the command ended with %s\n",
                 status.text().c_str());

  std::vector<fs::path> found;
  try {
    found = cases::findCases(folder);
  } catch (const Error &) {
    throw Error("the command recorded no launch in " + folder.string(),
                "record programs that launch kernels through the torch ops; "
                "--kernels takes patterns of kernel names");
  }
  for (const fs::path &path : found) {
    const cases::LoadedCase loaded = cases::loadCase(path);
    uint64_t bytes = 0;
    for (const auto &[name, tensor] : loaded.before)
      bytes += tensor.bytes.size();
    const Grid &grid = loaded.recorded.grid;
    std::printf("%-28s grid %u x %u x %u, %" PRIu64 " bytes of arguments\n",
                path.filename().c_str(), grid[0], grid[1], grid[2], bytes);
  }
  std::printf("%zu cases in %s; run them with: tessera replay %s\n",
              found.size(), folder.c_str(), folder.c_str());
  return status.ok() ? 0 : 1;
}

} // namespace

Command addRecord(CLI::App &app) {
  auto options = std::make_shared<RecordOptions>();
  CLI::App *verb = app.add_subcommand(
      "record", "Run a command and keep its kernel launches as cases");
  addOut(*verb, options->out, "folder that gets the cases")
      ->capture_default_str();
  verb->add_option("--kernels", options->kernels,
                   "patterns of kernel names: \"select_*,window_fwd\"; "
                   "default: all");
  verb->add_option("--limit", options->limit, "launches of each kernel")
      ->check(positiveNumber())
      ->capture_default_str();
  verb->add_option("--config", options->config,
                   "a training run: tessera train --config FILE "
                   "[key=value ...]");
  verb->prefix_command();
  verb->footer(
      "Examples:\n"
      "  tessera record --config configs/quickstart.yaml train.steps=1\n"
      "  tessera record --out cases --kernels \"window_*\" --limit 3 "
      "python script.py\n"
      "  tessera replay cases\n\n"
      "The command gets TESSERA_RECORD and its companions; set them "
      "yourself to record any other way.\n"
      "docs/cases.md describes what is written.");
  return {verb, [options, verb] { return run(*options, verb->remaining()); }};
}

} // namespace tessera::tools
