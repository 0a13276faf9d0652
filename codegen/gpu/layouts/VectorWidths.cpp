// codegen/gpu/layouts/VectorWidths.cpp - how much a lane loads or stores at
// once. Copyright the tessera authors. SPDX-License-Identifier: Apache-2.0
#include "codegen/gpu/Lower.h"
#include "codegen/gpu/layouts/Access.h"
#include "codegen/gpu/layouts/Passes.h"
#include "dialect/tile/TileDialect.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"

using namespace mlir;
using tessera::layout::Dim;
using tessera::layout::LinearLayout;
using tessera::layout::Word;

namespace tessera::codegen::gpu {
namespace {

// Neighbours along `dim` that each lane holds in its lowest registers, in
// aligned groups; 1 where the lowest registers run along no dimension.
int64_t runOf(const LinearLayout &layout, int &dim) {
  dim = -1;
  int64_t run = 1;
  for (int bit = 0; bit < layout.inBits(Dim::Register); ++bit) {
    Word column = layout.column(Dim::Register, bit);
    for (int axis = 0; bit == 0 && axis < int(layout.outs().size()); ++axis)
      if (layout.outs()[size_t(axis)].bits &&
          column == Word(1) << layout.outStart(layout::tileDim(axis)))
        dim = axis;
    if (dim < 0)
      break;
    Dim along = layout::tileDim(dim);
    // No other bit may move inside the group.
    Word low = Word(1) << (layout.outStart(along) + bit);
    int users = 0;
    for (Word other : layout.columns())
      users += (other & low) != 0;
    if (column != low || users != 1 || bit >= layout.outBits(along))
      break;
    run *= 2;
  }
  return run;
}

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
      int64_t run = runOf(layout.layout(), dim);
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
