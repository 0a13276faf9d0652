// autotune/SampledGpu.h - some blocks of a launch on a simulated GPU: checked
// and counted. Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "autotune/Profile.h"
#include "runtime/cases/Device.h"
#include "runtime/cases/GpuLaunch.h"

#include <optional>
#include <string>

namespace tessera::tune {

// Runs the blocks of sampledBlocks(), each with the checks of `options`. Throws
// cases::LaunchFault for what one of them does wrong.
LaunchProfile profileLaunch(const cases::GpuLaunch &launch,
                            const sim::Options &options = {});

// A device of which recorded launches run a few blocks only: what the others
// would have written is taken from the recording, so results can be compared;
// with atomics, everything is.
class SampledGpu : public cases::Device {
public:
  // "sim:sm_80".
  explicit SampledGpu(std::string name) : text(std::move(name)) {}

  std::string name() const override { return text; }
  std::optional<std::string> unsupported(const cases::Case &) override {
    return std::nullopt;
  }
  void compile(const std::vector<const cases::PreparedLaunch *> &) override {}
  void compileOne(const cases::PreparedLaunch &) override {}
  void run(const cases::LoadedCase &loaded, const cases::PreparedLaunch &launch,
           const std::vector<cases::ArgumentMemory> &memory,
           bool serial) override;

  // A block that executes more is one without an end.
  void setMostInstructions(double number) { most = uint64_t(number); }

  // Of the last launch.
  const LaunchProfile &profile() const { return last; }
  uint32_t spilledBytes() const { return spilled; }

private:
  std::string text;
  LaunchProfile last;
  uint32_t spilled = 0;
  uint64_t most = uint64_t(1) << 27; // a minute or so
};

} // namespace tessera::tune
