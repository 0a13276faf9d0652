// runtime/Kernel.h - kernels: found, specialized, compiled when needed, run.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "language/Constexprs.h"

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace tessera {

namespace language {
struct CompileRequest;
}
namespace runtime {
class LaunchDevice;
struct LaunchEntry;
} // namespace runtime

// Memory of elements of one type.
struct Pointer {
  static constexpr size_t unknown = SIZE_MAX;

  void *address = nullptr;
  DType type = DType::FP32;
  // Memory that the kernel may touch: from the address on, and before it
  // (negative strides). The cpu does not look at it; the simulator checks every
  // access against it, and lets a pointer of unknown size touch the whole
  // mapping of the process that it points into.
  size_t bytes = unknown;
  size_t bytesBefore = 0;
};

// One argument of a launch. nullptr is Python's None; uint64_t is an integer
// that int64_t does not hold.
using Arg =
    std::variant<std::nullptr_t, Pointer, int64_t, double, bool, uint64_t>;
using Grid = std::array<uint32_t, 3>;

// What kernels run on. A handle is found by its name once (findDevice()) and
// serves every launch; the empty one stands for defaultDevice().
class DeviceHandle {
public:
  DeviceHandle() = default;
  explicit DeviceHandle(const runtime::LaunchDevice &device)
      : device(&device) {}
  const runtime::LaunchDevice *get() const { return device; }
  explicit operator bool() const { return device; }
  bool operator==(const DeviceHandle &) const = default;

private:
  const runtime::LaunchDevice *device = nullptr;
};
// "cpu", "sim:sm_80" ... Throws Error for an unknown device, with the nearest
// name, and for one that this build cannot run on.
DeviceHandle findDevice(const std::string &name);

struct LaunchOptions {
  // None: what the kernel's first configuration says.
  std::optional<int64_t> numWarps, numStages;
  DeviceHandle device;
  // A CUstream of the device cuda, on which the launch is put; null: the
  // default stream. Other devices have none.
  void *stream = nullptr;
  // Code for a grid of more than 2^21 programs along x (docs/numerics.md).
  // Kernel::launch() sees to it itself.
  bool wideGrid = false;
  // Tokens of the longest sequence; 0: not known. Tuned configurations are
  // chosen by it, no kernel sees it.
  int64_t sequence = 0;
  // False: configurations of tables are not asked for.
  bool tuned = true;
};

// Of the same machine the device whose arguments are the host's memory:
// "cuda:check" for "cuda", whose are the GPU's; others are their own.
std::string hostMemoryDevice(const std::string &name);

// What launches run on that name no device: TESSERA_DEVICE ("cpu" without it)
// until setDefaultDevice() was called. Throws Error for an unknown device, and
// for one that this build cannot run on.
const std::string &defaultDevice();
void setDefaultDevice(const std::string &device);
// The names of all devices, cpu first.
std::vector<std::string> deviceNames();
// What kernels are compiled for on a device: hostTarget() for cpu, "sm_80" for
// sim:sm_80. Throws Error.
std::string deviceTarget(const std::string &device);

// A kernel of a file: of tiles (.py), or of CUDA C++ (.cu), which only GPU
// devices run and whose constexprs are its -D definitions. Copies share what
// was compiled; all methods may be called from several threads.
class Kernel {
public:
  // "kernels/..." names a kernel of this build: TESSERA_KERNELS, else `kernels`
  // or `share/tessera/kernels` above library or program, before the current
  // folder. Other relative paths are looked for in the current folder first.
  // One file and name gives one kernel per process. Throws Error, or
  // CompileError for text that does not parse.
  static Kernel fromFile(const std::string &path, const std::string &name);
  static Kernel fromSource(std::string text, const std::string &name,
                           const std::string &path = "<source>");

  const std::string &name() const;
  // Names of the parameters that take an Arg, in signature order.
  const std::vector<std::string> &parameters() const;

  // Runs grid[0] x grid[1] x grid[2] programs and waits for them. `args` are
  // the non-constexpr parameters in signature order; missing constexprs come
  // from the kernel's configuration, heuristics and defaults. Compiles first
  // what was not compiled yet. Throws Error.
  void launch(const Grid &grid, const std::vector<Arg> &args,
              const Constexprs &constexprs = {},
              const LaunchOptions &options = {}) const;

  // The same up to running: compiles or loads what such a launch needs.
  void prepare(const std::vector<Arg> &args, const Constexprs &constexprs = {},
               const LaunchOptions &options = {}) const;

  // The constexprs a launch would use, all of them. Devices have configurations
  // of their own: the hint cpu(...) is for cpu, and for others where the kernel
  // has no decorator with any.
  Constexprs configuration(const std::vector<Arg> &args,
                           const Constexprs &constexprs = {},
                           const LaunchOptions &options = {}) const;

  // What would be compiled for such a launch.
  language::CompileRequest
  compileRequest(const std::vector<Arg> &args,
                 const Constexprs &constexprs = {},
                 const LaunchOptions &options = {}) const;

  struct State;
  // What the runtime knows of the kernel, for this library's own components.
  const State &internals() const { return *state; }

private:
  friend class PreparedLaunch;
  explicit Kernel(std::shared_ptr<State> state) : state(std::move(state)) {}
  std::shared_ptr<State> state;
};

// A constexpr of a launch that is a number: part of its geometry.
struct Dimension {
  std::string_view name; // must outlive the call only
  int64_t value = 0;
};

// A place that launches one kernel again and again. What it has launched
// before costs no allocation, lock or name of a device: the classes of the
// arguments and the dimensions make a key of a few words that is compared with
// the last launch's, else looked up in a table of the kernel. Kernels with
// heuristics are as fast for the first 1024 combinations of their arguments'
// values. May be used by several threads; the kernel's code stays loaded as
// long as this or a copy of the kernel lives.
class PreparedLaunch {
public:
  // `constexprs` and `options` hold for all launches.
  explicit PreparedLaunch(Kernel kernel, const Constexprs &constexprs = {},
                          const LaunchOptions &options = {});
  PreparedLaunch(const PreparedLaunch &) = delete;
  PreparedLaunch &operator=(const PreparedLaunch &) = delete;
  ~PreparedLaunch();

  const Kernel &kernel() const { return ofKernel; }

  // Like Kernel::launch(); `dimensions` are more constexprs, `sequence` takes
  // the place of LaunchOptions::sequence where it is not 0.
  void launch(const Grid &grid, std::span<const Arg> args,
              std::span<const Dimension> dimensions = {},
              int64_t sequence = 0) const;
  // The same on a stream of the device cuda.
  void launchOn(void *stream, const Grid &grid, std::span<const Arg> args,
                std::span<const Dimension> dimensions = {},
                int64_t sequence = 0) const;
  // The same up to running: compiles or loads what such a launch needs.
  void prepare(std::span<const Arg> args) const;
  // What the compiler is asked for by such a launch.
  language::CompileRequest compileRequest(std::span<const Arg> args) const;

  // The value of a constexpr in such a launch, whose grid often depends on it.
  // Compiles nothing. Throws Error when it has none, or it is no integer.
  int64_t constexprOf(std::string_view name, std::span<const Arg> args,
                      std::span<const Dimension> dimensions = {},
                      int64_t sequence = 0) const;

private:
  struct Found;
  Found find(std::span<const Arg> args, std::span<const Dimension> dimensions,
             bool wideGrid, int64_t sequence) const;

  const Kernel ofKernel;
  const Constexprs constexprs;
  const LaunchOptions options;
  const std::vector<uint64_t> constexprKey; // of `constexprs`
  // What the last launch was; the kernel owns it.
  mutable std::atomic<const runtime::LaunchEntry *> last{nullptr};
};

// A launch to prepare ahead of time; the addresses only matter by alignment.
struct LaunchRequest {
  Kernel kernel;
  std::vector<Arg> args;
  Constexprs constexprs;
  LaunchOptions options;
};

// Prepares all of them, compiling in parallel, with a line of progress
// after two seconds. Throws the first error after the others are done.
void precompile(const std::vector<LaunchRequest> &requests);

struct KernelStats {
  uint64_t compiled = 0;        // by a worker, in this process
  uint64_t loaded = 0;          // read from the cache on disk
  uint64_t memoryHits = 0;      // launches of what was there already
  uint64_t badCacheEntries = 0; // set aside and compiled again
};
KernelStats kernelStats();

// Runs body(begin, end) over parts of [0, count) on the host's threads and
// returns when all are done.
using ParallelFor = std::function<void(
    int64_t count, const std::function<void(int64_t, int64_t)> &body)>;
// Makes kernels run on the threads of a host library. `threads` tells how many
// of them work at once. Without it tessera uses threads of its own.
void setParallelFor(ParallelFor run, std::function<int()> threads);
// The same while it lives; then those before it are back.
class ScopedParallelFor {
public:
  ScopedParallelFor(ParallelFor run, std::function<int()> threads);
  ScopedParallelFor(const ScopedParallelFor &) = delete;
  ScopedParallelFor &operator=(const ScopedParallelFor &) = delete;
  ~ScopedParallelFor();

private:
  std::shared_ptr<const void> before;
};

// Whether SIGINT ends the launches at work on the cpu, which then throw Error,
// in a process that handles the signal itself: for a host that only notes it,
// as Python does, an endless kernel would be the end. Off, but for the torch
// ops in Python. A process without a handler just ends.
void interruptLaunches(bool on);

// "cpu:x86-64-v4:001f": TESSERA_TARGET, else what this machine is. Throws
// Error on a machine without AVX2 and FMA.
const std::string &hostTarget();

} // namespace tessera
