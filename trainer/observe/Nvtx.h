// trainer/observe/Nvtx.h - emits NVTX ranges for profilers such as Nsight
// Systems, with runtime.nvtx.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/record_function.h>
#include <cstdint>

namespace tessera::trainer {

/// Emits nested ranges in the domain "tessera", for each thread: steps and
/// their phases, layers, kernel launches, evaluations and saves. Without a
/// profiler (NVTX_INJECTION64_PATH names its library) each range costs one call
/// that returns immediately.
class NvtxRanges {
public:
  /// Throws tessera::Error if the build lacks NVTX's headers.
  NvtxRanges();
  ~NvtxRanges();
  NvtxRanges(const NvtxRanges &) = delete;
  NvtxRanges &operator=(const NvtxRanges &) = delete;

  /// Ends the current step, if any, and starts the next one.
  void beginStep(int64_t number);
  /// Ends the current phase and starts the next one. `name` must be a literal.
  void phase(const char *name);
  /// Ends the current step and its phase.
  void endStep();

private:
  void endPhase();
  at::CallbackHandle callback = 0;
  bool inStep = false, inPhase = false;
};

} // namespace tessera::trainer
