// codegen/gpu/kernel/Contraction.h - which sums may be fused with a product.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
//
// LLVM fuses an f32 product and a sum of it to one fma where both have the
// `contract` flag. It decides for each instruction by what is around it: the
// uses of the product, the block that it is in. Two computations of one value
// must give the same bits, so the sums of values that are computed more than
// once do not get the flag.
#pragma once

namespace mlir {
class Operation;
} // namespace mlir

namespace tessera::codegen::gpu {

/// True if `op`, a sum, difference or product of floats, or a reduction or
/// scan, gets the contract flag. What LLVM computes in another type than f32 in
/// the end loses it (Ptx.cpp).
bool mayContract(mlir::Operation *op);

/// Says of `op` and of all operations in it that a pass has made copies of
/// them: mayContract is false from then on. A pass calls it on the original and
/// on each copy.
void keepRoundings(mlir::Operation *op);

} // namespace tessera::codegen::gpu
