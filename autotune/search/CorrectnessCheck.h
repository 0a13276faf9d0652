// autotune/search/CorrectnessCheck.h - compares a candidate's results with the
// recorded ones.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "replay/Device.h"

#include <filesystem>
#include <optional>
#include <string>

namespace tessera::tune {

struct Verdict {
  std::string problem; // empty: the results are correct
  double seconds = 0;  // of the launch, the first of this code
};

// Runs the launch once on separate memory between guard zones, and compares
// with the recorded results (docs/cases.md has the tolerances). Throws Error.
Verdict checkResults(const cases::LoadedCase &loaded,
                     const cases::PreparedLaunch &launch, const Grid &grid,
                     cases::Device &device);

// Returns the recorded launch with other previous contents in the elements that
// it stores and does not read. Otherwise a candidate that omits a store would
// pass, because memory already holds the result. `filled` of the result names
// the arguments. Returns nullopt if the default configuration `own` reads all
// of them.
std::optional<cases::LoadedCase>
withoutOldResults(const cases::LoadedCase &loaded,
                  const cases::PreparedLaunch &own, const Grid &grid,
                  cases::Device &device);

// Writes the recorded launch with the constexprs, warps and stages of `launch`
// and this grid as a case for `tessera replay`. Throws Error.
void writeReproducer(const std::filesystem::path &folder,
                     const std::filesystem::path &recorded,
                     const cases::PreparedLaunch &launch, const Grid &grid);

} // namespace tessera::tune
