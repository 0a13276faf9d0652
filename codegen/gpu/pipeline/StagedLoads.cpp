// codegen/gpu/pipeline/StagedLoads.cpp - selects the loads to copy ahead.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "codegen/analysis/MemoryModel.h"
#include "codegen/analysis/PointerOrigins.h"
#include "codegen/gpu/kernel/Attributes.h"
#include "codegen/gpu/pipeline/OperandLayout.h"
#include "codegen/gpu/pipeline/Pipeline.h"
#include "dialect/layout/ShapeOps.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#include <numeric>

using namespace mlir;
using tessera::layout::LinearLayout;

namespace tessera::codegen::gpu {

// Adds the layouts in which dots read the load, in the load's coordinates. A
// dot reads it through a conversion, possibly after transpositions.
static void operandLayouts(Value value, std::vector<int> axes,
                           std::vector<LinearLayout> &found) {
  for (Operation *user : value.getUsers()) {
    if (auto convert = dyn_cast<tile::ConvertLayoutOp>(user)) {
      for (Operation *dot : convert->getUsers())
        if (auto op = dyn_cast<tile::DotOp>(dot))
          if (op.getA() == convert.getResult() ||
              op.getB() == convert.getResult()) {
            LinearLayout layout = layout::dropReplication(layout::transpose(
                tile::layoutOf(convert.getType()).layout(), axes));
            if (!llvm::is_contained(found, layout))
              found.push_back(layout);
          }
    } else if (auto trans = dyn_cast<tile::TransOp>(user)) {
      // Axis i of the result is axis order[i] of the operand.
      std::vector<int> inverse(axes.size());
      for (auto [axis, source] : llvm::enumerate(trans.getOrder()))
        inverse[size_t(source)] = int(axis);
      std::vector<int> both;
      for (int axis : axes)
        both.push_back(inverse[size_t(axis)]);
      operandLayouts(trans.getResult(), both, found);
    }
  }
}

static bool isZero(Value value) {
  if (!value)
    return true;
  if (auto convert = value.getDefiningOp<tile::ConvertLayoutOp>())
    return isZero(convert.getSrc());
  auto constant = value.getDefiningOp<arith::ConstantOp>();
  auto splat = constant ? dyn_cast<SplatElementsAttr>(constant.getValue())
                        : SplatElementsAttr();
  if (!splat)
    return false;
  if (isa<FloatType>(splat.getElementType()))
    return splat.getSplatValue<APFloat>().isPosZero();
  return splat.getSplatValue<APInt>().isZero();
}

int64_t copyVector(tile::LoadOp load) {
  auto type = dyn_cast<RankedTensorType>(load.getType());
  if (!type || !tile::layoutOf(type) || load.getIsVolatile() ||
      !isZero(load.getOther()) || !type.getElementType().isIntOrFloat())
    return 0;
  int bits = int(type.getElementType().getIntOrFloatBitWidth());
  if (bits < 8)
    return 0;
  auto vector = load->getAttrOfType<IntegerAttr>(kVectorAttr);
  int64_t elements =
      std::min<int64_t>(vector ? vector.getInt() : 1, 128 / bits);
  // A replicated element would be copied more than once.
  LinearLayout source = tile::layoutOf(type).layout();
  if (elements * bits < 32 || source != layout::dropReplication(source))
    return 0;
  return elements;
}

bool keepsLoadsBehind(scf::ForOp loop) {
  return loop.getBody()
      ->walk([](Operation *op) {
        const MemoryBehavior behavior = memoryBehaviorOf(op);
        return behavior.isBarrier || behavior.acquires ? WalkResult::interrupt()
                                                       : WalkResult::advance();
      })
      .wasInterrupted();
}

SmallVector<StagedLoad> stagedLoads(scf::ForOp loop) {
  SmallVector<StagedLoad> result;
  loop.getBody()->walk([&](tile::LoadOp load) {
    int64_t elements = copyVector(load);
    if (!elements)
      return;
    // Between the load and the loop, only `if`s are allowed.
    for (Operation *parent = load->getParentOp(); parent != loop;
         parent = parent->getParentOp())
      if (!isa<scf::IfOp>(parent))
        return;
    auto type = cast<RankedTensorType>(load.getType());
    std::vector<int> axes(size_t(type.getRank()));
    std::iota(axes.begin(), axes.end(), 0);
    std::vector<LinearLayout> readers;
    operandLayouts(load.getResult(), axes, readers);
    if (readers.empty())
      return;
    LinearLayout shared = operandLayout(
        tile::layoutOf(type).layout(), layout::log2Exact(elements, "vector"),
        readers, int(type.getElementType().getIntOrFloatBitWidth()));
    result.push_back(
        {load, elements, tile::SharedAttr::get(load.getContext(), shared)});
  });
  return result;
}

void addPairs(ArgumentPairs &pairs, PointerOrigins &origins, Value read,
              Value write) {
  const auto numberOf = [](Value argument) {
    return int32_t(cast<BlockArgument>(argument).getArgNumber());
  };
  const llvm::SmallPtrSet<Value, 4> from = origins.of(read),
                                    to = origins.of(write);
  for (Value a : from)
    for (Value b : to)
      pairs.insert({numberOf(a), numberOf(b)});
}

void requireDisjoint(ModuleOp module, const ArgumentPairs &pairs) {
  ArgumentPairs all;
  if (auto found = module->getAttrOfType<DenseI32ArrayAttr>(kDisjointAttr))
    for (int64_t i = 0; i + 1 < found.size(); i += 2)
      all.insert({found[i], found[i + 1]});
  all.insert(pairs.begin(), pairs.end());
  if (all.empty())
    return;
  // Sorts, because the order of a set of pointers varies from run to run.
  llvm::SmallVector<std::pair<int32_t, int32_t>> sorted(all.begin(), all.end());
  llvm::sort(sorted);
  SmallVector<int32_t> numbers;
  for (auto [read, written] : sorted)
    numbers.append({read, written});
  module->setAttr(kDisjointAttr,
                  DenseI32ArrayAttr::get(module.getContext(), numbers));
}

std::optional<AddressSlice>
addressSlice(scf::ForOp loop, ArrayRef<StagedLoad> loads, Operation *scope) {
  SmallVector<Value> written;
  scope->walk([&](Operation *op) {
    if (auto write = globalWriteOf(op))
      written.push_back(write->through);
  });
  PointerOrigins origins;
  AddressSlice slice;
  llvm::SetVector<Operation *> found;
  SmallVector<Value> work;
  auto readable = [&](tile::LoadOp load) {
    if (load.getIsVolatile())
      return false;
    for (Value pointer : written) {
      if (origins.mayAlias(load.getPtr(), pointer))
        return false;
      addPairs(slice.disjoint, origins, load.getPtr(), pointer);
    }
    return true;
  };
  auto guards = [&](Operation *op) {
    for (Operation *parent = op->getParentOp(); parent != loop;
         parent = parent->getParentOp())
      work.push_back(cast<scf::IfOp>(parent).getCondition());
  };
  for (const StagedLoad &staged : loads) {
    tile::LoadOp load = staged.load;
    if (!readable(load))
      return std::nullopt;
    work.push_back(load.getPtr());
    if (load.getMask())
      work.push_back(load.getMask());
    guards(load);
  }
  while (!work.empty()) {
    Value value = work.pop_back_val();
    if (auto argument = dyn_cast<BlockArgument>(value)) {
      if (argument.getOwner() != loop.getBody()) {
        if (loop->isProperAncestor(argument.getOwner()->getParentOp()))
          return std::nullopt;
        continue;
      }
      if (argument == loop.getInductionVar())
        continue;
      unsigned number = argument.getArgNumber() - 1;
      if (slice.carried.insert(number))
        work.push_back(loop.getYieldedValues()[number]);
      continue;
    }
    Operation *op = value.getDefiningOp();
    if (!loop->isProperAncestor(op) || !found.insert(op))
      continue;
    if (op->getNumRegions())
      return std::nullopt;
    for (Operation *parent = op->getParentOp(); parent != loop;
         parent = parent->getParentOp())
      if (!isa<scf::IfOp>(parent))
        return std::nullopt;
    if (auto load = dyn_cast<tile::LoadOp>(op)) {
      if (!readable(load))
        return std::nullopt;
      guards(op);
    } else if (isa<tile::DotOp>(op) || !isMemoryEffectFree(op) ||
               (op->getParentOp() != loop && !isSpeculatable(op))) {
      return std::nullopt;
    }
    for (Value operand : op->getOperands())
      work.push_back(operand);
  }
  // Program order.
  loop.getBody()->walk([&](Operation *op) {
    if (found.contains(op))
      slice.operations.insert(op);
  });
  return slice;
}

} // namespace tessera::codegen::gpu
