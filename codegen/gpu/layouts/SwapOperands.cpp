// codegen/gpu/layouts/SwapOperands.cpp - transposes dots with few rows.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
//
//     d = dot a, b, acc                 e = dot b^T, a^T, acc^T
//                                       d = trans e
//
// An mma instruction has 16 rows and 8 columns. A dot with fewer than 16 rows
// may therefore need fewer instructions if it is transposed.
#include "codegen/gpu/passes/Passes.h"
#include "dialect/tile/DotInstruction.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/Support/DebugLog.h"

#define DEBUG_TYPE "tessera-swap-operands"

using namespace mlir;

namespace tessera::codegen::gpu {

#define GEN_PASS_DEF_SWAPOPERANDSPASS
#include "codegen/gpu/passes/Passes.h.inc"

namespace {

// Returns the instructions of a warp for one step along K. Surplus warps
// compute replicas.
int64_t instructions(const layout::MmaShape &mma, int64_t rows, int64_t columns,
                     int numWarps) {
  return llvm::divideCeil(llvm::divideCeil(rows, mma.m) *
                              llvm::divideCeil(columns, mma.n),
                          numWarps);
}

bool pays(tile::DotOp dot, int numWarps) {
  std::optional<layout::MmaShape> mma = tile::mmaShapeOf(dot);
  if (!mma)
    return false;
  ArrayRef<int64_t> shape = tile::shapeOf(dot.getType());
  int64_t rows = shape[shape.size() - 2], columns = shape.back();
  return instructions(*mma, columns, rows, numWarps) <
         instructions(*mma, rows, columns, numWarps);
}

Value transposed(OpBuilder &builder, Location where, Value value) {
  auto type = cast<RankedTensorType>(value.getType());
  SmallVector<int64_t> shape(type.getShape());
  SmallVector<int32_t> order =
      llvm::to_vector(llvm::seq<int32_t>(0, int32_t(shape.size())));
  size_t rank = shape.size();
  std::swap(shape[rank - 2], shape[rank - 1]);
  std::swap(order[rank - 2], order[rank - 1]);
  return builder.createOrFold<tile::TransOp>(
      where, RankedTensorType::get(shape, type.getElementType()), value, order);
}

struct SwapOperandsPass : public impl::SwapOperandsPassBase<SwapOperandsPass> {
  using Base::Base;

  void runOnOperation() final {
    getOperation().walk([&](tile::DotOp dot) {
      const bool swaps = pays(dot, numWarps);
      LDBG() << (swaps ? "swap" : "keep") << " the operands of the dot at "
             << dot.getLoc();
      if (!swaps)
        return;
      OpBuilder builder(dot);
      Location where = dot.getLoc();
      Value a = transposed(builder, where, dot.getB());
      Value b = transposed(builder, where, dot.getA());
      Value acc = transposed(builder, where, dot.getAcc());
      auto swapped = tile::DotOp::create(
          builder, where, acc.getType(), a, b, acc, dot.getPrecision(),
          dot.getInstructionAttr(), dot.getReasonAttr());
      dot.replaceAllUsesWith(transposed(builder, where, swapped.getResult()));
      dot.erase();
    });
  }
};

} // namespace

} // namespace tessera::codegen::gpu

#undef DEBUG_TYPE
