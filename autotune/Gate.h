// autotune/Gate.h - whether a candidate's results are those that were recorded.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "runtime/cases/Device.h"

#include <filesystem>
#include <optional>
#include <string>

namespace tessera::tune {

struct Verdict {
  std::string problem; // empty: the results are right
  double seconds = 0;  // of the launch, the first of its code
};

// Runs the launch once on memory of its own, between zones of known bytes, and
// compares with the recorded results (docs/cases.md has the limits). Throws
// Error.
Verdict checkResults(const cases::LoadedCase &loaded,
                     const cases::PreparedLaunch &launch, const Grid &grid,
                     cases::Device &device);

// The recorded launch with other contents of what it only writes, so that a
// candidate that leaves something out cannot pass because the memory held the
// result already. None where the launch's own choice needs the contents.
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
