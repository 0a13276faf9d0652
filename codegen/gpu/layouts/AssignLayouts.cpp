// codegen/gpu/layouts/AssignLayouts.cpp - a first layout for every tensor.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "codegen/gpu/layouts/Passes.h"

#include "dialect/layout/RegisterLayouts.h"
#include "dialect/layout/ShapeOps.h"
#include "dialect/tile/TileDialect.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"
#include "mlir/Pass/PassRegistry.h"

#include <algorithm>

using namespace mlir;
using tessera::layout::LinearLayout;

namespace tessera::codegen::gpu {
namespace {

// One element a lane, lanes along the last axis first, then warps; what is left
// of the tile repeats in registers.
LinearLayout defaultLayout(ArrayRef<int64_t> shape, int64_t warps) {
  size_t rank = shape.size();
  layout::Blocked how;
  how.perThread.assign(rank, 1);
  how.lanes.assign(rank, 1);
  how.warps.assign(rank, 1);
  int64_t lanes = layout::lanesPerWarp;
  for (size_t axis = rank; axis-- > 0;) {
    how.lanes[axis] = axis ? std::min(lanes, shape[axis]) : lanes;
    lanes /= how.lanes[axis];
    int64_t rest = std::max<int64_t>(shape[axis] / how.lanes[axis], 1);
    how.warps[axis] = axis ? std::min(warps, rest) : warps;
    warps /= how.warps[axis];
  }
  return layout::blocked(shape.vec(), how);
}

class AssignLayouts {
public:
  AssignLayouts(ModuleOp module, int numWarps)
      : module(module), numWarps(numWarps) {}

  void run() {
    module.walk([&](Operation *op) {
      for (Value result : op->getResults())
        assign(result);
      for (Region &region : op->getRegions())
        for (Block &block : region)
          for (BlockArgument argument : block.getArguments())
            assign(argument);
      if (auto constant = dyn_cast<arith::ConstantOp>(op))
        if (auto dense = dyn_cast<DenseElementsAttr>(constant.getValue()))
          constant.setValueAttr(
              dense.reshape(cast<ShapedType>(constant.getType())));
    });
    SmallVector<Operation *> operations;
    module.walk([&](Operation *op) { operations.push_back(op); });
    for (Operation *op : operations)
      fit(op);
  }

private:
  tile::LinearAttr attr(const LinearLayout &layout) {
    return tile::LinearAttr::get(module.getContext(), layout);
  }
  Type with(Type type, tile::LinearAttr layout) {
    auto tensor = cast<RankedTensorType>(type);
    return RankedTensorType::get(tensor.getShape(), tensor.getElementType(),
                                 layout);
  }
  void assign(Value value) {
    auto tensor = dyn_cast<RankedTensorType>(value.getType());
    if (!tensor || tensor.getEncoding())
      return;
    auto &layout = defaults[tensor.getShape().vec()];
    if (!layout)
      layout = attr(defaultLayout(tensor.getShape(), numWarps));
    value.setType(with(tensor, layout));
  }

  // The operand in another layout.
  void convertOperand(Operation *op, unsigned index,
                      const LinearLayout &layout) {
    OpBuilder builder(op);
    Value operand = op->getOperand(index);
    Type type = with(operand.getType(), attr(layout));
    if (type != operand.getType())
      op->setOperand(index, tile::ConvertLayoutOp::create(builder, op->getLoc(),
                                                          type, operand));
  }
  // The result in the layout that the operation gives it, converted for users.
  void convertResult(OpResult result, const LinearLayout &layout) {
    Type wanted = result.getType(), natural = with(wanted, attr(layout));
    if (natural == wanted)
      return;
    Operation *op = result.getOwner();
    OpBuilder builder(op);
    builder.setInsertionPointAfter(op);
    result.setType(natural);
    auto converted =
        tile::ConvertLayoutOp::create(builder, op->getLoc(), wanted, result);
    result.replaceAllUsesExcept(converted, converted);
  }
  static LinearLayout layoutOf(Value value) {
    return tile::layoutOf(value.getType()).layout();
  }

  void fit(Operation *op);
  void fitBroadcast(tile::BroadcastOp op);
  void fitReduction(Operation *op, int axis);
  void fitDot(tile::DotOp op);

