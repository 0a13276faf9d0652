// runtime/device/cpu/Parallel.cpp - programs of a grid on several threads.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "runtime/device/cpu/Parallel.h"

#include "runtime/Kernel.h"
#include "runtime/device/cpu/Interrupt.h"
#include "runtime/device/cpu/KernelOutput.h"
#include "runtime/device/cpu/ThreadPool.h"
#include "support/Error.h"

#include <algorithm>
#include <atomic>
#include <csignal>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <new>

namespace tessera {

namespace {
struct Host {
  ParallelFor run;
  std::function<int()> threads;
};
} // namespace

static std::mutex hostMutex;
static std::shared_ptr<const Host> currentHost;
static std::atomic<uint64_t> hostChanges{1};

// Replaces the host and returns the previous one.
static std::shared_ptr<const Host>
exchangeHost(std::shared_ptr<const Host> host) {
  std::lock_guard<std::mutex> guard(hostMutex);
  std::swap(currentHost, host);
  ++hostChanges;
  return host;
}

static std::shared_ptr<const Host> makeHost(ParallelFor run,
                                            std::function<int()> threads) {
  return run ? std::make_shared<const Host>(
                   Host{std::move(run), std::move(threads)})
             : nullptr;
}

void setParallelFor(ParallelFor run, std::function<int()> threads) {
  exchangeHost(makeHost(std::move(run), std::move(threads)));
}

ScopedParallelFor::ScopedParallelFor(ParallelFor run,
                                     std::function<int()> threads)
    : before(exchangeHost(makeHost(std::move(run), std::move(threads)))) {}

ScopedParallelFor::~ScopedParallelFor() {
  exchangeHost(std::static_pointer_cast<const Host>(before));
}

namespace runtime {

namespace {
// Scratch memory of one thread, kept between launches and grown on demand.
class Scratch {
public:
  ~Scratch() { std::free(data); }
  void *get(size_t bytes) {
    if (bytes > size) {
      std::free(data);
      size = (bytes + 4095) / 4096 * 4096;
      data = std::aligned_alloc(64, size);
      if (!data) {
        size = 0;
        throw std::bad_alloc();
      }
    }
    return data;
  }

private:
  void *data = nullptr;
  size_t size = 0;
};
} // namespace

static thread_local Scratch scratch;

// Returns the host. Takes the lock only after the host has changed.
static std::shared_ptr<const Host> host() {
  thread_local std::shared_ptr<const Host> known;
  thread_local uint64_t knownChanges = 0;
  if (knownChanges != hostChanges.load(std::memory_order_acquire)) {
    std::lock_guard<std::mutex> guard(hostMutex);
    known = currentHost;
    knownChanges = hostChanges;
  }
  return known;
}

int hostThreads() {
  const auto caller = host();
  return std::max(1, caller ? caller->threads()
                            : ThreadPool::instance().threads());
}

void runTasks(int64_t count,
              const std::function<void(int64_t, int64_t)> &body) {
  if (count == 1)
    body(0, 1);
  else if (const auto caller = host())
    caller->run(count, body);
  else
    ThreadPool::instance().run(count, body);
}

namespace {
// State shared by all threads of a launch.
struct Launch {
  const CpuModule &module;
  const void *args;
  const std::array<uint32_t, 3> &grid;
  Report *report;
  WorkEstimate *work = nullptr;
  uint64_t count = 0, piece = 1;
  std::atomic<uint64_t> next{0}; // the first unassigned program
  std::mutex mutex{};
  Fault fault{};
  InterruptWatch watch{};
};
} // namespace

// Runs the programs [first, last). Returns false if one was aborted; then no
// further program may run.
static bool runPrograms(const Launch &launch, FaultGuard &guard, void *scratch,
                        uint64_t first, uint64_t last) {
  const auto &grid = launch.grid;
  uint32_t (&pid)[3] = guard.pid;
  pid[0] = uint32_t(first % grid[0]);
  pid[1] = uint32_t(first / grid[0] % grid[1]);
  pid[2] = uint32_t(first / (uint64_t(grid[0]) * grid[1]));
  if (sigsetjmp(guard.landing, 0) != 0)
    return false;
  for (uint64_t i = first; i < last; ++i) {
    if (launch.watch.interrupted()) {
      guard.fault.signal = SIGINT;
      return false;
    }
    if (!launch.report)
      launch.module.entry()(launch.args, pid, grid.data(), scratch);
    else if (!launch.report->run(launch.module.entry(), launch.args, pid,
                                 grid.data(), scratch))
      return false;
    if (++pid[0] == grid[0]) {
      pid[0] = 0;
      if (++pid[1] == grid[1]) {
        pid[1] = 0;
        ++pid[2];
      }
    }
  }
  return true;
}

// Runs the programs [first, last). Returns false if one was aborted; then the
// launch holds its fault and no further program runs.
static bool runPiece(Launch &launch, FaultGuard &guard, void *scratch,
                     uint64_t first, uint64_t last) {
  if (runPrograms(launch, guard, scratch, first, last))
    return true;
  launch.next = launch.count;
  std::lock_guard<std::mutex> alone(launch.mutex);
  if (!launch.fault.happened())
    launch.fault = guard.fault;
  return false;
}

// Runs programs until all are assigned. The thread that gets the first programs
// measures them.
static void drawPrograms(Launch &launch, size_t scratchBytes) {
  void *memory = scratch.get(std::max<size_t>(scratchBytes, 1));
  FaultGuard guard(launch.module.code());
  InterruptibleThread told(launch.watch);
  const uint64_t begin = launch.work ? launch.work->now() : 0;
  while (true) {
    const uint64_t first =
        launch.next.fetch_add(launch.piece, std::memory_order_relaxed);
    if (first >= launch.count)
      return;
    const uint64_t last = std::min(launch.count, first + launch.piece);
    if (!runPiece(launch, guard, memory, first, last))
      return;
    if (launch.work && first == 0)
      launch.work->measured(last, launch.work->now() - begin);
  }
}

// Runs a grid that is expected to be small on this thread. Returns false if the
// grid takes longer than expected and programs remain. Ignores the slowest
// chunk: the system may have scheduled another thread meanwhile.
static bool runAlone(Launch &launch, size_t scratchBytes) {
  void *memory = scratch.get(std::max<size_t>(scratchBytes, 1));
  FaultGuard guard(launch.module.code());
  InterruptibleThread told(launch.watch);
  const uint64_t piece = std::max<uint64_t>(1, launch.count / 8);
  uint64_t passed = 0, slowest = 0, last = 0;
  for (uint64_t before = launch.work->now(); last < launch.count;) {
    const uint64_t first = last;
    last = std::min(launch.count, first + piece);
    if (!runPiece(launch, guard, memory, first, last))
      return true;
    const uint64_t now = launch.work->now();
    passed += now - before;
    slowest = std::max(slowest, now - before);
    before = now;
    if (first == 0)
      continue; // one chunk alone is not significant
    launch.work->measured(last - piece, passed - slowest);
    if (passed - slowest > WorkEstimate::aloneNanoseconds)
      break;
  }
  launch.next = last;
  return last >= launch.count;
}

Fault runGrid(const CpuModule &module, const void *args,
              const std::array<uint32_t, 3> &grid, size_t scratchBytes,
              Report *report, WorkEstimate *work) {
  const uint64_t plane = uint64_t(grid[0]) * grid[1];
  if (plane && grid[2] > UINT64_MAX / 2 / plane)
    throw Error("a grid of " + std::to_string(grid[0]) + " x " +
                    std::to_string(grid[1]) + " x " + std::to_string(grid[2]) +
                    " programs is too large",
                "check the arithmetic of the grid");
  Launch launch{module, args, grid, report};
  launch.count = plane * grid[2];
  if (!launch.count)
    return {};

  // A single program runs on the calling thread; the pool stays asleep.
  if (launch.count == 1) {
    drawPrograms(launch, scratchBytes);
    return launch.fault;
  }

  launch.work = work;
  if (work && work->isSmall(launch.count) && runAlone(launch, scratchBytes))
    return launch.fault;

  // Programs take unequal time (causal attention), so threads take small chunks
  // from a shared counter instead of equal shares.
  const uint64_t threads = uint64_t(hostThreads());
  const uint64_t left = launch.count - launch.next;
  const uint64_t tasks = std::min(threads, left);
  launch.piece = std::max<uint64_t>(1, left / (tasks * 16));
  // One call suffices for any range: drawPrograms() runs until no programs
  // remain.
  auto draw = [&](int64_t begin, int64_t end) {
    if (begin < end)
      drawPrograms(launch, scratchBytes);
  };
  runTasks(int64_t(tasks), draw);
  return launch.fault;
}

} // namespace runtime
} // namespace tessera
