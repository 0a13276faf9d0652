// ops/attention/OrderedBackward.h - attention's backward pass as a single GPU
// kernel.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "ops/attention/Attention.h"

namespace tessera::runtime {

// True if the backward pass of `a` is one kernel with five matrix products
// (kernels/attention/backward_ordered.py) instead of two kernels with seven.
// Decided by fitsOrderedBackward() and fillsOrderedBackward()
// (ops/Estimates.h), or by TESSERA_BACKWARD_PRODUCTS. Throws Error if the
// variable is not 5, 7 or 0.
bool takesOrderedBackward(const Attention &a, int64_t parts = 1);

// Returns uninitialized memory for the sum of dq / scale, fp32 [T, Hq, D].
at::Tensor emptyQuerySum(const Attention &a);

// Returns the sum times the scale in the type of q.
at::Tensor finishedQuerySum(const Attention &a, const at::Tensor &sum);

// Launches kernel `kernel` of `file`, which adds to `sum` if `add` is set, and
// otherwise stores in it; then each token must attend to a key. Returns dk and
// dv, as launchDkDv does.
std::tuple<at::Tensor, at::Tensor>
launchOrdered(const Attention &a, const Branch &branch, const RowGradient &rows,
              const at::Tensor &sum, bool add, const char *file,
              const char *kernel);

} // namespace tessera::runtime
