// ops/launch/Threads.cpp - chooses the threads that run kernels and products on
// the CPU: torch's intra-op threads or ours. Ctrl-C in Python stops kernels on
// both.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "ops/launch/Threads.h"

#include "ops/Check.h"
#include "runtime/Kernel.h"
#include "runtime/device/cpu/ThreadPool.h"

#include <ATen/Parallel.h>
#include <torch/library.h>

#include <atomic>
#include <dlfcn.h>

namespace tessera::runtime {
namespace {

std::atomic<bool> ownThreads{false};

void useTorchThreads() {
  setParallelFor(
      [](int64_t count, const std::function<void(int64_t, int64_t)> &body) {
        at::parallel_for(0, count, 1, body);
      },
      [] { return at::get_num_threads(); });
}

[[maybe_unused]] const bool installed = [] {
  useTorchThreads();
  // Python's handler only sets a flag. The trainer's handler ends the process
  // on the second signal.
  interruptLaunches(::dlsym(RTLD_DEFAULT, "Py_IsInitialized") != nullptr);
  return true;
}();

} // namespace

void useOwnThreads(int64_t count) {
  TESSERA_CHECK(count >= 1 && count <= 4096, "tessera_internal::own_threads",
                "count is ", count, "; pass 1 to 4096 threads");
  ThreadPool::setInstanceThreads(int(count));
  setParallelFor({}, {});
  at::set_num_threads(1);
  ownThreads = true;
}

// OpenMP keeps the number of threads separately for each calling thread.
// Threads of torch do not need the call: an operation inside at::parallel_for
// uses one thread.
void useOneTorchThread() {
  thread_local bool done = false;
  if (done || !ownThreads)
    return;
  at::set_num_threads(1);
  done = true;
}

TORCH_LIBRARY_IMPL(tessera_internal, CompositeExplicitAutograd, m) {
  m.impl("own_threads", useOwnThreads);
}

} // namespace tessera::runtime
