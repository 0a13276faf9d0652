// autotune/model/SampledGpu.h - runs, checks and counts some blocks of a launch
// on a simulated GPU.
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

// Runs the blocks of sampledBlocks() with the checks of `options`. Throws
// cases::LaunchFault if a check fails.
LaunchProfile profileLaunch(const cases::GpuLaunch &launch,
                            const sim::Options &options = {});

// Returns the blocks of a launch over `grid` whose share of the grid overlaps
// that of the blocks sampled from a launch over `sampled`, ascending.
std::vector<uint64_t> coveringBlocks(const Grid &sampled, const Grid &grid);

// A device that runs a few blocks of a recorded launch. Elements that these
// blocks do not store get their recorded results, so that results can be
// compared. In launches with atomics, this applies to all elements except those
// that one block stores completely: the sum of some blocks is not the sum of
// all.
class SampledGpu : public cases::Device {
public:
  // Creates the device of a name such as "sim:sm_80".
  explicit SampledGpu(std::string name) : text(std::move(name)) {}

  std::string name() const override { return text; }
  void run(const cases::LoadedCase &loaded, const cases::PreparedLaunch &launch,
           const std::vector<cases::ArgumentMemory> &memory,
           bool serial) override;

  // Requires later launches to store the elements that the last launch stored;
  // they run more blocks until they have. The last launch must be that of the
  // default configuration.
  void requireStored() {
    required = stored;
    requiredGrid = last.grid;
  }

  // Sets the instruction limit of a block; a block above it counts as endless.
  void setMostInstructions(double number) { most = uint64_t(number); }

  // The profile of the last launch.
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
  uint64_t most = uint64_t(1) << 27; // about a minute
};

} // namespace tessera::tune
