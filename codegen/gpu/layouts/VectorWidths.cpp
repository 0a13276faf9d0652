// codegen/gpu/layouts/VectorWidths.cpp - how much a lane loads or stores at
// once. Copyright the tessera authors. SPDX-License-Identifier: Apache-2.0
#include "codegen/gpu/kernel/Attributes.h"
#include "codegen/gpu/layouts/Access.h"
#include "codegen/gpu/layouts/Passes.h"
#include "codegen/gpu/layouts/Traffic.h"
#include "dialect/tile/TileDialect.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"

using namespace mlir;

namespace tessera::codegen::gpu {
namespace {

struct VectorWidthsPass
    : public PassWrapper<VectorWidthsPass, OperationPass<ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(VectorWidthsPass)

  StringRef getArgument() const final { return "tessera-vector-widths"; }
  StringRef getDescription() const final {
    return "Say how many elements a lane loads or stores at once";
  }
  void runOnOperation() final {
    AxisInfoAnalysis axes(getOperation());
    Builder builder(&getContext());
    getOperation().walk([&](Operation *op) {
      Value ptr = tensorOfPointers(op);
      tile::LinearAttr layout =
          ptr ? tile::layoutOf(ptr.getType()) : tile::LinearAttr();
      if (!layout)
        return;
      Value mask;
      if (auto load = dyn_cast<tile::LoadOp>(op))
        mask = load.getMask();
      else if (auto store = dyn_cast<tile::StoreOp>(op))
        mask = store.getMask();
      else if (auto atomic = dyn_cast<tile::AtomicRMWOp>(op))
        mask = atomic.getMask();
      int dim = -1;
      int64_t run = neighboursInLane(layout.layout(), dim);
      int64_t width =
          dim < 0 ? 1 : std::min(run, axes.accessWidth(ptr, mask, dim));
      if (width > 1)
        op->setAttr(kVectorAttr, builder.getI64IntegerAttr(width));
      else
        op->removeAttr(kVectorAttr);
    });
  }
};

} // namespace

std::unique_ptr<Pass> createVectorWidthsPass() {
  return std::make_unique<VectorWidthsPass>();
}

} // namespace tessera::codegen::gpu
