// runtime/launch/KernelState.h - what one kernel of a file knows.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "language/Decorators.h"
#include "language/Program.h"
#include "language/Request.h"
#include "runtime/Kernel.h"
#include "runtime/compile/CompileService.h"
#include "runtime/launch/ConfigurationChooser.h"
#include "runtime/launch/LaunchDevice.h"
#include "runtime/launch/LaunchTable.h"
#include "runtime/launch/LoadedKernel.h"
#include "runtime/launch/Routing.h"

#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace tessera {

namespace runtime {

// Names and values of constexprs.
using Configuration = std::map<std::string, language::Value>;

// Counters of all kernels of the process.
std::atomic<uint64_t> &memoryHitCounter();

// One specialization: its code, loaded by the first launch that needs it.
struct SpecializedCode {
  std::mutex mutex; // of who loads
  std::shared_ptr<LoadedKernel> kernel;
};

// What is known of all launches with one key.
struct LaunchEntry {
  std::vector<uint64_t> key;
  const LaunchDevice *device = nullptr;
  // The constexprs that decide the code: given ones and those of heuristics.
  Constexprs constexprs;
  // All that are integers, with configuration and defaults.
  std::vector<std::pair<std::string, int64_t>> integers;
  // Where to get the code, and once it is there the code itself.
  std::shared_ptr<SpecializedCode> code;
  mutable std::atomic<LoadedKernel *> loaded{nullptr};
  // Where the configuration came from; counts launches. There once `loaded` is.
  ChosenConfiguration chosen;
  mutable Route *route = nullptr;
};

// An entry of the table, or one of its own where the table is full.
struct FoundEntry {
  const LaunchEntry *entry = nullptr;
  std::unique_ptr<LaunchEntry> own;
};

// What specialization sees of an argument.
language::Actual toActual(const Arg &arg);
// Key words of constexprs, in their order.
void addConstexprs(LaunchKey &key, const Constexprs &constexprs);

} // namespace runtime

struct Kernel::State {
  State(std::shared_ptr<const language::Program> program,
        const std::string &kernel);
  // Of a CUDA C++ source.
  State(const std::string &path, const std::string &text,
        const std::string &kernel);

  // Tiles, warps and stages of launches that name none.
  struct Defaults {
    runtime::Configuration constexprs;
    int64_t numWarps = 4, numStages = 2;
  };
  const Defaults &defaults(const runtime::LaunchDevice &device) const {
    return device.isCpu() ? cpu : gpu;
  }
  // The same of a launch: a table may have others.
  Defaults defaults(const runtime::LaunchDevice &device,
                    const runtime::ChosenConfiguration &chosen) const;

  // The same, by what the registered chooser returns for the launch.
  Defaults defaultsFor(const runtime::LaunchDevice &device,
                       std::span<const Arg> args, const Constexprs &given,
                       const LaunchOptions &options) const;

  // Opens the key of a launch; name and value of each constexpr follow it. Of
  // the values of `args` only the class matters, or all where the kernel has
  // heuristics, which see values. Throws Error for a wrong number of arguments.
  void beginKey(runtime::LaunchKey &key, const runtime::LaunchDevice &device,
                std::span<const Arg> args, const LaunchOptions &options,
                bool values) const;
  bool keyHasValues() const { return !info.heuristics.empty(); }
  // Null when there is none. Takes no lock.
  const runtime::LaunchEntry *findEntry(runtime::LaunchKey::View key) const {
    return table.find(key);
  }
  // What the table has under the key of such a launch, made where there is
  // none. Compiles nothing. Throws Error.
  runtime::FoundEntry entryOf(runtime::LaunchKey::View key,
                              const runtime::LaunchDevice &device,
                              std::span<const Arg> args,
                              const Constexprs &constexprs,
                              const LaunchOptions &options);
  // The entry's code, compiled and loaded where it is not yet. Throws Error.
  runtime::LoadedKernel &codeOf(const runtime::LaunchEntry &entry,
                                std::span<const Arg> args,
                                const LaunchOptions &options) const {
    if (auto *loaded = entry.loaded.load(std::memory_order_acquire)) {
      runtime::memoryHitCounter().fetch_add(1, std::memory_order_relaxed);
      return *loaded;
    }
    return loadCode(entry, args, options);
  }

  // All constexprs of a launch, with configuration, heuristics and defaults.
  runtime::Configuration configure(const Defaults &usual,
                                   std::span<const Arg> args,
                                   const Constexprs &given) const;
  // The same, by the table of the device.
  runtime::Configuration configure(const runtime::LaunchDevice &device,
                                   std::span<const Arg> args,
                                   const Constexprs &given,
                                   const LaunchOptions &options) const;
  language::CompileRequest request(std::span<const Arg> args,
                                   const Constexprs &constexprs,
                                   const LaunchOptions &options) const;
  void checkCount(size_t arguments) const;
  // runtime::kernelName() and runtime::textHash() of the kernel.
  const std::pair<std::string, std::string> &nameAndHash() const;
  // The hash of nameAndHash(), with the text of the functions among the
  // constexprs.
  std::string textHash(const Constexprs &constexprs) const;

  // True of CUDA C++, which has no program: `base` has the source.
  bool isCuda() const { return !program; }
  void requireGpu(const runtime::LaunchDevice &device) const;

  std::shared_ptr<const language::Program> program;
  language::KernelInfo info;
  std::string name;
  std::vector<std::string> parameters; // that take an Arg
  std::vector<const language::KernelParameter *> runtimeParameters;
  Defaults cpu, gpu;
  language::CompileRequest base;

  // Of `parameters`: do_not_specialize. An array: a launch reads it.
  std::unique_ptr<bool[]> unspecialized;

private:
  mutable std::once_flag named;
  mutable std::pair<std::string, std::string> names; // of nameAndHash()

  runtime::LoadedKernel &loadCode(const runtime::LaunchEntry &entry,
                                  std::span<const Arg> args,
                                  const LaunchOptions &options) const;
  std::shared_ptr<runtime::SpecializedCode>
  codeUnder(runtime::LaunchKey::View key);
  void takeParameters();

  runtime::LaunchTable<runtime::LaunchEntry> table;
  // By keys without values: entries share code that is the same.
  runtime::LaunchTable<std::shared_ptr<runtime::SpecializedCode>> codes;
};

} // namespace tessera
