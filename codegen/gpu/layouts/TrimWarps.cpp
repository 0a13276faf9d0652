// codegen/gpu/layouts/TrimWarps.cpp - removes warps that hold only replicas.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
//
// If a bit of the warp number selects no element of any tensor, the two halves
// of the block compute the same, and only one of them stores. The pass removes
// such bits from all layouts, and the kernel is launched with fewer warps:
//
//     4 warps: warps = [1, 0]           2 warps: warps = [1]
//     warps 2, 3 repeat warps 0, 1
#include "codegen/gpu/kernel/Warps.h"
#include "codegen/gpu/passes/Passes.h"
#include "dialect/tile/TileDialect.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/AttrTypeSubElements.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/Support/DebugLog.h"

#define DEBUG_TYPE "tessera-trim-warps"

using namespace mlir;

namespace tessera::codegen::gpu {

#define GEN_PASS_DEF_TRIMWARPSPASS
#include "codegen/gpu/passes/Passes.h.inc"

namespace {

struct TrimWarpsPass : public impl::TrimWarpsPassBase<TrimWarpsPass> {
  using Base::Base;

  void runOnOperation() final {
    SmallVector<bool> used = usedBits();
    int kept = int(llvm::count(used, true));
    LDBG() << kept << " of " << used.size()
           << " bits of the warp number move elements";
    if (size_t(kept) == used.size())
      return;
    AttrTypeReplacer replacer;
    replacer.addReplacement([&](tile::LinearAttr attr) {
      SmallVector<uint64_t> warps;
      for (auto [column, isUsed] : llvm::zip(attr.getWarps(), used))
        if (isUsed)
          warps.push_back(column);
      return tile::LinearAttr::get(&getContext(), attr.getShape(),
                                   attr.getRegisters(), attr.getLanes(), warps);
    });
    replacer.recursivelyReplaceElementsIn(getOperation(), /*replaceAttrs=*/true,
                                          /*replaceLocs=*/false,
                                          /*replaceTypes=*/true);
    // The replacer does not update the type inside a dense attribute.
    getOperation().walk([&](arith::ConstantOp constant) {
      if (auto dense = dyn_cast<DenseElementsAttr>(constant.getValue()))
        constant.setValueAttr(
            dense.reshape(cast<ShapedType>(constant.getType())));
    });
    Builder builder(&getContext());
    getOperation()->setAttr(kNumWarpsAttr,
                            builder.getI64IntegerAttr(int64_t(1) << kept));
  }

private:
  // Returns, per bit of the warp number, whether it selects elements of a
  // tensor.
  SmallVector<bool> usedBits() {
    SmallVector<bool> used(llvm::Log2_32(uint32_t(int(numWarps))), false);
    auto look = [&](Type type) {
      if (tile::LinearAttr layout = tile::layoutOf(type))
        for (auto [column, isUsed] : llvm::zip(layout.getWarps(), used))
          isUsed |= column != 0;
    };
    getOperation().walk([&](Operation *op) {
      llvm::for_each(op->getResultTypes(), look);
      llvm::for_each(op->getOperandTypes(), look);
      for (Region &region : op->getRegions())
        for (Block &block : region)
          llvm::for_each(block.getArgumentTypes(), look);
    });
    return used;
  }
};

} // namespace

} // namespace tessera::codegen::gpu

#undef DEBUG_TYPE
