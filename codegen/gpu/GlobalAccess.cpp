// codegen/gpu/GlobalAccess.cpp - accesses of global memory and their order.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "codegen/gpu/GlobalAccess.h"

#include "dialect/tile/TileDialect.h"

using namespace mlir;

namespace tessera::codegen::gpu {

Value writtenPointer(Operation *op) {
  if (auto store = dyn_cast<tile::StoreOp>(op))
    return store.getPtr();
  if (auto atomic = dyn_cast<tile::AtomicRMWOp>(op))
    return atomic.getPtr();
  if (auto atomic = dyn_cast<tile::AtomicCASOp>(op))
    return atomic.getPtr();
  return {};
}

// Without `sem` an atomic does both.
static bool hasOrder(Operation *op, StringRef order) {
  if (!isa<tile::AtomicRMWOp, tile::AtomicCASOp>(op))
    return false;
  auto sem = op->getAttrOfType<StringAttr>("sem");
  return !sem || sem.getValue() == order || sem.getValue() == "acq_rel";
}

bool releases(Operation *op) { return hasOrder(op, "release"); }

bool acquires(Operation *op) {
  if (auto load = dyn_cast<tile::LoadOp>(op))
    return load.getIsVolatile();
  return hasOrder(op, "acquire") && !op->use_empty();
}

} // namespace tessera::codegen::gpu