  ModuleOp module;
  int numWarps;
  std::map<std::vector<int64_t>, tile::LinearAttr> defaults;
};

// What `layout` says about the axes that do not grow; `shape` is the operand's.
LinearLayout projected(const LinearLayout &layout, ArrayRef<int64_t> shape) {
  layout::Extents outs = layout::tileExtents(shape.vec());
  std::vector<layout::Word> columns;
  for (layout::Word column : layout.columns()) {
    layout::Word result = 0;
    int start = 0;
    for (const layout::Extent &out : outs) {
      if (out.bits == layout.outBits(out.dim))
        result |= (column >> layout.outStart(out.dim) &
                   ((layout::Word(1) << out.bits) - 1))
                  << start;
      start += out.bits;
    }
    columns.push_back(result);
  }
  return layout::dropCopies(LinearLayout(layout.ins(), outs, columns));
}

void AssignLayouts::fitBroadcast(tile::BroadcastOp op) {
  convertOperand(op, 0,
                 projected(layoutOf(op.getResult()),
                           tile::shapeOf(op.getSrc().getType())));
}

void AssignLayouts::fitReduction(Operation *op, int axis) {
  LinearLayout source = layoutOf(op->getOperand(0));
  for (OpResult result : op->getResults())
    if (isa<RankedTensorType>(result.getType()))
      convertResult(result, layout::slice(source, axis));
}

// Each thread multiplies whole rows of a with whole columns of b: the operands
// are spread like the result, with all of K in every thread.
void AssignLayouts::fitDot(tile::DotOp op) {
  LinearLayout result = layoutOf(op.getResult());
  int rank = int(tile::shapeOf(op.getType()).size());
  auto operand = [&](unsigned index, int reduced) {
    Value value = op->getOperand(index);
    ArrayRef<int64_t> shape = tile::shapeOf(value.getType());
    // The result's other axis becomes K, all of it in registers.
    SmallVector<int64_t> without(shape);
    without[size_t(reduced)] = 1;
    LinearLayout rows = projected(result, without);
    convertOperand(op, index,
                   layout::broadcast(rows, reduced, shape[size_t(reduced)]));
  };
  operand(0, rank - 1);
  operand(1, rank - 2);
}

void AssignLayouts::fit(Operation *op) {
  if (auto expand = dyn_cast<tile::ExpandDimsOp>(op))
    convertOperand(
        op, 0,
        layout::slice(layoutOf(expand.getResult()), int(expand.getAxis())));
  else if (auto broadcast = dyn_cast<tile::BroadcastOp>(op))
    fitBroadcast(broadcast);
  else if (auto trans = dyn_cast<tile::TransOp>(op))
    convertResult(
        op->getResult(0),
        layout::transpose(layoutOf(trans.getSrc()),
                          {trans.getOrder().begin(), trans.getOrder().end()}));
  else if (auto reshape = dyn_cast<tile::ReshapeOp>(op))
    convertResult(op->getResult(0),
                  layout::reshape(layoutOf(reshape.getSrc()),
                                  tile::shapeOf(reshape.getType()).vec()));
  else if (auto join = dyn_cast<tile::JoinOp>(op))
    convertResult(op->getResult(0), layout::join(layoutOf(join.getLhs())));
  else if (auto split = dyn_cast<tile::SplitOp>(op)) {
    // join() puts the last axis in a register; so must the operand here.
    LinearLayout half = layoutOf(split.getLhs());
    convertOperand(op, 0, layout::join(half));
  } else if (auto reduce = dyn_cast<tile::ReduceOp>(op))
    fitReduction(op, int(reduce.getAxis()));
  else if (auto reduce = dyn_cast<tile::ReduceByOp>(op))
    fitReduction(op, int(reduce.getAxis()));
  else if (auto dot = dyn_cast<tile::DotOp>(op))
    fitDot(dot);
}

struct AssignLayoutsPass
    : public PassWrapper<AssignLayoutsPass, OperationPass<ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(AssignLayoutsPass)

  AssignLayoutsPass() = default;
  explicit AssignLayoutsPass(int warps) { numWarps = warps; }
  AssignLayoutsPass(const AssignLayoutsPass &other) : PassWrapper(other) {}

  Option<int> numWarps{*this, "num-warps",
                       llvm::cl::desc("warps of a block, a power of two"),
                       llvm::cl::init(4)};

  StringRef getArgument() const final { return "tessera-assign-layouts"; }
  StringRef getDescription() const final {
    return "Give every tensor a layout over registers, lanes and warps";
  }
  void getDependentDialects(DialectRegistry &registry) const final {
    registry.insert<tile::TileDialect>();
  }
  void runOnOperation() final {
    if (numWarps < 1 || numWarps > 32 || (numWarps & (numWarps - 1))) {
      getOperation().emitError()
          << "num_warps is a power of two up to 32, got " << int(numWarps);
      return signalPassFailure();
    }
    AssignLayouts(getOperation(), numWarps).run();
  }
};

} // namespace

std::unique_ptr<Pass> createAssignLayoutsPass(int numWarps) {
  return std::make_unique<AssignLayoutsPass>(numWarps);
}

void registerLayoutPasses() { PassRegistration<AssignLayoutsPass>(); }

} // namespace tessera::codegen::gpu
