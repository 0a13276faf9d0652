// runtime/launch/ConfigurationChooser.cpp - the registered chooser.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "runtime/launch/ConfigurationChooser.h"

#include <atomic>

namespace tessera::runtime {

static std::atomic<const ConfigurationChooser *> registered{nullptr};

void setConfigurationChooser(const ConfigurationChooser *chooser) {
  registered.store(chooser, std::memory_order_release);
}

uint64_t configurationTag(const LaunchDevice &device,
                          const LaunchOptions &options) {
  const auto *chooser = registered.load(std::memory_order_acquire);
  return chooser && options.tuned ? chooser->tag(device, options) : 0;
}

static ChosenConfiguration noTable(const char *why) {
  ChosenConfiguration chosen;
  chosen.why = why;
  return chosen;
}

ChosenConfiguration chooseConfiguration(const LaunchDevice &device,
                                        const Kernel::State &kernel,
                                        std::span<const Arg> args,
                                        const Constexprs &constexprs,
                                        const LaunchOptions &options) {
  if (!options.tuned)
    return noTable("tables are not asked");
  const auto *chooser = registered.load(std::memory_order_acquire);
  if (!chooser)
    return noTable("no table");
  return chooser->choose(device, kernel, args, constexprs, options);
}

TableIdentity configurationTable(const LaunchDevice &device) {
  const auto *chooser = registered.load(std::memory_order_acquire);
  return chooser ? chooser->table(device) : TableIdentity();
}

} // namespace tessera::runtime
