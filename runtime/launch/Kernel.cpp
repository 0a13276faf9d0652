// runtime/launch/Kernel.cpp - the public face of kernels.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "runtime/Kernel.h"

#include "runtime/device/cpu/Parallel.h"
#include "runtime/device/cpu/Report.h"
#include "runtime/launch/FindFile.h"
#include "runtime/launch/KernelState.h"
#include "runtime/launch/Record.h"
#include "support/Error.h"

#include <bit>
#include <filesystem>
#include <map>
#include <mutex>

namespace tessera {

namespace fs = std::filesystem;

Kernel Kernel::fromFile(const std::string &path, const std::string &name) {
  static std::mutex mutex;
  static auto *const kernels =
      new std::map<std::pair<std::string, std::string>, std::shared_ptr<State>>;
  static auto *const programs =
      new std::map<std::string, std::shared_ptr<const syntax::Program>>;
  const std::string found = runtime::findKernelFile(path);
  std::lock_guard<std::mutex> guard(mutex);
  std::shared_ptr<State> &state = (*kernels)[{found, name}];
  if (!state) {
    auto &program = (*programs)[found];
    if (!program)
      program = syntax::Program::loadFile(found);
    state = std::make_shared<State>(program, name);
  }
  return Kernel(state);
}

Kernel Kernel::fromSource(std::string text, const std::string &name,
                          const std::string &path) {
  return Kernel(std::make_shared<State>(
      syntax::Program::load(path, std::move(text)), name));
}

const std::string &Kernel::name() const { return state->name; }

const std::vector<std::string> &Kernel::parameters() const {
  return state->parameters;
}

void Kernel::prepare(const std::vector<Arg> &args, const Constexprs &constexprs,
                     const LaunchOptions &options) const {
  state->loaded(args, constexprs, options);
}

Constexprs Kernel::configuration(const std::vector<Arg> &args,
                                 const Constexprs &constexprs) const {
  Constexprs result;
  for (const auto &[name, value] : state->configure(args, constexprs))
    result[name] = runtime::fromValue(name, value);
  return result;
}

static int64_t slotBits(const Arg &arg, bool isFloat32) {
  if (const Pointer *pointer = std::get_if<Pointer>(&arg))
    return int64_t(reinterpret_cast<uintptr_t>(pointer->address));
  if (const int64_t *number = std::get_if<int64_t>(&arg))
    return *number;
  if (const bool *flag = std::get_if<bool>(&arg))
    return *flag;
  if (const double *number = std::get_if<double>(&arg))
    return isFloat32 ? int64_t(std::bit_cast<uint32_t>(float(*number)))
                     : std::bit_cast<int64_t>(*number);
  return 0;
}

void Kernel::launch(const Grid &grid, const std::vector<Arg> &args,
                    const Constexprs &constexprs,
                    const LaunchOptions &options) const {
  const auto kernel = state->loaded(args, constexprs, options);
  constexpr size_t few = 64;
  int64_t inlineSlots[few];
  std::vector<int64_t> manySlots;
  int64_t *slots = inlineSlots;
  if (kernel->slots.size() >= few) {
    manySlots.resize(kernel->slots.size() + 1);
    slots = manySlots.data();
  }
  for (size_t i = 0; i < kernel->slots.size(); ++i)
    slots[i] =
        slotBits(args[kernel->slots[i].argument], kernel->slots[i].isFloat32);
  const auto run = [&] {
    if (!kernel->reports)
      return runtime::runGrid(kernel->module.entry(), slots, grid,
                              kernel->scratchBytes);
    runtime::Report report;
    slots[kernel->slots.size()] =
        int64_t(reinterpret_cast<uintptr_t>(report.callbacks()));
    runtime::runGrid(kernel->module.entry(), slots, grid, kernel->scratchBytes,
                     &report);
    report.finish(state->name);
  };
  if (!runtime::recording())
    return run();
  runtime::LaunchRecorder recorder(*state, grid, args, constexprs, options);
  run();
  recorder.write();
}

void precompile(const std::vector<LaunchRequest> &launches) {
  std::vector<syntax::CompileRequest> requests;
  for (const LaunchRequest &launch : launches)
    requests.push_back(launch.kernel.compileRequest(
        launch.args, launch.constexprs, launch.options));
  runtime::CompileService::instance().getAll(requests);
  for (const LaunchRequest &launch : launches)
    launch.kernel.prepare(launch.args, launch.constexprs, launch.options);
}

syntax::CompileRequest
Kernel::compileRequest(const std::vector<Arg> &args,
                       const Constexprs &constexprs,
                       const LaunchOptions &options) const {
  return state->request(args, constexprs, options);
}

KernelStats kernelStats() {
  auto &service = runtime::CompileService::instance();
  KernelStats stats;
  stats.compiled = service.counters().compiled;
  stats.loaded = service.counters().loaded;
  stats.memoryHits = runtime::memoryHitCounter();
  stats.badCacheEntries = service.cache().badEntries();
  return stats;
}

} // namespace tessera
