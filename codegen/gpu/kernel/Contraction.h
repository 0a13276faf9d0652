// codegen/gpu/kernel/Contraction.h - decides which sums may become an fma.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
//
// LLVM may fuse an f32 product and its sum into one fma if both have the
// `contract` flag. The decision depends on the surrounding code: the uses of
// the product and its block. Two computations of one value must give the same
// bits. Operations that a pass has duplicated therefore do not get the flag.
#pragma once

namespace mlir {
class Operation;
} // namespace mlir

namespace tessera::codegen::gpu {

/// True if `op`, a sum, difference or product of floats, or a reduction or
/// scan, gets the contract flag. Ptx.cpp removes the flag from operations that
/// LLVM computes in a type other than f32.
bool mayContract(mlir::Operation *op);

/// Marks the float sums among `op` and the operations in it as duplicated, so
/// that mayContract() returns false for them. A pass that duplicates an
/// operation calls it on the original and on each copy.
void keepRoundings(mlir::Operation *op);

} // namespace tessera::codegen::gpu
