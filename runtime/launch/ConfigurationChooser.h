// runtime/launch/ConfigurationChooser.h - the interface through which launches
// ask for tuned configurations. library/Parts.cpp registers the tuning tables.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "runtime/Kernel.h"
#include "runtime/launch/LaunchDevice.h"
#include "support/Error.h"

#include <cstdint>
#include <optional>
#include <span>
#include <string>

namespace tessera::runtime {

// Tiles, warps and stages that replace the kernel's default configuration.
struct TunedConfiguration {
  Constexprs constexprs;
  // nullopt: the kernel's default. They mean nothing on the cpu.
  std::optional<int64_t> numWarps, numStages;
};

struct ChosenConfiguration {
  // nullopt: the launch runs with the kernel's default configuration.
  std::optional<TunedConfiguration> tuned;
  std::string why; // "table PATH", "no table", "no entry in PATH" ...
  // "the configuration BM=48 is that of PATH for KEY", for errors of a launch
  // that uses it; empty without `tuned`.
  std::string origin;
};

class ConfigurationChooser {
public:
  virtual ~ConfigurationChooser() = default;
  // What the key of a launch contains beside its arguments. Two launches of
  // equal arguments with the same number get the same configuration; 0 means
  // that there is nothing to choose from. Throws Error.
  virtual uint64_t tag(const LaunchDevice &device,
                       const LaunchOptions &options) const = 0;
  // Throws Error.
  virtual ChosenConfiguration choose(const LaunchDevice &device,
                                     const Kernel::State &kernel,
                                     std::span<const Arg> args,
                                     const Constexprs &constexprs,
                                     const LaunchOptions &options) const = 0;
};

// Null, as at first, turns tuned configurations off. The chooser must live as
// long as the process.
void setConfigurationChooser(const ConfigurationChooser *chooser);

// Return what the registered chooser returns; 0 and no configuration if there
// is no chooser or LaunchOptions::tuned is false.
uint64_t configurationTag(const LaunchDevice &device,
                          const LaunchOptions &options);
ChosenConfiguration chooseConfiguration(const LaunchDevice &device,
                                        const Kernel::State &kernel,
                                        std::span<const Arg> args,
                                        const Constexprs &constexprs,
                                        const LaunchOptions &options);

// Runs `make`. Appends the origin of the configuration to what it throws.
template <typename F>
auto orNameOrigin(const ChosenConfiguration &chosen, F &&make) {
  try {
    return make();
  } catch (const CompileError &error) {
    if (!chosen.tuned)
      throw;
    throw CompileError(std::string(error.what()) + "note: " + chosen.origin +
                       "\n");
  } catch (const Error &error) {
    if (!chosen.tuned)
      throw;
    throw Error(error.message + "; " + chosen.origin, error.hint);
  }
}

} // namespace tessera::runtime
