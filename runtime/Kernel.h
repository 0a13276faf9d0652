// runtime/Kernel.h - finds, specializes, compiles and launches kernels; the
// public interface of the runtime.
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

// An address of device or host memory with elements of one type.
struct Pointer {
  static constexpr size_t unknown = SIZE_MAX;

  void *address = nullptr;
  DType type = DType::FP32;
  // Number of bytes that the kernel may access from the address on, and before
  // it (for negative strides). The cpu ignores both. The simulator checks every
  // access against them; for an unknown size it allows the process's complete
  // memory mapping that contains the address.
  size_t bytes = unknown;
  size_t bytesBefore = 0;
};

// One argument of a launch. nullptr is Python's None; uint64_t is an integer
// that int64_t does not hold.
using Arg =
    std::variant<std::nullptr_t, Pointer, int64_t, double, bool, uint64_t>;
using Grid = std::array<uint32_t, 3>;

// Identifies a device. findDevice() looks up the name once; the handle then
// serves every launch. The empty handle means defaultDevice().
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
// Returns the device of a name: "cpu", "sim:sm_80" ... Throws Error for an
// unknown device, with the nearest name, and for a device that this build
// cannot use.
DeviceHandle findDevice(const std::string &name);

struct LaunchOptions {
  // nullopt: the value of the kernel's first configuration.
  std::optional<int64_t> numWarps, numStages;
  DeviceHandle device;
  // The CUstream of the device cuda on which the launch is enqueued; null: the
  // default stream. Other devices ignore it.
  void *stream = nullptr;
  // Requests code for a grid of more than 2^21 programs along x
  // (docs/numerics.md). Kernel::launch() sets it when it is needed.
  bool wideGrid = false;
  // Number of tokens of the longest sequence; 0: unknown. The lookup of tuned
  // configurations uses it; the kernel does not receive it.
  int64_t sequence = 0;
  // False: the launch does not look up tuned configurations.
  bool tuned = true;
};

// Returns the device of the same machine whose pointer arguments are host
// memory: "cuda:check" for "cuda", whose pointers are GPU memory. Returns
// `name` for all other devices.
std::string hostMemoryDevice(const std::string &name);

// Returns the device of launches that do not name one: the device passed to
// setDefaultDevice(), else TESSERA_DEVICE, else "cpu". Throws Error for an
// unknown device, and for a device that this build cannot use.
const std::string &defaultDevice();
void setDefaultDevice(const std::string &device);
// Returns the names of all devices, cpu first.
std::vector<std::string> deviceNames();
// Returns the target that kernels of a device are compiled for: hostTarget()
// for cpu, "sm_80" for sim:sm_80. Throws Error.
std::string deviceTarget(const std::string &device);

// A kernel of a file in the tile language (.py) or in CUDA C++ (.cu). Only GPU
// devices run CUDA C++; its constexprs become -D definitions. Copies share the
// compiled code. All methods are thread-safe.
class Kernel {
public:
  // Returns the kernel `name` of a file. A path "kernels/..." names a kernel of
  // this build: it is searched in TESSERA_KERNELS, else in `kernels` or
  // `share/tessera/kernels` above the library or program, and last in the
  // current folder. Other relative paths are searched in the current folder
  // first. Equal files and names give the same kernel within a process. Throws
  // Error, and CompileError for text that does not parse.
  static Kernel fromFile(const std::string &path, const std::string &name);
  static Kernel fromSource(std::string text, const std::string &name,
                           const std::string &path = "<source>");

  const std::string &name() const;
  // Returns the names of the parameters that take an Arg, in signature order.
  const std::vector<std::string> &parameters() const;

  // Runs grid[0] x grid[1] x grid[2] programs and waits for them. `args` are
  // the non-constexpr parameters in signature order; missing constexprs come
  // from the kernel's configuration, heuristics and defaults. Compiles the
  // specialization on its first launch. Throws Error.
  void launch(const Grid &grid, const std::vector<Arg> &args,
              const Constexprs &constexprs = {},
              const LaunchOptions &options = {}) const;

  // The same up to running: compiles or loads what such a launch needs.
  void prepare(const std::vector<Arg> &args, const Constexprs &constexprs = {},
               const LaunchOptions &options = {}) const;

  // Returns all constexprs that a launch would use. The configuration depends
  // on the device: cpu uses the hint cpu(...), and so do other devices if the
  // kernel's decorator has no configuration.
  Constexprs configuration(const std::vector<Arg> &args,
                           const Constexprs &constexprs = {},
                           const LaunchOptions &options = {}) const;

