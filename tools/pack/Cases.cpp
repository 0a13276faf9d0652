// tools/pack/Cases.cpp - packs recorded cases with their compiled GPU code.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "tools/pack/Cases.h"

#include "autotune/search/TableEntry.h"
#include "replay/Replay.h"
#include "replay/gpu/GpuDevice.h"
#include "replay/packed/Packed.h"
#include "replay/packed/PackedTensors.h"
#include "support/Error.h"
#include "support/File.h"
#include "support/GpuTarget.h"
#include "support/Json.h"
#include "support/Options.h"
#include "support/Process.h"
#include "support/Quantities.h"
#include "support/StopSignals.h"
#include "tools/pack/Calibration.h"
#include "tools/pack/Candidates.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>

namespace tessera::tools {

namespace fs = std::filesystem;

namespace {

// True if fp32 dots use tf32, as they do by default. False if integers depend
// on them: an index would change if two scores are close.
bool packsTf32(const cases::LoadedCase &loaded) {
  const cases::Case &recorded = loaded.recorded;
  // The value at program start, because packing changes the option.
  static const std::string asked = optionText(Option::F32Default);
  return asked == "tf32" && !cases::namesInputPrecision(loaded.kernelText) &&
         loaded.kernelText.find("dot(") != std::string::npos &&
         std::all_of(recorded.written.begin(), recorded.written.end(),
                     [&](const std::string &name) {
                       const auto *argument = recorded.find(name);
                       return argument->type && cases::isFloat(*argument->type);
                     });
}

// Packs a case. Returns false if a target failed.
bool packCase(const fs::path &from, const PackCasesOptions &options,
              const std::string &progress) {
  const std::string name = from.lexically_normal().filename().string();
  try {
    const cases::LoadedCase loaded = cases::loadCase(from);
    const bool tf32 = packsTf32(loaded);
    const cases::PreparedLaunch launch = cases::prepareLaunch(loaded);
    const fs::path to = fs::path(options.out) / loaded.folderName();
    std::error_code error;
    fs::create_directories(to, error);
    for (const std::string &file :
         {std::string("case.json"), loaded.recorded.kernelFile})
      writeOutput(to / file, readFile(from / file));
    cases::packTensors(loaded, to);
    ::setenv(optionInfo(Option::F32Default).name,
             tf32 ? "tf32" : launch.f32Default.c_str(), 1);
    for (const std::string &target : options.targets) {
      const auto compiled = runtime::CompileService::instance().get(
          cases::gpuRequest(launch, target, loaded.recorded.grid));
      cases::packTarget(to, target, *compiled, tf32);
      std::printf("%s%-32s %s%s\n", progress.c_str(), name.c_str(),
                  target.c_str(), compiled->code.empty() ? ", PTX only" : "");
      std::fflush(stdout);
    }
    return true;
  } catch (const Error &failed) {
    std::fprintf(stderr, "%s: %s\n", name.c_str(), failed.what());
    return false;
  }
}

// Writes the description of the pack, and the program that runs it.
void packProgram(const PackCasesOptions &options) {
  writeOutput(fs::path(options.out) / "pack.json",
              Json{{"version", 1},
                   {"commit", options.commit},
                   {"date", tune::utcNow()},
                   {"targets", options.targets}}
                      .dump(1) +
                  "\n");
  if (options.isPart)
    return;
  const fs::path from = executablePath().parent_path() / "tessera-gpu-check",
                 to = fs::path(options.out) / "tessera-gpu-check";
  std::error_code error;
  if (!fs::exists(from, error))
    return; // it was not built; the folder works with one from elsewhere
  writeOutput(to, readFile(from));
  if (!fs::is_regular_file(to, error))
    return; // a device keeps its permissions
  fs::permissions(to, fs::perms::owner_all | fs::perms::group_read |
                          fs::perms::group_exec | fs::perms::others_read |
                          fs::perms::others_exec);
}

size_t packAllCandidates(const std::vector<fs::path> &folders,
                         const PackCasesOptions &options) {
  size_t failed = 0;
  std::chrono::seconds budget{0};
  if (!options.tuneBudget.empty())
    budget = parseTimeSpan(options.tuneBudget, "--tune-budget");
  for (const std::string &target : options.targets)
    failed += packCandidates({folders, options.out, target, options.tuneKernels,
                              options.tunePtx, budget},
                             [](const std::string &line) {
                               std::printf("%s\n", line.c_str());
                               std::fflush(stdout);
                             });
  return failed;
}

} // namespace

int packCases(const PackCasesOptions &options) {
  for (const std::string &target : options.targets)
    GpuTarget::parse(target);
  std::vector<fs::path> folders;
  for (const std::string &path : options.cases)
    for (const fs::path &folder : cases::findCases(path))
      folders.push_back(folder);
  size_t failed = 0, done = 0;
  const auto start = std::chrono::steady_clock::now();
  for (const fs::path &folder : folders) {
    if (StopSignals::isSet())
      return 1;
    const double passed =
        std::chrono::duration<double>(std::chrono::steady_clock::now() - start)
            .count();
    const double left =
        done ? passed / double(done) * double(folders.size() - done) : 0;
    char progress[80];
    std::snprintf(progress, sizeof progress, "[%zu of %zu, about %.0f s left] ",
                  ++done, folders.size(), left);
    failed += !packCase(folder, options, passed > 2 ? progress : "");
  }
  if (options.tune)
    failed += packAllCandidates(folders, options);
  if (StopSignals::isSet())
    return 1;
  if (options.microbenchmarks)
    packCalibration(options.out, options.targets);
  packProgram(options);
  failed = std::min(failed, folders.size());
  if (!options.isPart)
    std::printf("%zu of %zu cases in %s; run them where a GPU is: "
                "%s/tessera-gpu-check %s\n",
                folders.size() - failed, folders.size(), options.out.c_str(),
                options.out.c_str(), options.out.c_str());
  return failed ? 1 : 0;
}

} // namespace tessera::tools
