// codegen/gpu/kernel/Contraction.cpp - which sums may be fused with a product.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "codegen/gpu/kernel/Contraction.h"

#include "codegen/gpu/kernel/Attributes.h"
#include "codegen/math/Math.h"
#include "dialect/tile/TileDialect.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;

namespace tessera::codegen::gpu {

// fma needs the flag on the sum and on the product, so it suffices to mark
// sums.
static bool isSum(Operation *op) {
  return isa<arith::AddFOp, arith::SubFOp, tile::ReduceOp, tile::ScanOp>(op);
}

bool mayContract(Operation *op) {
  // Lanes that hold replicas of a reduction's result add the same values, but
  // each lane may add another product.
  if (isa_and_nonnull<tile::ReduceByOp, tile::ScanByOp>(op->getParentOp()))
    return false;
  return !op->hasAttr(kExactAttr) && !op->hasAttr(kRoundingsAttr);
}

void keepRoundings(Operation *op) {
  op->walk([](Operation *inner) {
    if (isSum(inner) &&
        isa<FloatType>(tile::elementType(inner->getResult(0).getType())))
      inner->setAttr(kRoundingsAttr, UnitAttr::get(inner->getContext()));
  });
}

} // namespace tessera::codegen::gpu
