// trainer/parallel/SameStart.cpp - compares what the processes of a run start
// with.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "trainer/parallel/SameStart.h"

#include "support/BuildId.h"
#include "support/Error.h"
#include "support/File.h"
#include "support/Hash.h"
#include "support/Process.h"
#include "trainer/checkpoint/CheckpointFolder.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <torch/version.h>

namespace tessera::trainer {
namespace {

using nlohmann::json;

/// Identifies the compiler, torch and the program's file.
std::string buildOf() {
  const std::string program = sha256Hex(readFile(executablePath()));
  return fmt::format("program {}, compiler {}, torch {}", program.substr(0, 12),
                     std::string(compilerBuildId()).substr(0, 12),
                     TORCH_VERSION);
}

/// Returns the newest step in the run folder, or -1.
int64_t newestStep(const Config &config) {
  if (config.resume != "auto")
    return -1;
  const auto all = listCheckpoints(config.out);
  return all.empty() ? -1 : all.rbegin()->first;
}

std::string nameOf(int64_t rank, const json &told) {
  return fmt::format("process {} on node {}", rank,
                     told["node"].get<std::string>());
}

std::string stepText(const json &step) {
  return step.get<int64_t>() < 0 ? "none"
                                 : fmt::format("step {}", step.get<int64_t>());
}

void requireSameSettings(const json &first, const json &other, int64_t rank) {
  std::string text;
  int differences = 0;
  for (const auto &[key, value] : other["settings"].items())
    if (const json &own = first["settings"][key];
        own != value && ++differences <= 4)
      text += fmt::format("{} {}={} (process 0: {})", text.empty() ? "" : ",",
                          key, value.dump(), own.dump());
  if (differences > 4)
    text += fmt::format(" and {} more", differences - 4);
  if (differences > 0)
    throw Error(fmt::format("{} has other settings than {}:{}",
                            nameOf(rank, other), nameOf(0, first), text),
                "start all processes with the same config file, overrides and "
                "NSA_* variables");
}

} // namespace

void requireSameStart(const Config &given, DataParallel &parallel) {
  if (parallel.size() == 1)
    return;
  const json own = {{"node", parallel.node()},
                    {"build", buildOf()},
                    {"newest", newestStep(given)},
                    {"settings", toJson(given)}};
  json first;
  int64_t rank = 0;
  for (const std::string &text : parallel.fromAll(own.dump())) {
    const json told = json::parse(text);
    if (rank == 0)
      first = told;
    if (told["build"] != first["build"])
      throw Error(fmt::format("{} runs another build than {}: {}; process 0: "
                              "{}",
                              nameOf(rank, told), nameOf(0, first),
                              told["build"].get<std::string>(),
                              first["build"].get<std::string>()),
                  "install the same build on all nodes, or start it from a "
                  "shared folder");
    requireSameSettings(first, told, rank);
    if (told["newest"] > first["newest"])
      throw Error(
          fmt::format("{} has newer checkpoints in {} ({}) than {} ({})",
                      nameOf(rank, told), given.out, stepText(told["newest"]),
                      nameOf(0, first), stepText(first["newest"])),
          "put `out` on a file system that all nodes share, or give rank 0 to "
          "the node with the checkpoints; resume=never starts over");
    ++rank;
  }
}

} // namespace tessera::trainer
