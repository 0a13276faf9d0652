// autotune/Gate.cpp - whether a candidate's results are those that were
// recorded. Copyright the tessera authors. SPDX-License-Identifier: Apache-2.0
#include "autotune/Gate.h"

#include "runtime/cases/Replay.h"
#include "support/Error.h"
#include "support/File.h"

namespace tessera::tune {

namespace fs = std::filesystem;
using cases::LoadedCase;

Verdict checkResults(const LoadedCase &loaded,
                     const cases::PreparedLaunch &launch, const Grid &grid,
                     cases::Device &device) {
  LoadedCase own = loaded;
  own.recorded.grid = grid;
  cases::CaseReport report;
  cases::runCase(own, launch, device, false, report);
  Verdict verdict;
  verdict.seconds = report.seconds;
  if (report.status == cases::Status::Ok)
    return verdict;
  // A message of a tensor begins with its name, one of a fault does not.
  verdict.problem = (report.message.starts_with("`") ? "wrong results: " : "") +
                    report.message;
  return verdict;
}

std::optional<LoadedCase> withoutOldResults(const LoadedCase &loaded,
                                            const cases::PreparedLaunch &own,
                                            const Grid &grid,
                                            cases::Device &device) {
  LoadedCase changed = loaded;
  for (const cases::CaseArgument &argument : loaded.recorded.arguments)
    if (loaded.recorded.isWritten(argument.name) &&
        argument.layout.contiguous())
      // Large numbers of every type, and no block or row of anything.
      for (char &byte : changed.before[argument.name].bytes)
        byte = 0x7f;
  if (!checkResults(changed, own, grid, device).problem.empty())
    return std::nullopt;
  return changed;
}

void writeReproducer(const fs::path &folder, const fs::path &recorded,
                     const cases::PreparedLaunch &launch, const Grid &grid) {
  std::error_code error;
  fs::create_directories(folder, error);
  if (error)
    throw Error("cannot make the folder " + folder.string() + ": " +
                    error.message(),
                "name a table in a folder that can be written with --out");
  LoadedCase loaded = cases::loadCaseText(recorded);
  for (const auto &[name, value] : launch.constexprs)
    loaded.recorded.constexprs[name] = value;
  if (launch.options.numWarps)
    loaded.recorded.numWarps = launch.options.numWarps;
  if (launch.options.numStages)
    loaded.recorded.numStages = launch.options.numStages;
  loaded.recorded.grid = grid;
  writeFile(folder / loaded.recorded.kernelFile, loaded.kernelText);
  for (const char *name : {"before.safetensors", "after.safetensors"})
    if (fs::exists(recorded / name, error))
      writeFile(folder / name, readFile(recorded / name));
  writeFile(folder / "case.json", cases::writeCase(loaded.recorded));
}

} // namespace tessera::tune
