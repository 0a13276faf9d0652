// runtime/launch/KernelState.h - what one kernel of a file knows.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "compiler/syntax/Decorators.h"
#include "compiler/syntax/Program.h"
#include "compiler/syntax/Request.h"
#include "runtime/Kernel.h"
#include "runtime/compile/CompileService.h"
#include "runtime/launch/LaunchTable.h"
#include "runtime/launch/LoadedKernel.h"

#include <atomic>
#include <map>
#include <memory>
#include <shared_mutex>
#include <string>
#include <utility>
#include <vector>

namespace tessera {

namespace runtime {

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

  // Bytes that tell apart all launches that need different code. Of the
  // values of `args` only the class matters.
  std::string launchKey(const runtime::LaunchDevice &device,
                        const std::vector<Arg> &args,
                        const Constexprs &constexprs,
                        const LaunchOptions &options) const;
  // All constexprs of a launch, with configuration, heuristics and defaults.
  runtime::Configuration configure(const runtime::LaunchDevice &device,
                                   const std::vector<Arg> &args,
                                   const Constexprs &given) const;
  syntax::CompileRequest request(const std::vector<Arg> &args,
                                 const Constexprs &constexprs,
                                 const LaunchOptions &options) const;
  std::shared_ptr<runtime::LoadedKernel> loaded(const std::vector<Arg> &args,
                                                const Constexprs &constexprs,
                                                const LaunchOptions &options);
  // Heuristics see values, so with any the constexprs of a launch are computed
  // before its key; else the given ones are enough.
  Constexprs keyConstexprs(const runtime::LaunchDevice &device,
                           const std::vector<Arg> &args,
                           const Constexprs &given) const;
  void checkCount(const std::vector<Arg> &args) const;

  // True of CUDA C++, which has no program: `base` has the source.
  bool isCuda() const { return !program; }
  void requireGpu(const runtime::LaunchDevice &device) const;

  std::shared_ptr<const syntax::Program> program;
  syntax::KernelInfo info;
  std::string name;
  std::vector<std::string> parameters; // that take an Arg
  std::vector<const syntax::KernelParameter *> runtimeParameters;
  Defaults cpu, gpu;
  syntax::CompileRequest base;

  std::shared_mutex mutex;
  runtime::LaunchTable<runtime::LoadedKernel> table;
};

} // namespace tessera
