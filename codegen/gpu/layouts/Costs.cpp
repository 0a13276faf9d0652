// codegen/gpu/layouts/Costs.cpp - costs of conversion and rematerialization.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "codegen/gpu/layouts/Costs.h"

#include "codegen/gpu/kernel/TileSizes.h"
#include "codegen/gpu/layouts/AccessLayouts.h"
#include "codegen/gpu/layouts/Transfer.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

#include <limits>

using namespace mlir;
using tessera::layout::Dim;
using tessera::layout::LinearLayout;
using tessera::layout::Word;

namespace tessera::codegen::gpu {

constexpr double impossible = std::numeric_limits<double>::infinity();
// Limit on the chain of operations that is followed backward from a use.
constexpr int maxDepth = 12;

static double registersOf(tile::LinearAttr layout) {
  return double(int64_t(1) << layout.getRegisters().size());
}

static double iterationsOf(Value value) {
  return double(iterationsIn(value.getParentRegion()));
}

double Costs::conversion(tile::LinearAttr from, tile::LinearAttr to,
                         Type element) {
  int64_t bytes = bytesInMemory(element);
  auto [place, isNew] = conversions.try_emplace({from, to, bytes}, 0.0);
  if (!isNew)
    return place->second;
  LinearLayout source = from.layout(), result = to.layout();
  // `here` spans the elements that a thread of the source holds.
  layout::Span here;
  for (Word column : source.columns(Dim::Register))
    here.add(column);
  auto within = [&](Dim dim, const layout::Span &span) {
    // The columns of each bit agree up to elements of `span`.
    const auto &a = source.columns(dim), &b = result.columns(dim);
    for (size_t bit = 0; bit < b.size(); ++bit)
      if (!span.contains(a[bit] ^ b[bit]))
        return false;
    return true;
  };
  bool registers = true;
  for (Word column : result.columns(Dim::Register))
    registers &= here.contains(column);
  double words = std::max(1.0, double(bytes) / 4);
  double regs = std::max(registersOf(from), registersOf(to));
  if (registers && within(Dim::Lane, here) && within(Dim::Warp, here)) {
    // Threads have all their elements; each only selects among its registers.
    bool same = source.columns(Dim::Lane) == result.columns(Dim::Lane) &&
                source.columns(Dim::Warp) == result.columns(Dim::Warp);
    place->second = same ? 0 : regs * words;
    return place->second;
  }
  layout::Span warp = here;
  for (Word column : source.columns(Dim::Lane))
    warp.add(column);
  bool inWarp = within(Dim::Warp, warp);
  for (Dim dim : {Dim::Register, Dim::Lane})
    for (Word column : result.columns(dim))
      inWarp &= warp.contains(column);
  double packed = std::max(1.0, regs * double(bytes) / 4);
  place->second = inWarp ? 4 + 3 * packed : 48 + 3 * packed;
  return place->second;
}

bool Costs::cheaperToRematerialize(Value value, tile::LinearAttr layout) {
  double convert = conversion(propagation.assigned(value), layout,
                              tile::elementType(value.getType()));
  if (convert == 0)
    return false;
  return rematerializing(value, layout, 0) < convert * iterationsOf(value);
}

int Costs::stepsOf(Value value) {
  Operation *op = value.getDefiningOp();
  if (!op || !propagation.isRematerializable(value))
    return 0;
  auto [place, isNew] = steps.try_emplace(value, 0);
  if (!isNew)
    return place->second;
  int sum = isElementwise(op) && !isa<arith::ConstantOp>(op) ? 1 : 0;
  for (Value operand : op->getOperands())
    sum += stepsOf(operand);
  return steps[value] = std::min(sum, maxDepth);
}

double Costs::obtaining(Value value, tile::LinearAttr layout, int depth) {
  double iterations = iterationsOf(value);
  // A rematerializable value costs little in any layout.
  if (propagation.isRematerializable(value))
    return iterations * registersOf(layout);
  tile::LinearAttr assigned = propagation.assigned(value);
  if (assigned == layout)
    return 0;
  double convert = iterations * conversion(assigned, layout,
                                           tile::elementType(value.getType()));
  if (convert == 0 || depth >= maxDepth)
    return convert;
  return std::min(convert, rematerializing(value, layout, depth));
}

double Costs::rematerializing(Value value, tile::LinearAttr layout, int depth) {
  Operation *op = value.getDefiningOp();
  if (!op || op->getNumResults() != 1)
    return impossible;
  auto [place, isNew] = known.try_emplace({value, layout}, impossible);
  if (!isNew)
    return place->second;
  double each;
  if (auto load = dyn_cast<tile::LoadOp>(op)) {
    if (load.getIsVolatile() || !propagation.isSmallAccess(op) ||
        propagation.wastesSectors(op, layout))
      return impossible;
    each = 4;
  } else if (isa<tile::ExpandDimsOp, tile::BroadcastOp, tile::TransOp,
                 tile::ReshapeOp>(op)) {
    each = 0;
  } else if (isElementwise(op)) {
    each = isa<math::MathDialect>(op->getDialect()) ||
                   isa<arith::DivFOp, arith::DivSIOp, arith::DivUIOp,
                       arith::RemSIOp, arith::RemUIOp>(op)
               ? 8
               : 1;
  } else {
    return impossible;
  }
  // Assumes that each element's address is computed separately.
  if (isa<tile::LoadOp>(op))
    each += stepsOf(op->getOperand(0));
  double total = iterationsOf(value) * registersOf(layout) * each;
  for (OpOperand &operand : op->getOpOperands()) {
    if (!isa<RankedTensorType>(operand.get().getType()))
      continue;
    tile::LinearAttr wanted = layout;
    if (!isa<tile::LoadOp>(op)) {
      auto below =
          operandLayout(op, operand.getOperandNumber(), layout.layout());
      if (!below)
        return impossible;
      wanted = tile::LinearAttr::get(op->getContext(), *below);
    }
    total += obtaining(operand.get(), wanted, depth + 1);
  }
  known[{value, layout}] = total;
  return total;
}

} // namespace tessera::codegen::gpu
