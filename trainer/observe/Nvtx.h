// trainer/observe/Nvtx.h - ranges of NVTX, for profilers such as Nsight
// Systems.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/record_function.h>
#include <cstdint>

namespace tessera::trainer {

/// Steps and their phases, layers, launches of kernels, evaluations and saves
/// as nested ranges of the domain "tessera", by thread. Where no profiler
/// listens (NVTX_INJECTION64_PATH names its library) each is a call that
/// returns.
class NvtxRanges {
public:
  /// Throws tessera::Error in a build without NVTX's headers.
  NvtxRanges();
  ~NvtxRanges();
  NvtxRanges(const NvtxRanges &) = delete;
  NvtxRanges &operator=(const NvtxRanges &) = delete;

  void beginStep(int64_t number);
  /// The phase before ends. `name` is a literal.
  void phase(const char *name);
  void endStep();

private:
  void endPhase();
  at::CallbackHandle callback = 0;
  bool inStep = false, inPhase = false;
};

} // namespace tessera::trainer
