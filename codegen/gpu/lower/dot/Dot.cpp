// codegen/gpu/lower/dot/Dot.cpp - selects the lowering of a dot.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "codegen/gpu/lower/dot/Dot.h"

#include "codegen/gpu/lower/Families.h"
#include "codegen/gpu/lower/shared/SmemTile.h"
#include "codegen/gpu/memory/Scratch.h"
#include "dialect/tile/DotInstruction.h"

using namespace mlir;

namespace tessera::codegen::gpu {

DotCase::DotCase(tile::DotOp op)
    : op(op), element(tile::elementType(op.getA().getType())),
      a(tile::layoutOf(op.getA().getType()).layout()),
      b(tile::layoutOf(op.getB().getType()).layout()),
      acc(tile::layoutOf(op.getType()).layout()) {}

int64_t dotScratchBytes(Operation *op, const GpuOptions &) {
  auto dot = dyn_cast<tile::DotOp>(op);
  if (!dot)
    return 0;
  DotCase how(dot);
  if (tile::mmaShapeOf(dot) || fitsInRegisters(how))
    return 0;
  return stagedBytes(how);
}

bool emitDot(Emitter &e, Operation *op) {
  auto dot = dyn_cast<tile::DotOp>(op);
  if (!dot)
    return false;
  if (!dot.getInstruction())
    e.unsupported(op, "the dot has no instruction",
                  "run tessera-dot-instructions before the lowering");
  DotCase how(dot);
  if (tile::mmaShapeOf(dot)) {
    emitMma(e, how);
    return true;
  }
  for (Value operand : {dot.getA(), dot.getB()})
    if (tile::SmemLoadOp load = loadReadByDot(operand))
      e.set(load, SmemTile(e, load).all());
  if (fitsInRegisters(how))
    emitFmaInRegisters(e, how);
  else
    emitStagedFma(e, how, e.scratchOffset(op));
  return true;
}

} // namespace tessera::codegen::gpu
