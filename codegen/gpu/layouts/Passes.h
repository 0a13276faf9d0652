// codegen/gpu/layouts/Passes.h - the passes that give tensors layouts.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

namespace mlir {
class Pass;
} // namespace mlir

namespace tessera::codegen::gpu {

/// tessera-dot-instructions: every dot that has no instruction yet gets one,
/// and the reason where it is not one of tensor cores
/// (dialect/tile/DotInstruction.h). Later passes and the lowering keep to it.
std::unique_ptr<mlir::Pass> createDotInstructionsPass();

/// tessera-swap-operands: a dot whose result has fewer rows than an instruction
/// of tensor cores is computed as the transpose of b^T a^T where that takes a
/// warp fewer instructions (they have 16 rows and 8 columns). For kernels with
/// the hint swap_ab.
std::unique_ptr<mlir::Pass> createSwapOperandsPass(int numWarps);

/// tessera-mask-loads: the condition of a select that keeps a loaded element or
/// gives 0 becomes part of the load's mask.
std::unique_ptr<mlir::Pass> createMaskLoadsPass();

/// tessera-coalesce: a layout for every load, store and atomic (attribute
/// tile.layout), after the run and the alignment of its addresses.
std::unique_ptr<mlir::Pass> createCoalescePass(int numWarps);

/// tessera-dot-layouts: layouts for the operands and the accumulator of every
/// dot (attribute tile.layout), those of its instruction.
std::unique_ptr<mlir::Pass> createDotLayoutsPass(int numWarps);

/// tessera-assign-layouts: every tensor gets a layout, from those attributes,
/// with tile.convert_layout where rematerializing would cost more.
std::unique_ptr<mlir::Pass> createAssignLayoutsPass(int numWarps);

/// tessera-trim-warps: drops bits of the warp number that no layout uses
/// (kNumWarpsAttr, Warps.h).
std::unique_ptr<mlir::Pass> createTrimWarpsPass(int numWarps);

/// tessera-vector-widths: the attribute kVectorAttr of loads, stores and
/// atomics (Lower.h), from their layouts and the runs of their addresses and
/// masks.
std::unique_ptr<mlir::Pass> createVectorWidthsPass();

/// For tools.
void registerSwapOperandsPass();
void registerLayoutPasses();

} // namespace tessera::codegen::gpu
