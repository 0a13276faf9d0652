// runtime/torch/DenseBackward.h - which kernels make the gradients of dense
// attention on the CPU.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "runtime/torch/HeadSlices.h"

#include <algorithm>
#include <thread>

namespace tessera::runtime {

/// One pass (kernels/dense/attn_bwd_fused.py) has a program for each key head
/// and sequence, and computes scores once; the two kernels of attn_bwd.py
/// compute them twice and keep any number of processors busy. The machine
/// decides, not the threads that are set, which thus change no bit.
inline bool denseInOnePass(int64_t keyHeads, int64_t sequences,
                           int64_t keyDim) {
  const int64_t processors =
      std::max<int64_t>(1, std::thread::hardware_concurrency());
  return headSlices(keyDim).tail == 0 && keyHeads * sequences >= 2 * processors;
}

} // namespace tessera::runtime
