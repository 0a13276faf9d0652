// runtime/device/cpu/Parallel.cpp - programs of a grid on several threads.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "runtime/device/cpu/Parallel.h"

#include "runtime/Kernel.h"
#include "runtime/device/cpu/Report.h"
#include "runtime/device/cpu/ThreadPool.h"
#include "support/Error.h"

#include <algorithm>
#include <atomic>
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

void setParallelFor(ParallelFor run, std::function<int()> threads) {
  auto host = run ? std::make_shared<const Host>(
                        Host{std::move(run), std::move(threads)})
                  : nullptr;
  std::lock_guard<std::mutex> guard(hostMutex);
  currentHost = host;
}

namespace runtime {

namespace {
// Scratch of one thread: kept between launches, grown when needed.
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

static std::shared_ptr<const Host> host() {
  std::lock_guard<std::mutex> guard(hostMutex);
  return currentHost;
}

int hostThreads() {
  const auto caller = host();
  return std::max(1, caller ? caller->threads()
                            : ThreadPool::instance().threads());
}

void runGrid(CpuEntry entry, const void *args,
             const std::array<uint32_t, 3> &grid, size_t scratchBytes,
             Report *report) {
  const uint64_t plane = uint64_t(grid[0]) * grid[1];
  if (plane && grid[2] > UINT64_MAX / 2 / plane)
    throw Error("a grid of " + std::to_string(grid[0]) + " x " +
                    std::to_string(grid[1]) + " x " + std::to_string(grid[2]) +
                    " programs is too large",
                "check the arithmetic of the grid");
  const uint64_t count = plane * grid[2];
  if (!count)
    return;

  // Programs take unequal time (causal attention), so threads draw small
  // pieces from one counter rather than get an equal share each.
  auto caller = host();
  const uint64_t threads = uint64_t(std::max(
      1, caller ? caller->threads() : ThreadPool::instance().threads()));
  const uint64_t tasks = std::min(threads, count);
  const uint64_t piece = std::max<uint64_t>(1, count / (tasks * 16));
  std::atomic<uint64_t> next{0};
  auto draw = [&](int64_t begin, int64_t end) {
    // One pass is enough whatever part this is: it lasts until nothing is left.
    if (begin >= end)
      return;
    void *memory = scratch.get(std::max<size_t>(scratchBytes, 1));
    while (true) {
      const uint64_t first = next.fetch_add(piece);
      if (first >= count)
        return;
      const uint64_t last = std::min(count, first + piece);
      uint32_t pid[3] = {uint32_t(first % grid[0]),
                         uint32_t(first / grid[0] % grid[1]),
                         uint32_t(first / plane)};
      for (uint64_t i = first; i < last; ++i) {
        if (!report)
          entry(args, pid, grid.data(), memory);
        else if (!report->run(entry, args, pid, grid.data(), memory))
          return;
        if (++pid[0] == grid[0]) {
          pid[0] = 0;
          if (++pid[1] == grid[1]) {
            pid[1] = 0;
            ++pid[2];
          }
        }
      }
    }
  };
  if (tasks == 1)
    draw(0, 1);
  else if (caller)
    caller->run(int64_t(tasks), draw);
  else
    ThreadPool::instance().run(int64_t(tasks), draw);
}

} // namespace runtime
} // namespace tessera
