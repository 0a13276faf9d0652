// ops/attention/OrderedBackward.h - attention's backward pass in one kernel of
// a GPU.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "ops/attention/Attention.h"

namespace tessera::runtime {

// Returns whether the backward pass of `a` is one kernel that computes all
// gradients with five products of matrices
// (kernels/attention/backward_ordered.py), and not two kernels with seven. That
// goes by fitsOrderedBackward() and fillsOrderedBackward() (ops/Estimates.h),
// or by TESSERA_BACKWARD_PRODUCTS. Throws Error for other values of the
// variable than 5, 7 and 0.
bool takesOrderedBackward(const Attention &a, int64_t parts = 1);

// Returns memory for the sum of dq / scale, fp32 [T, Hq, D], not initialized.
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
