// codegen/gpu/masks/TileBounds.cpp - bounds of a tile's elements as scalars.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "codegen/gpu/masks/TileBounds.h"

#include "codegen/analysis/AxisInfoOps.h"
#include "dialect/tile/TileDialect.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;

namespace tessera::codegen::gpu {

using Wide = __int128;

// Least and greatest number of an integer type of up to 64 bits.
static std::pair<int64_t, int64_t> rangeOf(Type type) {
  unsigned width = tile::elementType(type).getIntOrFloatBitWidth();
  return {llvm::minIntN(width), llvm::maxIntN(width)};
}

static bool isNumber(Type type) {
  auto integer = dyn_cast<IntegerType>(tile::elementType(type));
  return integer && integer.getWidth() > 1 && integer.getWidth() <= 64;
}

Value TileBounds::materialize(const Bound &bound, Type type) {
  if (bound.value)
    return bound.value;
  return arith::ConstantOp::create(
      b, loc, b.getIntegerAttr(tile::elementType(type), bound.least));
}

void TileBounds::require(Value condition) {
  required = required ? b.createOrFold<arith::AndIOp>(loc, required, condition)
                      : condition;
}

// The induction variable is between the loop's bounds, which the loop does not
// change. A condition on the bounds is computed once, before the loop.
scf::ForOp TileBounds::loopOf(const Bound &bound) {
  auto argument = dyn_cast_or_null<BlockArgument>(bound.value);
  if (!argument)
    return {};
  auto loop = dyn_cast<scf::ForOp>(argument.getOwner()->getParentOp());
  return loop && argument == loop.getInductionVar() ? loop : scf::ForOp();
}

void TileBounds::requireAtMost(const Bound &bound, int64_t end) {
  // counter < upper <= end + 1
  if (scf::ForOp loop = loopOf(bound))
    if (Found upper = ofScalar(loop.getUpperBound());
        upper && end < rangeOf(bound.value.getType()).second)
      return require(less(upper->high, {{}, end + 1, end + 1}, true));
  require(less(bound, {{}, end, end}, true));
}

void TileBounds::requireAtLeast(const Bound &bound, int64_t end) {
  if (scf::ForOp loop = loopOf(bound))
    if (Found lower = ofScalar(loop.getLowerBound()))
      return require(less({{}, end, end}, lower->low, true));
  require(less({{}, end, end}, bound, true));
}

//===----------------------------------------------------------------------===//
// Masks
//===----------------------------------------------------------------------===//

Value TileBounds::all(Value mask, bool wanted) {
  Value result = holds(mask, wanted);
  if (result && required)
    result = b.createOrFold<arith::AndIOp>(loc, required, result);
  return result;
}

Value TileBounds::holds(Value mask, bool wanted) {
  Operation *op = mask.getDefiningOp();
  if (!op)
    return {};
  if (isa<arith::CmpIOp>(op))
    return compare(mask, wanted);
  if (isa<tile::ExpandDimsOp, tile::BroadcastOp, tile::TransOp, tile::ReshapeOp,
          tile::ConvertLayoutOp>(op))
    return holds(op->getOperand(0), wanted);
  if (auto splat = dyn_cast<tile::SplatOp>(op)) {
    Value all = splat.getSrc();
    if (!wanted)
      all = b.createOrFold<arith::XOrIOp>(
          loc, all, arith::ConstantOp::create(b, loc, b.getBoolAttr(true)));
    return all;
  }
  if (!isa<arith::AndIOp, arith::OrIOp>(op))
    return {};
  Value lhs = holds(op->getOperand(0), wanted);
  Value rhs = lhs ? holds(op->getOperand(1), wanted) : Value();
  if (!rhs)
    return {};
  // `x and y` is all true if both are all true, and all false if one of them is
  // all false. `or` is the dual.
  if (isa<arith::AndIOp>(op) == wanted)
    return b.createOrFold<arith::AndIOp>(loc, lhs, rhs);
  return b.createOrFold<arith::OrIOp>(loc, lhs, rhs);
}

Value TileBounds::less(const Bound &x, const Bound &y, bool orEqual) {
  auto decided = [&](bool value) {
    return arith::ConstantOp::create(b, loc, b.getBoolAttr(value));
  };
  if (orEqual ? x.most <= y.least : x.most < y.least)
    return decided(true);
  if (orEqual ? x.least > y.most : x.least >= y.most)
    return decided(false);
  Type type = x.value ? x.value.getType() : y.value.getType();
  return b.createOrFold<arith::CmpIOp>(
      loc, orEqual ? arith::CmpIPredicate::sle : arith::CmpIPredicate::slt,
      materialize(x, type), materialize(y, type));
}

Value TileBounds::compare(Value mask, bool wanted) {
  using P = arith::CmpIPredicate;
  auto cmp = mask.getDefiningOp<arith::CmpIOp>();
  if (!isNumber(cmp.getLhs().getType()))
    return {};
  Found x = of(cmp.getLhs());
  Found y = x ? of(cmp.getRhs()) : std::nullopt;
  if (!y)
    return {};
  P predicate =
      wanted ? cmp.getPredicate() : arith::invertPredicate(cmp.getPredicate());
  // Signed and unsigned comparisons agree for non-negative numbers.
  bool positive = x->low.least >= 0 && y->low.least >= 0;
  switch (predicate) {
  case P::ult:
  case P::ule:
  case P::ugt:
  case P::uge:
    if (!positive)
      return {};
    break;
  default:
    break;
  }
  switch (predicate) {
  case P::slt:
  case P::ult:
    return less(x->high, y->low, false);
  case P::sle:
  case P::ule:
    return less(x->high, y->low, true);
  case P::sgt:
  case P::ugt:
    return less(y->high, x->low, false);
  case P::sge:
  case P::uge:
    return less(y->high, x->low, true);
  case P::ne:
    return b.createOrFold<arith::OrIOp>(loc, less(x->high, y->low, false),
                                        less(y->high, x->low, false));
  case P::eq:
    return {};
  }
  llvm_unreachable("all predicates are above");
}

//===----------------------------------------------------------------------===//
// Bounds
//===----------------------------------------------------------------------===//

TileBounds::Found TileBounds::ofScalar(Value value) {
  if (!isNumber(value.getType()))
    return std::nullopt;
  AxisInfo info = axes.of(value);
  auto [least, most] = rangeOf(value.getType());
  Bound bound{value, std::max(info.low, least), std::min(info.high, most)};
  // Every value is a multiple of the divisor, which tightens the range: a
  // multiple of 64 is at least 63 below the maximum of i32.
  const int64_t divisor = axis::divisorOf(info, value.getType());
  const auto multiple = [&](Wide end) { return end - (end % divisor); };
  bound.most = int64_t(std::max<Wide>(
      least, bound.most < 0 ? multiple(Wide(bound.most) - divisor + 1)
                            : multiple(bound.most)));
  bound.least = int64_t(std::min<Wide>(
      most, bound.least > 0 ? multiple(Wide(bound.least) + divisor - 1)
                            : multiple(bound.least)));
  if (bound.least > bound.most) // a loop without iterations
    return std::nullopt;
  if (bound.least == bound.most)
    bound.value = {};
  return Interval{bound, bound};
}

TileBounds::Found TileBounds::of(Value value) {
  if (!isNumber(value.getType()))
    return std::nullopt;
  if (!isa<RankedTensorType>(value.getType()))
    return ofScalar(value);
  if (auto it = known.find(value); it != known.end())
    return it->second;
  Operation *op = value.getDefiningOp();
  Found found = op ? computed(op, value.getType()) : std::nullopt;
  if (!found)
    found = always(value);
  known[value] = found;
  return found;
}

// Returns constant bounds from AxisInfo, which hold in every launch.
TileBounds::Found TileBounds::always(Value value) {
  AxisInfo info = axes.of(value);
  auto [least, most] = rangeOf(value.getType());
  if (info.low <= least && info.high >= most)
    return std::nullopt;
  return Interval{{{}, std::max(info.low, least), std::max(info.low, least)},
                  {{}, std::min(info.high, most), std::min(info.high, most)}};
}

TileBounds::Found TileBounds::computed(Operation *op, Type type) {
  auto same = [](int64_t low, int64_t high) {
    return Interval{{{}, low, low}, {{}, high, high}};
  };
  if (auto range = dyn_cast<tile::RangeOp>(op))
    return same(range.getStart(), int64_t(range.getEnd()) - 1);
  if (auto constant = dyn_cast<arith::ConstantOp>(op)) {
    auto splat = dyn_cast<SplatElementsAttr>(constant.getValue());
    if (!splat)
      return std::nullopt;
    int64_t number = splat.getSplatValue<APInt>().getSExtValue();
    return same(number, number);
  }
  if (auto splat = dyn_cast<tile::SplatOp>(op))
    return ofScalar(splat.getSrc());
  if (isa<tile::ExpandDimsOp, tile::BroadcastOp, tile::TransOp, tile::ReshapeOp,
          tile::ConvertLayoutOp>(op))
    return of(op->getOperand(0));
  if (isa<arith::AddIOp, arith::SubIOp>(op))
    return sum(isa<arith::AddIOp>(op) ? Sum::Add : Sum::Sub, op->getOperand(0),
               op->getOperand(1));
  if (isa<arith::MulIOp>(op))
    return product(op->getOperand(0), op->getOperand(1));
  if (isa<arith::DivSIOp>(op))
    return quotient(op->getOperand(0), op->getOperand(1));
  if (isa<arith::MinSIOp, arith::MaxSIOp>(op))
    return extremum(op->getOperand(0), op->getOperand(1),
                    isa<arith::MaxSIOp>(op));
  if (isa<arith::SelectOp>(op)) {
    Found x = of(op->getOperand(1));
    Found y = x ? of(op->getOperand(2)) : std::nullopt;
    if (!y)
      return std::nullopt;
    return Interval{pick(x->low, y->low, false, type),
                    pick(x->high, y->high, true, type)};
  }
  if (auto wider = dyn_cast<arith::ExtSIOp>(op)) {
    Found x = of(wider.getIn());
    if (!x)
      return std::nullopt;
    for (Bound *bound : {&x->low, &x->high})
      if (bound->value)
        bound->value = arith::ExtSIOp::create(b, loc, tile::elementType(type),
                                              bound->value);
    return x;
  }
  return std::nullopt;
}

// Returns x + y or x - y as the bound on `side`. Requires that the result does
// not wrap on that side. The other bound of the sum covers the other side.
std::optional<TileBounds::Bound> TileBounds::added(Sum kind, const Bound &x,
                                                   const Bound &y, Side side,
                                                   Type type) {
  auto [lowest, highest] = rangeOf(type);
  bool minus = kind == Sum::Sub;
  Wide least = minus ? Wide(x.least) - y.most : Wide(x.least) + y.least;
  Wide most = minus ? Wide(x.most) - y.least : Wide(x.most) + y.most;
  bool fits = side == Side::Low ? least >= lowest : most <= highest;
  Bound result{{},
               int64_t(std::clamp<Wide>(least, lowest, highest)),
               int64_t(std::clamp<Wide>(most, lowest, highest))};
  Type scalar = tile::elementType(type);
  if (!fits) {
    // If one operand is constant, compares the other one with its limit.
    auto limit = [&](const Bound &variable, Wide bound, bool atMost) {
      if (bound < lowest || bound > highest)
        return false; // never in range
      if (atMost)
        requireAtMost(variable, int64_t(bound));
      else
        requireAtLeast(variable, int64_t(bound));
      return true;
    };
    Wide edge = side == Side::Low ? lowest : highest;
    bool possible = false;
    if (!y.value)
      possible =
          limit(x, minus ? edge + y.least : edge - y.least, side == Side::High);
    else if (!x.value)
      possible = minus ? limit(y, x.least - edge, side == Side::Low)
                       : limit(y, edge - x.least, side == Side::High);
    if (!x.value || !y.value) {
      if (!possible)
        return std::nullopt;
    } else if (scalar.getIntOrFloatBitWidth() <= 32) {
      Type wide = b.getI64Type();
      Value a = arith::ExtSIOp::create(b, loc, wide, x.value);
      Value c = arith::ExtSIOp::create(b, loc, wide, y.value);
      Value exact = minus ? b.createOrFold<arith::SubIOp>(loc, a, c)
                          : b.createOrFold<arith::AddIOp>(loc, a, c);
      Value end = arith::ConstantOp::create(
          b, loc, b.getI64IntegerAttr(side == Side::Low ? lowest : highest));
      require(b.createOrFold<arith::CmpIOp>(loc,
                                            side == Side::Low
                                                ? arith::CmpIPredicate::sge
                                                : arith::CmpIPredicate::sle,
                                            exact, end));
    } else {
      return std::nullopt;
    }
  }
  if (!x.value && !y.value && least == most)
    return result;
  Value a = materialize(x, type), c = materialize(y, type);
  result.value = minus ? b.createOrFold<arith::SubIOp>(loc, a, c)
                       : b.createOrFold<arith::AddIOp>(loc, a, c);
  return result;
}

TileBounds::Found TileBounds::sum(Sum kind, Value lhs, Value rhs) {
  Found x = of(lhs);
  Found y = x ? of(rhs) : std::nullopt;
  if (!y)
    return std::nullopt;
  bool minus = kind == Sum::Sub;
  auto low =
      added(kind, x->low, minus ? y->high : y->low, Side::Low, lhs.getType());
  auto high =
      added(kind, x->high, minus ? y->low : y->high, Side::High, lhs.getType());
  if (!low || !high)
    return std::nullopt;
  return Interval{*low, *high};
}

// Returns a * factor as the bound on `side`; factor > 0.
std::optional<TileBounds::Bound>
TileBounds::scaled(const Bound &a, int64_t factor, Side side, Type type) {
  auto [lowest, highest] = rangeOf(type);
  Wide least = Wide(a.least) * factor, most = Wide(a.most) * factor;
  // The divisions round toward zero, so the limits are inside of the range.
  if (side == Side::Low && least < lowest)
    requireAtLeast(a, lowest / factor);
  if (side == Side::High && most > highest)
    requireAtMost(a, highest / factor);
  Bound result{{},
               int64_t(std::clamp<Wide>(least, lowest, highest)),
               int64_t(std::clamp<Wide>(most, lowest, highest))};
  if (a.value)
    result.value = b.createOrFold<arith::MulIOp>(
        loc, a.value, materialize({{}, factor, factor}, type));
  return result;
}

TileBounds::Found TileBounds::product(Value lhs, Value rhs) {
  Found x = of(lhs);
  Found y = x ? of(rhs) : std::nullopt;
  if (!y)
    return std::nullopt;
  auto isFactor = [](const Interval &i) {
    return !i.low.value && !i.high.value && i.low.least == i.high.least &&
           i.low.least > 0;
  };
  if (isFactor(*x))
    std::swap(x, y);
  if (!isFactor(*y))
    return std::nullopt;
  auto low = scaled(x->low, y->low.least, Side::Low, lhs.getType());
  auto high = scaled(x->high, y->low.least, Side::High, lhs.getType());
  return Interval{*low, *high};
}

TileBounds::Found TileBounds::quotient(Value lhs, Value rhs) {
  Found y = of(rhs);
  if (!y || y->low.value || y->high.value || y->low.least != y->high.least ||
      y->low.least <= 0)
    return std::nullopt;
  Found x = of(lhs);
  if (!x)
    return std::nullopt;
  // Division that rounds toward zero is monotonic.
  int64_t divisor = y->low.least;
  for (Bound *bound : {&x->low, &x->high}) {
    if (bound->value)
      bound->value = b.createOrFold<arith::DivSIOp>(
          loc, bound->value,
          materialize({{}, divisor, divisor}, lhs.getType()));
    bound->least /= divisor;
    bound->most /= divisor;
  }
  return x;
}

TileBounds::Bound TileBounds::pick(const Bound &x, const Bound &y,
                                   bool greatest, Type type) {
  if (greatest ? x.least >= y.most : x.most <= y.least)
    return x;
  if (greatest ? y.least >= x.most : y.most <= x.least)
    return y;
  Bound result{{},
               greatest ? std::max(x.least, y.least)
                        : std::min(x.least, y.least),
               greatest ? std::max(x.most, y.most) : std::min(x.most, y.most)};
  Value a = materialize(x, type), c = materialize(y, type);
  result.value = greatest ? b.createOrFold<arith::MaxSIOp>(loc, a, c)
                          : b.createOrFold<arith::MinSIOp>(loc, a, c);
  return result;
}

TileBounds::Found TileBounds::extremum(Value lhs, Value rhs, bool greatest) {
  Found x = of(lhs);
  Found y = x ? of(rhs) : std::nullopt;
  if (!y)
    return std::nullopt;
  return Interval{pick(x->low, y->low, greatest, lhs.getType()),
                  pick(x->high, y->high, greatest, lhs.getType())};
}

} // namespace tessera::codegen::gpu
