// tools/profile/TracedRun.cpp - runs the first steps of a training run with a
// trace.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "tools/profile/TracedRun.h"

#include "support/Error.h"
#include "support/File.h"
#include "support/Process.h"
#include "support/Progress.h"
#include "support/ScratchFolder.h"
#include "support/ShallowJson.h"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <fcntl.h>
#include <filesystem>
#include <sstream>

namespace tessera::tools {
namespace {

namespace fs = std::filesystem;

volatile std::sig_atomic_t profileInterrupted = 0;

std::vector<std::string> trainCommand(const TracedSteps &steps,
                                      const fs::path &run) {
  std::vector<std::string> all = {executablePath().string(), "train"};
  if (!steps.config.empty())
    all.insert(all.end(), {"--config", steps.config});
  all.insert(all.end(), steps.settings.begin(), steps.settings.end());
  all.insert(all.end(), {"--trace-target=" + steps.target,
                         "train.trace_steps=[" + std::to_string(steps.first) +
                             ", " + std::to_string(steps.last) + "]",
                         "out=" + run.string(), "resume=never", "panel=false",
                         "train.log_every=1", "train.save_every=0",
                         "train.milestone_every=0", "train.eval_every=0",
                         "train.final_windows=1"});
  return all;
}

std::vector<std::string> linesOfFile(const fs::path &file) {
  std::istringstream in(tryReadFile(file).value_or(""));
  std::vector<std::string> lines;
  for (std::string line; std::getline(in, line);)
    if (!line.empty())
      lines.push_back(line);
  return lines;
}

// Returns the last completed step, from the run's metrics.jsonl.
int64_t stepMade(const fs::path &run) {
  const std::vector<std::string> lines = linesOfFile(run / "metrics.jsonl");
  for (auto line = lines.rbegin(); line != lines.rend(); ++line)
    if (const Json record = parseShallowJson(*line);
        record.is_object() && record.contains("step"))
      return record["step"];
  return 0;
}

// Throws Error with the error and hint of the run, or else its last lines.
[[noreturn]] void throwFailure(const ExitStatus &status, const fs::path &log) {
  const std::vector<std::string> lines = linesOfFile(log);
  std::string message, hint, tail;
  for (const std::string &line : lines)
    if (line.starts_with("error: "))
      message = line.substr(7);
    else if (line.starts_with("HINT: "))
      hint = line.substr(6);
  for (size_t i = lines.size() - std::min<size_t>(lines.size(), 5);
       i < lines.size(); ++i)
    tail += "\n  " + lines[i];
  if (message.empty())
    message = status.text() + (tail.empty() ? "" : ", after:" + tail);
  throw Error("the run that is profiled failed: " + message,
              hint.empty() ? "make its first steps without the profile: "
                             "tessera preflight, with the same arguments"
                           : hint);
}

void showProgress(Progress &progress, const TracedSteps &steps,
                  const fs::path &run, const fs::path &log, double &begun) {
  if (!progress.due())
    return;
  const int64_t made = stepMade(run);
  const std::vector<std::string> lines = linesOfFile(log);
  std::string text =
      "step " + std::to_string(made) + " of " + std::to_string(steps.last);
  if (!made) {
    begun = progress.seconds(); // excludes compilation
    text = "the run starts" + (lines.empty() ? "" : ": " + lines.back());
  } else {
    const double left =
        (progress.seconds() - begun) / double(made) * double(steps.last - made);
    text += ", about " + std::to_string(int64_t(left) + 1) + " s left";
  }
  progress.show("profile: " + text);
}

} // namespace

void noteInterrupts() {
  for (const int signal : {SIGINT, SIGTERM})
    std::signal(signal, [](int) { profileInterrupted = 1; });
}

void throwIfInterrupted() {
  if (profileInterrupted)
    throw Error("interrupted: nothing was written", "");
}

RunTrace traceSteps(const TracedSteps &steps) {
  const ScratchFolder folder("profile");
  const fs::path run = folder.path() / "run", log = folder.path() / "log";
  SpawnOptions spawn;
  spawn.arguments = trainCommand(steps, run);
  UniqueFd out(
      ::open(log.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600));
  if (!out)
    throw Error("cannot write " + log.string() + ": " + errnoText(errno),
                "set TMPDIR to a folder on a disk with room");
  spawn.descriptors = {{1, out.get()}, {2, out.get()}};
  Process process = Process::spawn(spawn);
  Progress progress;
  double begun = 0;
  // The run writes the complete trace last and is then stopped. Otherwise it
  // would save a checkpoint or evaluate.
  while (!fs::exists(run / "trace.json")) {
    throwIfInterrupted();
    const auto status = process.wait(std::chrono::milliseconds(100));
    if (status && !fs::exists(run / "trace.json"))
      throwFailure(*status, log);
    showProgress(progress, steps, run, log, begun);
  }
  process.killGroup();
  process.wait();
  return {parseJson(readFile(run / "trace.json"), "the run's trace.json"),
          parseJson(readFile(run / "kernels.json"), "the run's kernels.json")};
}

} // namespace tessera::tools
