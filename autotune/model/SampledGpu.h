// autotune/model/SampledGpu.h - some blocks of a launch on a simulated GPU:
// checked and counted.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "autotune/model/Profile.h"
#include "replay/Device.h"
#include "replay/GpuLaunch.h"

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace tessera::tune {

// Runs the blocks of sampledBlocks(), each with the checks of `options`. Throws
// cases::LaunchFault for what one of them does wrong.
LaunchProfile profileLaunch(const cases::GpuLaunch &launch,
                            const sim::Options &options = {});

// The blocks of a launch over `grid` whose share of it overlaps that of the
// blocks which a launch over `sampled` runs, ascending.
std::vector<uint64_t> coveringBlocks(const Grid &sampled, const Grid &grid);

// A device that runs a few blocks of a recorded launch. Elements that these
// blocks do not store get their recorded results, so that results can be
// compared. In launches with atomics so do all elements but those that a block
// stores whole: a sum of some blocks is not the sum of all.
class SampledGpu : public cases::Device {
public:
  // "sim:sm_80".
  explicit SampledGpu(std::string name) : text(std::move(name)) {}

  std::string name() const override { return text; }
  void run(const cases::LoadedCase &loaded, const cases::PreparedLaunch &launch,
           const std::vector<cases::ArgumentMemory> &memory,
           bool serial) override;

  // Every later launch must store the elements that the blocks of the last
  // launch stored: it runs more blocks until it has. The last launch is that
  // of the default configuration.
  void requireStored() {
    required = stored;
    requiredGrid = last.grid;
  }

  // A block that executes more is one without an end.
  void setMostInstructions(double number) { most = uint64_t(number); }

  // Of the last launch.
  const LaunchProfile &profile() const { return last; }
  uint32_t spilledBytes() const { return spilled; }

private:
  // Elements of each argument's storage.
  using Elements = std::map<std::string, std::vector<bool>>;
  struct Run; // of one launch

  std::string text;
  LaunchProfile last;
  Elements stored, required;
  Grid requiredGrid = {1, 1, 1};
  uint32_t spilled = 0;
  uint64_t most = uint64_t(1) << 27; // a minute or so
};

} // namespace tessera::tune
