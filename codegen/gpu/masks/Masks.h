// codegen/gpu/masks/Masks.h - masks that most iterations of a loop do not need.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
//
// A loop over keys masks its scores in every iteration, though only the first
// and the last iterations meet the diagonal or the end:
//
//     s = dot(..)                        s = dot(..)
//     s = where(pos <= t, s, -inf)       if not n + 63 <= least t:
//                                          s = where(pos <= t, s, -inf)
//
// The condition is one scalar of the whole block (TileBounds.h): all warps take
// the same side, and an iteration that needs no mask spends a few instructions
// on it instead of two or three for each element.
#pragma once

#include <memory>

namespace mlir {
class Pass;
} // namespace mlir

namespace tessera::codegen::gpu {

/// tessera-guard-masks, for IR with layouts.
std::unique_ptr<mlir::Pass> createGuardMasksPass();
void registerMaskPasses();

} // namespace tessera::codegen::gpu
