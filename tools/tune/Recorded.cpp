// tools/tune/Recorded.cpp - records a micro-batch of a training run.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "tools/tune/Recorded.h"

#include "replay/Case.h"
#include "support/Error.h"
#include "support/Options.h"
#include "support/Process.h"
#include "support/Progress.h"
#include "support/StopSignals.h"
#include "tools/compile/Launches.h"

#include <chrono>
#include <optional>

namespace tessera::tools {

namespace fs = std::filesystem;

namespace {

// Records the launches of one micro-batch of the source as cases.
void recordStep(const TuneSearch &search, const LaunchSource &source,
                const fs::path &folder) {
  SpawnOptions spawn;
  spawn.arguments = {executablePath().string(), "train", "--micro-batch"};
  for (const std::string &word : source.arguments())
    spawn.arguments.push_back(word);
  const auto set = [&](Option option, const std::string &value) {
    spawn.environment.push_back(std::string(optionInfo(option).name) + "=" +
                                value);
  };
  set(Option::Record, (folder / "cases").string());
  set(Option::RecordKernels, search.kernels);
  set(Option::RecordLimit, "64");
  set(Option::RecordDistinct, "1");
  const bool forCpu = search.gpu.empty() && search.device == "cpu";
  set(Option::KernelsOf, forCpu ? "" : "gpu");
  set(Option::LogLevel, "warning");
  // Records with the kernels' default configurations, which are the baseline of
  // the candidates.
  set(Option::Tuned, "none");
  spawn.quiet = true;
  Process training = Process::spawn(spawn);
  Progress progress;
  std::optional<ExitStatus> status;
  while (!(status = training.wait(std::chrono::milliseconds(100)))) {
    if (StopSignals::isSet())
      throw Error("interrupted while a micro-batch was recorded",
                  "nothing was tuned; start again");
    if (progress.due())
      progress.show("recording a micro-batch of " + source.name() + " ... " +
                    std::to_string(int(progress.seconds())) + " s");
  }
  if (!status->ok())
    throw Error("a micro-batch of " + source.name() + " ended with " +
                    status->text(),
                source.config.empty()
                    ? "its own message is above"
                    : "its own message is above; try: tessera train --config " +
                          source.config + " train.steps=1");
}

} // namespace

std::vector<fs::path> recordedFolders(const TuneSearch &search,
                                      const fs::path &scratch) {
  std::vector<fs::path> folders;
  const LaunchSource source = launchSource(search.config, search.rest);
  if (!source.name().empty()) {
    recordStep(search, source, scratch);
    try {
      return cases::findCases(scratch / "cases");
    } catch (const Error &) {
      throw Error("a micro-batch of " + source.name() +
                      " launched no kernel that can be tuned",
                  search.kernels.empty()
                      ? "train with kernels: tessera"
                      : "check the names in --kernels " + search.kernels);
    }
  }
  for (const std::string &path : search.rest)
    for (const fs::path &folder : cases::findCases(path))
      folders.push_back(folder);
  return folders;
}

} // namespace tessera::tools
