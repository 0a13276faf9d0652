// models/ComparedKernels.h - runs every operation of a forward pass twice,
// compiled and in plain torch, and compares.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "models/Kernels.h"

#include <map>

namespace tessera::models {

/// Difference of one kind of operation from plain torch.
struct KernelDifference {
  /// The largest difference over the largest value of the reference, over all
  /// calls; infinite if a result is not finite but the reference is.
  double relative = 0;
  int64_t calls = 0;
};

/// By operation: "rmsnorm" (residual sums too), "linear_loss", "rope", "dense",
/// of NSA "cmp", "sel" and "win" (each branch alone, its gate at 1 and the
/// others at 0), "nsa" (with the gates of the model) and "blocks" (the share of
/// queries that keep other blocks). "sel" and "nsa" compare the queries that
/// keep the same blocks: two scores that rounding makes equal may be taken
/// either way.
using KernelDifferences = std::map<std::string, KernelDifference>;

/// Returns the results of `compiled`, and records their difference from plain
/// torch on the same inputs, on the CPU in fp32. `compiled` and `differences`
/// must outlive it. Does not support gradients.
std::unique_ptr<Kernels> comparedKernels(Kernels &compiled,
                                         KernelDifferences &differences);

} // namespace tessera::models
