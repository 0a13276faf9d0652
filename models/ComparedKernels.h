// models/ComparedKernels.h - runs every operation of a forward pass twice,
// compiled and in plain torch, and compares.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "models/Kernels.h"

#include <map>

namespace tessera::models {

/// The difference between compiled kernels and plain torch for one operation.
struct KernelDifference {
  /// Maximum over all calls of the largest absolute difference divided by the
  /// reference's largest value; infinite if a result is not finite but the
  /// reference is.
  double relative = 0;
  int64_t calls = 0;
};

/// Differences by operation: "rmsnorm" (including residual sums),
/// "linear_loss", "rope", "dense". For NSA: "cmp", "sel" and "win" (one branch
/// with gate 1, the others with gate 0), "nsa" (the model's gates) and "blocks"
/// (the fraction of queries that select different blocks). "sel" and "nsa"
/// compare only queries that select the same blocks, because rounding can
/// reorder nearly equal scores.
using KernelDifferences = std::map<std::string, KernelDifference>;

/// Returns the results of `compiled`, and records their difference from plain
/// torch on the same inputs, on the CPU in fp32. `compiled` and `differences`
/// must outlive it. Does not support gradients.
std::unique_ptr<Kernels> comparedKernels(Kernels &compiled,
                                         KernelDifferences &differences);

} // namespace tessera::models