  // Returns the request that such a launch would send to the compiler.
  language::CompileRequest
  compileRequest(const std::vector<Arg> &args,
                 const Constexprs &constexprs = {},
                 const LaunchOptions &options = {}) const;

  struct State;
  // Returns the kernel's internal state, for components of this library.
  const State &internals() const { return *state; }

private:
  friend class PreparedLaunch;
  explicit Kernel(std::shared_ptr<State> state) : state(std::move(state)) {}
  std::shared_ptr<State> state;
};

// An integer constexpr of a launch, such as a tile size.
struct Dimension {
  std::string_view name; // must outlive the call only
  int64_t value = 0;
};

// A call site that launches one kernel repeatedly. A launch that it has made
// before performs no allocation, takes no lock and looks up no device name. The
// classes of the arguments and the dimensions form a key of a few words. The
// key is compared with the last launch's key, else looked up in a table of the
// kernel. Kernels with heuristics are equally fast for the first 1024
// combinations of argument values. Thread-safe. The code stays loaded as long
// as this object or a copy of the kernel lives.
class PreparedLaunch {
public:
  // `constexprs` and `options` hold for all launches.
  explicit PreparedLaunch(Kernel kernel, const Constexprs &constexprs = {},
                          const LaunchOptions &options = {});
  PreparedLaunch(const PreparedLaunch &) = delete;
  PreparedLaunch &operator=(const PreparedLaunch &) = delete;
  ~PreparedLaunch();

  const Kernel &kernel() const { return ofKernel; }

  // Like Kernel::launch(); `dimensions` are additional constexprs. A `sequence`
  // other than 0 overrides LaunchOptions::sequence.
  void launch(const Grid &grid, std::span<const Arg> args,
              std::span<const Dimension> dimensions = {},
              int64_t sequence = 0) const;
  // The same on a stream of the device cuda.
  void launchOn(void *stream, const Grid &grid, std::span<const Arg> args,
                std::span<const Dimension> dimensions = {},
                int64_t sequence = 0) const;
  // The same up to running: compiles or loads what such a launch needs.
  void prepare(std::span<const Arg> args) const;
  // Returns the request that such a launch would send to the compiler.
  language::CompileRequest compileRequest(std::span<const Arg> args) const;

  // Returns the value of a constexpr in such a launch, on which the grid often
  // depends. Compiles nothing. Throws Error if the launch does not have the
  // constexpr or its value is not an integer.
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

// A launch to prepare ahead of time. Only the alignment of its addresses is
// used.
struct LaunchRequest {
  Kernel kernel;
  std::vector<Arg> args;
  Constexprs constexprs;
  LaunchOptions options;
};

// Prepares all launches and compiles in parallel. Prints a line of progress
// after two seconds. Throws the first error after all launches were tried.
void precompile(const std::vector<LaunchRequest> &requests);

struct KernelStats {
  uint64_t compiled = 0;        // by a worker, in this process
  uint64_t loaded = 0;          // read from the cache on disk
  uint64_t memoryHits = 0;      // launches of what was there already
  uint64_t badCacheEntries = 0; // moved to quarantine/; compiled again
};
KernelStats kernelStats();

// Runs body(begin, end) over chunks of [0, count) on the host's threads and
// returns when all chunks are done.
using ParallelFor = std::function<void(
    int64_t count, const std::function<void(int64_t, int64_t)> &body)>;
// Makes kernels run on the threads of a host library. `threads` returns how
// many of them work in parallel. By default tessera uses its own thread pool.
void setParallelFor(ParallelFor run, std::function<int()> threads);
// Calls setParallelFor(), and restores the previous setting on destruction.
class ScopedParallelFor {
public:
  ScopedParallelFor(ParallelFor run, std::function<int()> threads);
  ScopedParallelFor(const ScopedParallelFor &) = delete;
  ScopedParallelFor &operator=(const ScopedParallelFor &) = delete;
  ~ScopedParallelFor();

private:
  std::shared_ptr<const void> before;
};

// Sets whether SIGINT ends running cpu launches, which then throw Error. A host
// such as Python only notes the signal, so an endless kernel would never stop.
// Applies only to a process with its own SIGINT handler; without one, SIGINT
// ends the process. Off by default; the torch ops turn it on in Python.
void interruptLaunches(bool on);

// Returns the cpu target, such as "cpu:x86-64-v4:001f": TESSERA_TARGET, else
// the features of this machine. Throws Error on a machine without AVX2 and FMA.
const std::string &hostTarget();

} // namespace tessera
