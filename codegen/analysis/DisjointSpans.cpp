// codegen/analysis/DisjointSpans.cpp - parts of one buffer that do not overlap.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "codegen/analysis/DisjointSpans.h"

#include "codegen/analysis/Stride.h"
#include "dialect/tile/TileDialect.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

#include <optional>

using namespace mlir;

namespace tessera::codegen {

namespace {

// The least and the greatest value of the elements of an integer or of a tensor
// of integers.
struct Interval {
  int64_t least, greatest;
};
using Bounds = std::optional<Interval>;

// Larger offsets are treated as unknown, so that no sum of two overflows.
constexpr int64_t kMostOffset = int64_t(1) << 30;

// Returns the operand of an operation that only moves or repeats its elements;
// null for other operations.
Value movedFrom(Operation *op) {
  if (isa<tile::SplatOp, tile::BroadcastOp, tile::ExpandDimsOp, tile::TransOp,
          tile::ReshapeOp, tile::ConvertLayoutOp, arith::ExtSIOp>(op))
    return op->getOperand(0);
  return {};
}

Bounds within(int64_t least, int64_t greatest) {
  if (least < -kMostOffset || greatest > kMostOffset)
    return std::nullopt;
  return Interval{least, greatest};
}

Bounds boundsOf(Value value, int &visits) {
  if (--visits < 0)
    return std::nullopt;
  if (auto constant = constantOf(value))
    return within(*constant, *constant);
  Operation *op = value.getDefiningOp();
  if (!op)
    return std::nullopt;
  if (Value source = movedFrom(op))
    return boundsOf(source, visits);
  if (auto range = dyn_cast<tile::RangeOp>(op))
    return within(range.getStart(), range.getStart() +
                                        tile::shapeOf(range.getType()).front() -
                                        1);
  // Sums of narrow integers may wrap around.
  if (!isa<arith::AddIOp, arith::MulIOp>(op) ||
      tile::elementType(value.getType()).getIntOrFloatBitWidth() < 32)
    return std::nullopt;
  const Bounds a = boundsOf(op->getOperand(0), visits),
               b = boundsOf(op->getOperand(1), visits);
  if (!a || !b)
    return std::nullopt;
  if (isa<arith::AddIOp>(op))
    return within(a->least + b->least, a->greatest + b->greatest);
  if (a->least < 0 || b->least < 0)
    return std::nullopt;
  return within(a->least * b->least, a->greatest * b->greatest);
}

// Elements from `base` + `offsets.least` to `base` + `offsets.greatest`.
struct Span {
  Value base;
  Interval offsets;
};

std::optional<Span> spanOf(Value pointer, int &visits) {
  Operation *op = pointer.getDefiningOp();
  if (op)
    if (Value source = movedFrom(op))
      return spanOf(source, visits);
  if (auto sum = dyn_cast_or_null<tile::AddPtrOp>(op)) {
    const Bounds offsets = boundsOf(sum.getOffset(), visits);
    std::optional<Span> span =
        offsets ? spanOf(sum.getPtr(), visits) : std::nullopt;
    if (span) {
      const Bounds both = within(span->offsets.least + offsets->least,
                                 span->offsets.greatest + offsets->greatest);
      if (!both)
        return std::nullopt;
      return Span{span->base, *both};
    }
  }
  if (isa<RankedTensorType>(pointer.getType()))
    return std::nullopt;
  return Span{pointer, {0, 0}};
}

} // namespace

bool haveDisjointSpans(Value a, Value b) {
  int visits = kMostVisits;
  const std::optional<Span> left = spanOf(a, visits), right = spanOf(b, visits);
  return left && right && left->base == right->base &&
         tile::elementType(a.getType()) == tile::elementType(b.getType()) &&
         (left->offsets.greatest < right->offsets.least ||
          right->offsets.greatest < left->offsets.least);
}

} // namespace tessera::codegen
