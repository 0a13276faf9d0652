// dialect/tile/DotOps.cpp - verifier of dot.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "dialect/tile/DotInstruction.h"
#include "dialect/tile/Verify.h"

using namespace mlir;
using namespace tessera::tile;

// Returns the accumulator's element type for operands of `type`; null if a dot
// does not support `type`.
static Type accumulatorType(Type type) {
  MLIRContext *context = type.getContext();
  if (type.isF64())
    return type;
  if (isa<FloatType>(type))
    return Float32Type::get(context);
  if (type.isInteger(8))
    return IntegerType::get(context, 32);
  return {};
}

LogicalResult DotOp::verify() {
  auto a = cast<RankedTensorType>(getA().getType());
  auto b = cast<RankedTensorType>(getB().getType());
  auto c = cast<RankedTensorType>(getType());
  int64_t rank = c.getRank(), batch = rank - 2;
  if (a.getRank() != rank || b.getRank() != rank || (rank != 2 && rank != 3))
    return emitOpError("needs matrices, or batches of matrices");
  if (rank == 3 && (a.getDimSize(0) != c.getDimSize(0) ||
                    b.getDimSize(0) != c.getDimSize(0)))
    return emitOpError("has batches of different sizes: ")
           << a << " x " << b << " -> " << c;
  if (a.getDimSize(batch + 1) != b.getDimSize(batch) ||
      c.getDimSize(batch) != a.getDimSize(batch) ||
      c.getDimSize(batch + 1) != b.getDimSize(batch + 1))
    return emitOpError("shapes do not fit: [M, K] x [K, N] -> [M, N], got ")
           << a << " x " << b << " -> " << c;
  if (a.getElementType() != b.getElementType())
    return emitOpError("operands differ in type: ") << a << " and " << b;
  Type accumulator = accumulatorType(a.getElementType());
  if (!accumulator)
    return emitOpError("cannot multiply elements of type ")
           << a.getElementType();
  if (c.getElementType() != accumulator)
    return emitOpError("of ") << a.getElementType() << " accumulates in "
                              << accumulator << ", got " << c.getElementType();
  if (failed(verifyTileShape(*this, a)) || failed(verifyTileShape(*this, b)) ||
      failed(verifyTileShape(*this, c)))
    return failure();
  return verifyInstruction(*this);
}
