// runtime/launch/KernelState.h - the state of a kernel: its source, hints,
// launch tables and loaded code.
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

// Returns the counter of launches served from memory, of all kernels.
std::atomic<uint64_t> &memoryHitCounter();

// Code of one specialization, loaded by its first launch.
struct SpecializedCode {
  std::mutex mutex; // held while loading
  std::shared_ptr<LoadedKernel> kernel;
};

// State of all launches that have the same key.
struct LaunchEntry {
  std::vector<uint64_t> key;
  const LaunchDevice *device = nullptr;
  // The constexprs that determine the code: those of the caller and of
  // heuristics.
  Constexprs constexprs;
  // All integer constexprs, including configuration and defaults.
  std::vector<std::pair<std::string, int64_t>> integers;
  // `code` is the shared specialization; `loaded` is its loaded kernel, set
  // after the first load.
  std::shared_ptr<SpecializedCode> code;
  mutable std::atomic<LoadedKernel *> loaded{nullptr};
  // The origin of the configuration, and its launch counter. `route` is set
  // when `loaded` is.
  ChosenConfiguration chosen;
  mutable Route *route = nullptr;
};

// A table entry, or a temporary entry if the table is full.
struct FoundEntry {
  const LaunchEntry *entry = nullptr;
  std::unique_ptr<LaunchEntry> own;
};

// Returns the properties of an argument that specialization uses.
language::Actual toActual(const Arg &arg);
// Appends the words of constexprs to a key, in their order.
void addConstexprs(LaunchKey &key, const Constexprs &constexprs);

} // namespace runtime

struct Kernel::State {
  State(std::shared_ptr<const language::Program> program,
        const std::string &kernel);
  // Creates the state of a kernel of a CUDA C++ source.
  State(const std::string &path, const std::string &text,
        const std::string &kernel);

  // Tiles, warps and stages of launches that do not specify them.
  struct Defaults {
    runtime::Configuration constexprs;
    int64_t numWarps = 4, numStages = 2;
  };
  const Defaults &defaults(const runtime::LaunchDevice &device) const {
    return device.isCpu() ? cpu : gpu;
  }
  // Returns the defaults of a launch, with the values of `chosen` applied.
  Defaults defaults(const runtime::LaunchDevice &device,
                    const runtime::ChosenConfiguration &chosen) const;

  // Returns the defaults of a launch with the registered chooser's
  // configuration.
  Defaults defaultsFor(const runtime::LaunchDevice &device,
                       std::span<const Arg> args, const Constexprs &given,
                       const LaunchOptions &options) const;

  // Writes the start of a launch key; the caller appends name and value of each
  // constexpr. Only the class of each argument enters the key; kernels with
  // heuristics add the values, because heuristics read them. Throws Error for a
  // wrong number of arguments.
  void beginKey(runtime::LaunchKey &key, const runtime::LaunchDevice &device,
                std::span<const Arg> args, const LaunchOptions &options,
                bool values) const;
  bool keyHasValues() const { return !info.heuristics.empty(); }
  // Returns the entry of a key, or null. Takes no lock.
  const runtime::LaunchEntry *findEntry(runtime::LaunchKey::View key) const {
    return table.find(key);
  }
  // Returns the entry of a launch and creates it if missing. Compiles nothing.
  // Throws Error.
  runtime::FoundEntry entryOf(runtime::LaunchKey::View key,
                              const runtime::LaunchDevice &device,
                              std::span<const Arg> args,
                              const Constexprs &constexprs,
                              const LaunchOptions &options);
  // Returns the entry's code; compiles and loads it first if necessary. Throws
  // Error.
  runtime::LoadedKernel &codeOf(const runtime::LaunchEntry &entry,
                                std::span<const Arg> args,
                                const LaunchOptions &options) const {
    if (auto *loaded = entry.loaded.load(std::memory_order_acquire)) {
      runtime::memoryHitCounter().fetch_add(1, std::memory_order_relaxed);
      return *loaded;
    }
    return loadCode(entry, args, options);
  }

  // Returns all constexprs of a launch, with configuration, heuristics and
  // defaults.
  runtime::Configuration configure(const Defaults &usual,
                                   std::span<const Arg> args,
                                   const Constexprs &given) const;
  // The same, with the device's tuned configuration.
  runtime::Configuration configure(const runtime::LaunchDevice &device,
                                   std::span<const Arg> args,
                                   const Constexprs &given,
                                   const LaunchOptions &options) const;
  language::CompileRequest request(std::span<const Arg> args,
                                   const Constexprs &constexprs,
                                   const LaunchOptions &options) const;
  void checkCount(size_t arguments) const;
  // Returns runtime::kernelName() and runtime::textHash() of the kernel.
  const std::pair<std::string, std::string> &nameAndHash() const;
  // Returns the hash of nameAndHash(), extended by the text of functions that
  // are passed as constexprs.
  std::string textHash(const Constexprs &constexprs) const;

  // True for CUDA C++, whose source is in `base`; it does not have a `program`.
  bool isCuda() const { return !program; }
  void requireGpu(const runtime::LaunchDevice &device) const;

  std::shared_ptr<const language::Program> program;
  language::KernelInfo info;
  std::string name;
  std::vector<std::string> parameters; // that take an Arg
  std::vector<const language::KernelParameter *> runtimeParameters;
  Defaults cpu, gpu;
  language::CompileRequest base;

  // Which of `parameters` are do_not_specialize. A plain array, because every
  // launch reads it.
  std::unique_ptr<bool[]> unspecialized;
  // Of those of `parameters` that declare an integer type.
  std::vector<runtime::DeclaredRange> declaredRanges;

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
  // Code by keys without argument values, so that entries share equal code.
  runtime::LaunchTable<std::shared_ptr<runtime::SpecializedCode>> codes;
};

} // namespace tessera
