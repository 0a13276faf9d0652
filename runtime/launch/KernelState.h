// runtime/launch/KernelState.h - what one kernel of a file knows.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "compiler/syntax/Decorators.h"
#include "compiler/syntax/Program.h"
#include "compiler/syntax/Request.h"
#include "runtime/Kernel.h"
#include "runtime/compile/CompileService.h"
#include "runtime/device/cpu/CpuModule.h"
#include "runtime/launch/LaunchTable.h"

#include <atomic>
#include <map>
#include <memory>
#include <shared_mutex>
#include <string>
#include <utility>
#include <vector>

namespace tessera {

namespace runtime {

// A specialization, ready to run.
struct LoadedKernel {
  LoadedKernel(const CompiledKernel &compiled, const std::string &kernel,
               const std::vector<std::string> &parameters);

  CpuModule module;
  size_t scratchBytes = 0;
  struct Slot {
    size_t argument; // index into the launch's arguments
    bool isFloat32;
  };
  std::vector<Slot> slots;
  bool reports = false; // takes a Report in one more slot
};

// Names and values of constexprs.
using Configuration = std::map<std::string, syntax::Value>;

syntax::Value toValue(const ConstexprValue &value);
// Throws Error for a tuple or another value that ConstexprValue cannot hold.
ConstexprValue fromValue(const std::string &name, const syntax::Value &value);

// Counters of all kernels of the process.
std::atomic<uint64_t> &memoryHitCounter();

} // namespace runtime

struct Kernel::State {
  State(std::shared_ptr<const syntax::Program> program,
        const std::string &kernel);

  // Bytes that tell apart all launches that need different code. Of the
  // values of `args` only the class matters.
  std::string launchKey(const std::vector<Arg> &args,
                        const Constexprs &constexprs,
                        const LaunchOptions &options) const;
  // All constexprs of a launch, with configuration, heuristics and defaults.
  runtime::Configuration configure(const std::vector<Arg> &args,
                                   const Constexprs &given) const;
  syntax::CompileRequest request(const std::vector<Arg> &args,
                                 const Constexprs &constexprs,
                                 const LaunchOptions &options) const;
  std::shared_ptr<runtime::LoadedKernel> loaded(const std::vector<Arg> &args,
                                                const Constexprs &constexprs,
                                                const LaunchOptions &options);
  // Heuristics see values, so with any the constexprs of a launch are computed
  // before its key; else the given ones are enough.
  Constexprs keyConstexprs(const std::vector<Arg> &args,
                           const Constexprs &given) const;
  void checkCount(const std::vector<Arg> &args) const;

  std::shared_ptr<const syntax::Program> program;
  syntax::KernelInfo info;
  std::string name;
  std::vector<std::string> parameters; // that take an Arg
  std::vector<const syntax::KernelParameter *> runtimeParameters;
  runtime::Configuration firstConfiguration;
  int64_t numWarps = 4, numStages = 2;
  syntax::CompileRequest base;

  std::shared_mutex mutex;
  runtime::LaunchTable<runtime::LoadedKernel> table;
};

} // namespace tessera
