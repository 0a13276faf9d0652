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
  // nullopt: the kernel's default. The cpu ignores them.
  std::optional<int64_t> numWarps, numStages;
};

// The tuning table of a device; all members are empty without a table.
struct TableIdentity {
  std::string path;   // of the table, or of the pack that contains it
  std::string origin; // "TESSERA_TUNED", "TESSERA_PACK", "this build", "given"
  std::string sha256; // of the text that printTable() writes
};

struct ChosenConfiguration {
  // nullopt: the launch runs with the kernel's default configuration.
  std::optional<TunedConfiguration> tuned;
  std::string why; // "table PATH", "no table", "no entry in PATH" ...
  // "the configuration BM=48 is that of PATH for KEY": appended to errors of a
  // launch that uses it. Empty without `tuned`.
  std::string origin;
  // The launch as tables name it: kernel, element types, constexprs and length.
  std::string launch;
  // The entry's length is that of the launch, rounded up to a power of two.
  bool roundedLength = false;
};

class ConfigurationChooser {
public:
  virtual ~ConfigurationChooser() = default;
  // Returns a number that becomes part of the launch key. Two launches with
  // equal arguments and numbers get the same configuration. 0 means that no
  // table applies. Throws Error.
  virtual uint64_t tag(const LaunchDevice &device,
                       const LaunchOptions &options) const = 0;
  // Returns the configuration of a launch. Throws Error.
  virtual ChosenConfiguration choose(const LaunchDevice &device,
                                     const Kernel::State &kernel,
                                     std::span<const Arg> args,
                                     const Constexprs &constexprs,
                                     const LaunchOptions &options) const = 0;
  // Returns the table of a device, with stale entries. Throws Error.
  virtual TableIdentity table(const LaunchDevice &device) const = 0;
};

// Registers the chooser. Null, the initial value, disables tuned
// configurations. The chooser must live as long as the process.
void setConfigurationChooser(const ConfigurationChooser *chooser);

// Returns what the registered chooser returns; 0 (or no configuration) without
// a chooser or if LaunchOptions::tuned is false.
uint64_t configurationTag(const LaunchDevice &device,
                          const LaunchOptions &options);
ChosenConfiguration chooseConfiguration(const LaunchDevice &device,
                                        const Kernel::State &kernel,
                                        std::span<const Arg> args,
                                        const Constexprs &constexprs,
                                        const LaunchOptions &options);
TableIdentity configurationTable(const LaunchDevice &device);

// Runs `make`. Appends the configuration's origin to the message of an
// exception.
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
