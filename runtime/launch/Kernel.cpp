// runtime/launch/Kernel.cpp - the public interface of kernels
// (runtime/Kernel.h).
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "runtime/Kernel.h"

#include "language/ConstexprValues.h"
#include "language/CudaSource.h"
#include "runtime/launch/FindFile.h"
#include "runtime/launch/KernelFiles.h"
#include "runtime/launch/KernelState.h"
#include "runtime/launch/Parts.h"
#include "support/Error.h"
#include "support/File.h"
#include "support/GpuTarget.h"

#include <exception>
#include <filesystem>
#include <map>
#include <mutex>

namespace tessera {

namespace fs = std::filesystem;

namespace {
// Kernels that fromFile() has returned, by path and name. Never destroyed:
// other threads may launch while the process exits.
struct KnownKernels {
  std::mutex mutex;
  std::map<std::pair<std::string, std::string>, std::shared_ptr<Kernel::State>>
      kernels;
  std::map<std::string, std::shared_ptr<const language::Program>> programs;
};
KnownKernels &knownKernels() {
  static auto *const known = new KnownKernels;
  return *known;
}
} // namespace

Kernel Kernel::fromFile(const std::string &path, const std::string &name) {
  KnownKernels &known = knownKernels();
  const std::string found = runtime::findKernelFile(path);
  std::lock_guard<std::mutex> guard(known.mutex);
  std::shared_ptr<State> &state = known.kernels[{found, name}];
  if (!state) {
    if (language::isCudaSource(found)) {
      state = std::make_shared<State>(found, readFile(found), name);
    } else {
      auto &program = known.programs[found];
      if (!program)
        program = language::Program::loadFile(found);
      state = std::make_shared<State>(program, name);
    }
  }
  return Kernel(state);
}

Kernel Kernel::fromSource(std::string text, const std::string &name,
                          const std::string &path) {
  if (language::isCudaSource(path))
    return Kernel(std::make_shared<State>(path, text, name));
  return Kernel(std::make_shared<State>(
      language::Program::load(path, std::move(text)), name));
}

const std::string &Kernel::name() const { return state->name; }

const std::vector<std::string> &Kernel::parameters() const {
  return state->parameters;
}

// Returns the entry of a launch whose constexprs are all in one map.
static runtime::FoundEntry entryOf(Kernel::State &state,
                                   const std::vector<Arg> &args,
                                   const Constexprs &constexprs,
                                   const LaunchOptions &options) {
  const runtime::LaunchDevice &device = runtime::launchDevice(options);
  runtime::LaunchKey key;
  state.beginKey(key, device, args, options, state.keyHasValues());
  runtime::addConstexprs(key, constexprs);
  return state.entryOf(key.view(), device, args, constexprs, options);
}

void Kernel::prepare(const std::vector<Arg> &args, const Constexprs &constexprs,
                     const LaunchOptions &options) const {
  const auto found = entryOf(*state, args, constexprs, options);
  state->codeOf(*found.entry, args, options);
}

Constexprs Kernel::configuration(const std::vector<Arg> &args,
                                 const Constexprs &constexprs,
                                 const LaunchOptions &options) const {
  Constexprs result;
  for (const auto &[name, value] : state->configure(
           runtime::launchDevice(options), args, constexprs, options))
    result[name] = language::fromValue(name, value);
  return result;
}

void Kernel::launch(const Grid &grid, const std::vector<Arg> &args,
                    const Constexprs &constexprs,
                    const LaunchOptions &options) const {
  LaunchOptions own = options;
  own.wideGrid |= grid[0] > narrowGrid;
  const auto found = entryOf(*state, args, constexprs, own);
  runtime::LaunchHook *const hook = runtime::launchHook();
  if (hook && hook->takes(*this, *state, args, constexprs, own))
    return;
  runtime::LoadedKernel &kernel = state->codeOf(*found.entry, args, own);
  found.entry->route->count();
  if (!hook) [[likely]]
    return kernel.launch(grid, args, own.stream);
  const auto watched = hook->before(*state, grid, args, constexprs, options);
  kernel.launch(grid, args, own.stream);
  if (watched)
    watched->finished();
}

void precompile(const std::vector<LaunchRequest> &launches) {
  std::vector<language::CompileRequest> requests;
  for (const LaunchRequest &launch : launches)
    requests.push_back(launch.kernel.compileRequest(
        launch.args, launch.constexprs, launch.options));
  // Keeps the kernels in memory until each launch is prepared; the service
  // itself holds only weak references.
  decltype(runtime::CompileService::instance().getAll(requests)) held;
  std::exception_ptr failed;
  try {
    held = runtime::CompileService::instance().getAll(requests);
  } catch (const CompileError &) {
    failed = std::current_exception();
  }
  // Also after an error: the error of prepare() names the table that chose the
  // configuration.
  for (const LaunchRequest &launch : launches)
    launch.kernel.prepare(launch.args, launch.constexprs, launch.options);
  if (failed)
    std::rethrow_exception(failed);
}

language::CompileRequest
Kernel::compileRequest(const std::vector<Arg> &args,
                       const Constexprs &constexprs,
                       const LaunchOptions &options) const {
  return state->request(args, constexprs, options);
}

std::vector<KernelFile> kernelFiles() {
  KnownKernels &known = knownKernels();
  std::lock_guard<std::mutex> guard(known.mutex);
  std::map<std::string, std::string> texts;
  for (const auto &[key, state] : known.kernels)
    if (state && state->isCuda())
      texts.emplace(state->base.file, state->base.text);
    else if (state) // null if the kernel did not exist
      for (const language::RequestSource &source : state->base.sources)
        texts.emplace(source.path, source.text);
  std::vector<KernelFile> files;
  for (auto &[path, text] : texts)
    files.push_back({path, text});
  return files;
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
