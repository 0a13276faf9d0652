// dialect/tile/SharedOps.cpp - verifiers of the shared-memory family.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "dialect/tile/TileDialect.h"

#include "dialect/layout/ShapeOps.h"
#include "dialect/layout/SharedAccess.h"

using namespace mlir;
using namespace tessera;
using namespace tessera::tile;
using layout::Dim;

LogicalResult SmemIndexOp::verify() {
  if (getType() == getSrc().getType().withBuffers(1))
    return success();
  return emitOpError("gives one buffer of ")
         << getSrc().getType() << ", not " << getType();
}

LogicalResult SmemTransOp::verify() {
  SmemType source = getSrc().getType();
  ArrayRef<int32_t> order = getOrder();
  SmallVector<int64_t> shape;
  SmallVector<bool> seen(source.getShape().size());
  for (int32_t dim : order) {
    if (dim < 0 || size_t(dim) >= seen.size() || seen[size_t(dim)])
      return emitOpError("order is not a permutation of the dimensions");
    seen[size_t(dim)] = true;
  }
  if (order.size() != seen.size())
    return emitOpError("order needs ") << seen.size() << " entries";
  auto layout = layout::transpose(source.getLayout().layout(),
                                  {order.begin(), order.end()});
  auto expected =
      SmemType::get(getContext(), source.getBuffers(), layout::shapeOf(layout),
                    source.getElement(), SharedAttr::get(getContext(), layout));
  if (getType() != expected)
    return emitOpError("gives ") << expected << ", not " << getType();
  return success();
}

// Verifies that `memory` has one buffer of the tensor's shape and element type,
// and that the tensor has a layout.
static LogicalResult verifyTile(Operation *op, SmemType memory, Type tensor) {
  auto type = cast<RankedTensorType>(tensor);
  if (memory.getBuffers() != 1)
    return op->emitOpError("needs one buffer, got ") << memory;
  if (type.getShape() != memory.getShape() ||
      type.getElementType() != memory.getElement())
    return op->emitOpError("of ") << memory << " cannot be of " << type;
  if (!layoutOf(type))
    return op->emitOpError("needs a tensor with a layout");
  return success();
}

LogicalResult SmemLoadOp::verify() {
  return verifyTile(*this, getSrc().getType(), getType());
}

LogicalResult SmemStoreOp::verify() {
  return verifyTile(*this, getDst().getType(), getValue().getType());
}

LogicalResult AsyncCopyOp::verify() {
  Type value = pointeeValueType(getPtr().getType());
  SmemType memory = getDst().getType();
  if (failed(verifyTile(*this, memory, value)))
    return failure();
  int64_t vector = int64_t(getVector());
  int bits = int(memory.getElement().getIntOrFloatBitWidth());
  if (vector * bits != 32 && vector * bits != 64 && vector * bits != 128)
    return emitOpError("copies 4, 8 or 16 bytes, got ")
           << vector << " elements of " << memory.getElement();
  // The elements of a vector must be consecutive and aligned in shared memory.
  auto offsets =
      layoutOf(value).layout().thenInverse(memory.getLayout().layout());
  for (int bit = 0; (int64_t(1) << bit) < vector; ++bit)
    if (bit >= offsets.inBits(Dim::Register) ||
        offsets.column(Dim::Register, bit) != layout::Word(1) << bit)
      return emitOpError("has lanes whose ")
             << vector << " elements do not lie side by side in " << memory;
  return success();
}

LogicalResult AsyncCommitOp::verify() {
  if (getCopies().empty())
    return emitOpError("makes a group of nothing");
  for (Value copy : getCopies())
    if (copy.getDefiningOp<AsyncCommitOp>())
      return emitOpError("takes a group for a copy");
  return success();
}

LogicalResult AsyncWaitOp::verify() {
  if (getGroups().empty())
    return emitOpError("waits for nothing");
  for (Value group : getGroups())
    if (group.getDefiningOp<AsyncCopyOp>())
      return emitOpError("waits for a copy that is in no group");
  return success();
}

LogicalResult BarrierOp::verify() {
  Operation *next = (*this)->getNextNode();
  if (getScratch() && !(next && next->hasAttr(kScratchOffsetAttr)))
    return emitOpError("stands before an operation without scratch");
  return success();
}
