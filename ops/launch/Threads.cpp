// ops/launch/Threads.cpp - kernels run on torch's intra-op threads, and Ctrl-C
// in Python ends them.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "runtime/Kernel.h"

#include <ATen/Parallel.h>

#include <dlfcn.h>

namespace tessera::runtime {
namespace {

[[maybe_unused]] const bool installed = [] {
  setParallelFor(
      [](int64_t count, const std::function<void(int64_t, int64_t)> &body) {
        at::parallel_for(0, count, 1, body);
      },
      [] { return at::get_num_threads(); });
  // Python's handler only sets a flag. The trainer's lets the second signal end
  // the process.
  interruptLaunches(::dlsym(RTLD_DEFAULT, "Py_IsInitialized") != nullptr);
  return true;
}();

} // namespace
} // namespace tessera::runtime
