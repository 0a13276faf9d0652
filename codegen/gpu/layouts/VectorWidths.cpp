// codegen/gpu/layouts/VectorWidths.cpp - sets the vector widths of accesses.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "codegen/gpu/kernel/Attributes.h"
#include "codegen/gpu/layouts/AccessLayouts.h"
#include "codegen/gpu/layouts/Traffic.h"
#include "codegen/gpu/passes/Passes.h"
#include "dialect/tile/TileDialect.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/Support/DebugLog.h"

#define DEBUG_TYPE "tessera-vector-widths"

using namespace mlir;

namespace tessera::codegen::gpu {

#define GEN_PASS_DEF_VECTORWIDTHSPASS
#include "codegen/gpu/passes/Passes.h.inc"

namespace {

struct VectorWidthsPass : public impl::VectorWidthsPassBase<VectorWidthsPass> {
  using Base::Base;

  void runOnOperation() final {
    AxisInfoAnalysis axes(getOperation());
    Builder builder(&getContext());
    getOperation().walk([&](Operation *op) {
      Value ptr = tensorOfPointers(op);
      tile::LinearAttr layout =
          ptr ? tile::layoutOf(ptr.getType()) : tile::LinearAttr();
      if (!layout)
        return;
      int dim = -1;
      int64_t run = neighboursInLane(layout.layout(), dim);
      int64_t width =
          dim < 0 ? 1 : std::min(run, axes.accessWidth(ptr, maskOf(op), dim));
      LDBG() << op->getName() << " at " << op->getLoc() << ": " << width
             << " elements at once (" << run << " in a lane)";
      if (width > 1)
        op->setAttr(kVectorAttr, builder.getI64IntegerAttr(width));
      else
        op->removeAttr(kVectorAttr);
    });
  }
};

} // namespace

} // namespace tessera::codegen::gpu

#undef DEBUG_TYPE
