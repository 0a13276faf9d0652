// codegen/analysis/AxisInfoOps.cpp - facts about a result from its operands'.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "codegen/analysis/AxisInfoOps.h"

#include "codegen/analysis/Stride.h"
#include "dialect/tile/TileDialect.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Matchers.h"

#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace tessera::codegen::axis {

using Axis = AxisInfo::Axis;
constexpr int64_t lowest = std::numeric_limits<int64_t>::min();
constexpr int64_t highest = std::numeric_limits<int64_t>::max();

int64_t powerOfTwoIn(int64_t value) {
  return value == 0 ? maxDivisor : std::min(value & -value, maxDivisor);
}

// Returns a * b, at most maxDivisor.
static int64_t product(int64_t a, int64_t b) {
  return a >= maxDivisor / b ? maxDivisor : a * b;
}

// Returns the step between consecutive values of a run: 1, or the bytes of an
// element for pointers.
static int64_t unitOf(Type type) {
  return isa<tile::PtrType>(tile::elementType(type)) ? elementBytes(type) : 1;
}

static std::pair<int64_t, int64_t> boundsOf(Type type) {
  auto integer = dyn_cast<IntegerType>(tile::elementType(type));
  if (!integer || integer.getWidth() > 63)
    return {lowest, highest};
  if (integer.getWidth() == 1)
    return {0, 1};
  return {llvm::minIntN(integer.getWidth()), llvm::maxIntN(integer.getWidth())};
}

AxisInfo unknown(Type type) {
  AxisInfo info;
  info.axes.resize(std::max<size_t>(1, tile::shapeOf(type).size()));
  std::tie(info.low, info.high) = boundsOf(type);
  return info;
}

AxisInfo ofConstant(Type type, int64_t value) {
  AxisInfo info = unknown(type);
  ArrayRef<int64_t> shape = tile::shapeOf(type);
  for (auto [d, axis] : llvm::enumerate(info.axes))
    axis = {1, powerOfTwoIn(value), shape.empty() ? 1 : shape[d]};
  info.constant = info.low = info.high = value;
  return info;
}

int64_t divisorAt(const Axis &axis, int64_t size, int64_t unit) {
  return size >= axis.contiguity
             ? axis.divisibility
             : std::min(axis.divisibility, product(size, powerOfTwoIn(unit)));
}

int64_t divisorOf(const AxisInfo &info, Type type) {
  int64_t divisor = 1;
  for (const Axis &axis : info.axes)
    divisor = std::max(divisor, divisorAt(axis, 1, unitOf(type)));
  return divisor;
}

// Reduces the contiguity of `axis` and updates its divisor, which then applies
// to the first values of the shorter runs.
static void shorten(Axis &axis, int64_t contiguity, int64_t unit) {
  if (contiguity >= axis.contiguity)
    return;
  axis.divisibility = divisorAt(axis, contiguity, unit);
  axis.contiguity = contiguity;
}

// Returns a run length of an integer at which no run wraps. If the bounds
// exclude the least or the greatest value of the type, no run wraps. Otherwise
// runs that start at a multiple of their length do not wrap, because the type
// wraps at such a multiple. As unsigned numbers, runs wrap from -1 to 0, so the
// bounds must exclude one of these.
static int64_t exactRun(const AxisInfo &info, size_t d, Type type,
                        bool isUnsigned = false) {
  const Axis &axis = info.axes[d];
  auto [low, high] = boundsOf(type);
  const bool exact = isUnsigned ? info.low >= 0 || info.high < 0
                                : info.low > low || info.high < high;
  return exact ? axis.contiguity : std::min(axis.contiguity, axis.divisibility);
}

// Returns `info` with the facts that follow from others: equal bounds are a
// constant, and a divisor of all elements divides each run's first element.
static AxisInfo settled(AxisInfo info, Type type) {
  if (isa<IntegerType>(tile::elementType(type)) && info.low == info.high)
    info.constant = info.low;
  if (info.constant)
    return ofConstant(type, *info.constant);
  int64_t divisor = divisorOf(info, type);
  for (Axis &axis : info.axes)
    axis.divisibility = std::max(axis.divisibility, divisor);
  return info;
}

AxisInfo join(const AxisInfo &a, const AxisInfo &b, Type type) {
  AxisInfo info = unknown(type);
  int64_t unit = unitOf(type);
  for (size_t d = 0; d < info.axes.size(); ++d) {
    Axis &axis = info.axes[d];
    axis.contiguity = std::min(a.axes[d].contiguity, b.axes[d].contiguity);
    axis.divisibility = std::min(divisorAt(a.axes[d], axis.contiguity, unit),
                                 divisorAt(b.axes[d], axis.contiguity, unit));
    axis.constancy = std::min(a.axes[d].constancy, b.axes[d].constancy);
  }
  if (a.constant == b.constant)
    info.constant = a.constant;
  info.low = std::min(a.low, b.low);
  info.high = std::max(a.high, b.high);
  return info;
}

AxisInfo meet(const AxisInfo &a, const AxisInfo &b, Type type) {
  AxisInfo info = a;
  for (size_t d = 0; d < info.axes.size(); ++d) {
    // The first value of a longer run also begins a shorter run, so the divisor
    // of shorter runs holds for it.
    if (b.axes[d].contiguity <= a.axes[d].contiguity)
      info.axes[d].divisibility =
          std::max(a.axes[d].divisibility, b.axes[d].divisibility);
  }
  info.low = std::max(a.low, b.low);
  info.high = std::min(a.high, b.high);
  if (!info.constant)
    info.constant = b.constant;
  if (info.low > info.high) // The facts contradict: the code never executes.
    return a;
  return settled(info, type);
}

void widenBounds(AxisInfo &next, const AxisInfo &before, Type type) {
  auto [low, high] = boundsOf(type);
  if (next.low < before.low)
    next.low = low;
  if (next.high > before.high)
    next.high = high;
}

AxisInfo ofCounter(const AxisInfo &lower, const AxisInfo &upper,
                   const AxisInfo &step, Type type) {
  AxisInfo info = unknown(type);
  info.axes[0].divisibility =
      std::min(lower.axes[0].divisibility, step.axes[0].divisibility);
  info.low = lower.low;
  if (upper.high != lowest)
    info.high = std::max(lower.low, upper.high - 1);
  return settled(info, type);
}

//===----------------------------------------------------------------------===//
// Bounds
//===----------------------------------------------------------------------===//

namespace {

// Sets the bounds of a sum, difference or product. If it could wrap, they are
// the bounds of the type.
template <typename Combine>
void bound(AxisInfo &info, Type type, const AxisInfo &a, const AxisInfo &b,
           Combine combine) {
  auto [low, high] = boundsOf(type);
  info.low = low;
  info.high = high;
  __int128 least = highest, most = lowest;
  for (int64_t x : {a.low, a.high})
    for (int64_t y : {b.low, b.high}) {
      __int128 value = combine(__int128(x), __int128(y));
      least = std::min(least, value);
      most = std::max(most, value);
    }
  if (least < low || most > high)
    return;
  info.low = int64_t(least);
  info.high = int64_t(most);
}

// Returns facts for an elementwise operation: the result is constant in each
// aligned group in which every operand is constant.
AxisInfo constancyOnly(Type type, ArrayRef<AxisInfo> operands) {
  AxisInfo info = unknown(type);
  for (auto [d, axis] : llvm::enumerate(info.axes)) {
    axis.constancy = tile::shapeOf(type).empty() ? 1 : tile::shapeOf(type)[d];
    for (const AxisInfo &operand : operands)
      if (d < operand.axes.size())
        axis.constancy = std::min(axis.constancy, operand.axes[d].constancy);
  }
  return info;
}

//===----------------------------------------------------------------------===//
// Arithmetic
//===----------------------------------------------------------------------===//

// Returns the facts about lhs + rhs, lhs - rhs (`minus`), or pointer + offset
// in elements of `bytes`.
AxisInfo ofSum(Type type, const AxisInfo &a, const AxisInfo &b, bool minus,
               int64_t bytes) {
  AxisInfo info = unknown(type);
  for (size_t d = 0; d < info.axes.size(); ++d) {
    const Axis &x = a.axes[d], &y = b.axes[d];
    Axis &axis = info.axes[d];
    axis.contiguity = std::min(x.contiguity, y.constancy);
    if (!minus)
      axis.contiguity =
          std::max(axis.contiguity, std::min(x.constancy, y.contiguity));
    axis.constancy = std::min(x.constancy, y.constancy);
    if (minus)
      axis.constancy =
          std::max(axis.constancy, std::min(x.contiguity, y.contiguity));
    axis.divisibility = std::min(
        divisorAt(x, axis.contiguity, bytes),
        product(divisorAt(y, axis.contiguity, 1), powerOfTwoIn(bytes)));
    // In a group in which both operands are runs, the difference is constant:
    // that of the first elements.
    if (minus && axis.contiguity == 1 && x.contiguity > 1 &&
        axis.constancy == std::min(x.contiguity, y.contiguity))
      axis.divisibility = std::min(divisorAt(x, axis.constancy, 1),
                                   divisorAt(y, axis.constancy, 1));
  }
  if (bytes == 1 && !isa<tile::PtrType>(tile::elementType(type))) {
    if (minus)
      bound(info, type, a, b, std::minus<__int128>());
    else
      bound(info, type, a, b, std::plus<__int128>());
  }
  return info;
}

AxisInfo ofProduct(Type type, const AxisInfo &a, const AxisInfo &b) {
  if (a.constant == 1)
    return b;
  if (b.constant == 1)
    return a;
  AxisInfo info = constancyOnly(type, {a, b});
  int64_t divisor = product(divisorOf(a, type), divisorOf(b, type));
  for (Axis &axis : info.axes)
    axis.divisibility = divisor;
  bound(info, type, a, b, std::multiplies<__int128>());
  return info;
}

AxisInfo ofQuotient(Type type, const AxisInfo &a, const AxisInfo &b,
                    bool isUnsigned) {
  if (b.constant == 1)
    return a;
  AxisInfo info = constancyOnly(type, {a, b});
  if (a.low >= 0 && b.low >= 1) {
    info.low = a.low / b.high;
    info.high = a.high / b.low;
  } else if (!isUnsigned) {
    // The magnitude of the quotient is at most that of the dividend.
    __int128 most = std::max(-__int128(a.low), __int128(a.high));
    info.low = int64_t(std::max(-most, __int128(info.low)));
    info.high = int64_t(std::min(most, __int128(info.high)));
  }
  if (b.constant && llvm::isPowerOf2_64(uint64_t(*b.constant))) {
    int64_t divisor = std::max<int64_t>(1, divisorOf(a, type) / *b.constant);
    for (Axis &axis : info.axes)
      axis.divisibility = divisor;
  }
  // Signed division truncates: -4 / 4 is -1 and -3 / 4 is 0. So a run of
  // negative dividends does not have one quotient.
  if (!isUnsigned && a.low < 0)
    return info;
  for (size_t d = 0; d < info.axes.size(); ++d) {
    // If g divides v and the divisor, v .. v+g-1 have the same quotient.
    const Axis &x = a.axes[d], &y = b.axes[d];
    info.axes[d].constancy = std::max(
        info.axes[d].constancy,
        std::min({x.contiguity, x.divisibility, y.constancy, y.divisibility}));
  }
  return info;
}

AxisInfo ofRemainder(Type type, const AxisInfo &a, const AxisInfo &b,
                     bool isUnsigned) {
  AxisInfo info = constancyOnly(type, {a, b});
  int64_t divisor = std::min(divisorOf(a, type), divisorOf(b, type));
  for (Axis &axis : info.axes)
    axis.divisibility = divisor;
  if (b.low >= 1 && (a.low >= 0 || !isUnsigned)) {
    info.low = a.low >= 0 ? 0 : std::max(a.low, 1 - b.high);
    info.high = std::max<int64_t>(0, std::min(a.high, b.high - 1));
  } else if (a.low >= 0 && !isUnsigned) {
    // A signed remainder has the dividend's sign and at most its magnitude.
    info.low = 0;
    info.high = a.high;
  }
  // Remainders of negative dividends are not runs: -4 % 4 is 0, -3 % 4 is -3.
  if (!isUnsigned && a.low < 0)
    return info;
  for (size_t d = 0; d < info.axes.size(); ++d) {
    // If g divides v and the divisor, the remainders of v .. v+g-1 are a run.
    const Axis &x = a.axes[d], &y = b.axes[d];
    Axis &axis = info.axes[d];
    int64_t run =
        std::min({x.contiguity, x.divisibility, y.constancy, y.divisibility});
    if (run > 1) {
      axis.contiguity = run;
      axis.constancy = 1;
      axis.divisibility = std::min(divisorAt(x, run, 1), y.divisibility);
    }
  }
  return info;
}

AxisInfo ofMinMax(Type type, const AxisInfo &a, const AxisInfo &b, bool isMax) {
  // If the bounds do not overlap, the result is always the same operand.
  if (isMax ? a.low >= b.high : a.high <= b.low)
    return a;
  if (isMax ? b.low >= a.high : b.high <= a.low)
    return b;
  AxisInfo info = join(a, b, type);
  // If neither run wraps, one operand is the smaller one in all of a group.
  for (size_t d = 0; d < info.axes.size(); ++d)
    shorten(info.axes[d], std::min(exactRun(a, d, type), exactRun(b, d, type)),
            1);
  if (isMax)
    info.low = std::max(a.low, b.low);
  else
    info.high = std::min(a.high, b.high);
  info.constant.reset();
  return info;
}

AxisInfo ofSelect(Type type, bool scalar, const AxisInfo &condition,
                  const AxisInfo &a, const AxisInfo &b) {
  if (condition.constant)
    return *condition.constant ? a : b;
  AxisInfo info = join(a, b, type);
  // A scalar condition selects all elements of one operand. A tensor condition
  // selects per element, so runs end where the condition may change.
  for (size_t d = 0; d < info.axes.size() && !scalar; ++d) {
    Axis &axis = info.axes[d];
    int64_t same = condition.axes[d].constancy;
    if (axis.contiguity > same) {
      axis.contiguity = same;
      axis.divisibility = std::min(divisorAt(a.axes[d], same, unitOf(type)),
                                   divisorAt(b.axes[d], same, unitOf(type)));
    }
    axis.constancy = std::min(axis.constancy, same);
  }
  return info;
}

AxisInfo ofCompare(arith::CmpIOp op, const AxisInfo &a, const AxisInfo &b) {
  using P = arith::CmpIPredicate;
  P p = op.getPredicate();
  Type type = op.getType();
  auto decided = [&](bool yes, bool no) -> std::optional<bool> {
    return yes ? std::optional(true) : no ? std::optional(false) : std::nullopt;
  };
  std::optional<bool> known;
  bool comparable = isa<IntegerType>(tile::elementType(op.getLhs().getType()));
  bool ordered = comparable && (p == P::slt || p == P::sle || p == P::sgt ||
                                p == P::sge || (a.low >= 0 && b.low >= 0));
  if (ordered && (p == P::slt || p == P::ult))
    known = decided(a.high < b.low, a.low >= b.high);
  else if (ordered && (p == P::sle || p == P::ule))
    known = decided(a.high <= b.low, a.low > b.high);
  else if (ordered && (p == P::sgt || p == P::ugt))
    known = decided(a.low > b.high, a.high <= b.low);
  else if (ordered && (p == P::sge || p == P::uge))
    known = decided(a.low >= b.high, a.high < b.low);
  else if (comparable && (p == P::eq || p == P::ne) &&
           (a.high < b.low || b.high < a.low))
    known = p == P::ne;
  if (known)
    return ofConstant(type, *known);

  AxisInfo info = constancyOnly(type, {a, b});
  for (size_t d = 0; d < info.axes.size(); ++d) {
    // If v and b are multiples of g, then v + i < b for all i from 0 to g - 1
    // or for none: the comparison is constant along the run v .. v+g-1.
    auto side = [&](const AxisInfo &run, const AxisInfo &limit, int64_t plus) {
      const Axis &x = run.axes[d], &y = limit.axes[d];
      int64_t divisor = limit.constant && *limit.constant != highest
                            ? powerOfTwoIn(*limit.constant + plus)
                            : (plus ? 1 : y.divisibility);
      return std::min({x.contiguity, x.divisibility, y.constancy, divisor});
    };
    int64_t &constancy = info.axes[d].constancy;
    if (p == P::slt || p == P::sge || p == P::ult || p == P::uge)
      constancy = std::max({constancy, side(a, b, 0), side(b, a, 1)});
    else if (p == P::sgt || p == P::sle || p == P::ugt || p == P::ule)
      constancy = std::max({constancy, side(b, a, 0), side(a, b, 1)});
    // In a group in which both operands are runs, their difference is constant.
    // If neither run wraps, the order of the operands is constant too.
    auto run = [&](const AxisInfo &info) {
      if (p == P::eq || p == P::ne)
        return info.axes[d].contiguity;
      return exactRun(info, d, op.getLhs().getType(),
                      p == P::ult || p == P::ule || p == P::ugt || p == P::uge);
    };
    constancy = std::max(constancy, std::min(run(a), run(b)));
  }
  return info;
}

// Returns the facts about x & mask. A mask 0..01..1 computes a remainder, and a
// mask 1..10..0 rounds down to a multiple.
AxisInfo ofAnd(Type type, const AxisInfo &a, const AxisInfo &b) {
  for (bool swap : {false, true}) {
    const AxisInfo &x = swap ? b : a, &mask = swap ? a : b;
    if (mask.constant && *mask.constant > 0 && *mask.constant < highest &&
        llvm::isPowerOf2_64(uint64_t(*mask.constant) + 1) &&
        !tile::elementType(type).isInteger(1)) {
      AxisInfo info =
          ofRemainder(type, x, ofConstant(type, *mask.constant + 1), true);
      info.low = 0;
      info.high =
          x.low >= 0 ? std::min(x.high, *mask.constant) : *mask.constant;
      return info;
    }
  }
  AxisInfo info = constancyOnly(type, {a, b});
  int64_t divisor = std::max(divisorOf(a, type), divisorOf(b, type));
  for (Axis &axis : info.axes)
    axis.divisibility = divisor;
  if (a.low >= 0 || b.low >= 0) {
    info.low = 0;
    info.high =
        std::min(a.low >= 0 ? a.high : highest, b.low >= 0 ? b.high : highest);
  }
  return info;
}

AxisInfo ofElementwise(Operation *op, ArrayRef<AxisInfo> operands) {
  Type type = op->getResult(0).getType();
  auto a = [&]() -> const AxisInfo & { return operands[0]; };
  auto b = [&]() -> const AxisInfo & { return operands[1]; };
  if (isa<arith::AddIOp>(op))
    return ofSum(type, a(), b(), /*minus=*/false, 1);
  if (isa<arith::SubIOp>(op))
    return ofSum(type, a(), b(), /*minus=*/true, 1);
  if (isa<arith::MulIOp>(op))
    return ofProduct(type, a(), b());
  if (isa<arith::DivSIOp, arith::DivUIOp>(op))
    return ofQuotient(type, a(), b(), isa<arith::DivUIOp>(op));
  if (isa<arith::RemSIOp, arith::RemUIOp>(op))
    return ofRemainder(type, a(), b(), isa<arith::RemUIOp>(op));
  if (isa<arith::MinSIOp, arith::MaxSIOp>(op))
    return ofMinMax(type, a(), b(), isa<arith::MaxSIOp>(op));
  if (isa<arith::MinUIOp, arith::MaxUIOp>(op) && a().low >= 0 && b().low >= 0)
    return ofMinMax(type, a(), b(), isa<arith::MaxUIOp>(op));
  if (isa<arith::AndIOp>(op))
    return ofAnd(type, a(), b());
  if (auto compare = dyn_cast<arith::CmpIOp>(op))
    return ofCompare(compare, a(), b());
  if (isa<arith::SelectOp>(op))
    return ofSelect(type, tile::shapeOf(op->getOperand(0).getType()).empty(),
                    a(), operands[1], operands[2]);
  int64_t width = 0;
  if (auto integer = dyn_cast<IntegerType>(tile::elementType(type)))
    width = integer.getWidth();
  bool isShift = isa<arith::ShLIOp, arith::ShRSIOp, arith::ShRUIOp>(op);
  if (isShift && b().constant && *b().constant >= 0 &&
      *b().constant < std::min<int64_t>(width - 1, 62)) {
    AxisInfo factor = ofConstant(type, int64_t(1) << *b().constant);
    if (isa<arith::ShLIOp>(op))
      return ofProduct(type, a(), factor);
    if (a().low >= 0)
      return ofQuotient(type, a(), factor, /*isUnsigned=*/true);
  }
  if (isa<arith::ExtSIOp>(op) &&
      !tile::elementType(op->getOperand(0).getType()).isInteger(1)) {
    AxisInfo info = a();
    for (size_t d = 0; d < info.axes.size(); ++d)
      shorten(info.axes[d], exactRun(a(), d, op->getOperand(0).getType()), 1);
    return info;
  }
  if (isa<arith::ExtUIOp, arith::TruncIOp>(op)) {
    AxisInfo info = a();
    auto [low, high] = boundsOf(type);
    bool fits = isa<arith::ExtUIOp>(op) ? a().low >= 0
                                        : a().low >= low && a().high <= high;
    if (tile::elementType(type).isInteger(1))
      fits = a().low >= 0 && a().high <= 1;
    if (!fits) {
      if (info.constant || tile::elementType(type).isInteger(1))
        return constancyOnly(type, operands);
      info.low = low;
      info.high = high;
      // A run that starts at a multiple of its length does not wrap.
      for (Axis &axis : info.axes)
        shorten(axis,
                std::min({axis.contiguity, axis.divisibility,
                          int64_t(1) << (width - 1)}),
                1);
    }
    return info;
  }
  return constancyOnly(type, operands);
}

//===----------------------------------------------------------------------===//
// Shapes
//===----------------------------------------------------------------------===//

AxisInfo ofBitcast(tile::BitcastOp op, const AxisInfo &source) {
  Type from = op.getSrc().getType(), to = op.getType();
  bool fromPtr = isa<tile::PtrType>(tile::elementType(from));
  bool toPtr = isa<tile::PtrType>(tile::elementType(to));
  AxisInfo info = constancyOnly(to, {source});
  if (fromPtr && toPtr && elementBytes(from) == elementBytes(to))
    return source;
  if ((fromPtr || isa<IntegerType>(tile::elementType(from))) &&
      (toPtr || isa<IntegerType>(tile::elementType(to)))) {
    int64_t divisor = divisorOf(source, from);
    for (Axis &axis : info.axes)
      axis.divisibility = divisor;
  }
  return info;
}

AxisInfo ofReshape(tile::ReshapeOp op, const AxisInfo &source) {
  Type from = op.getSrc().getType(), to = op.getType();
  ArrayRef<int64_t> fromShape = tile::shapeOf(from), shape = tile::shapeOf(to);
  AxisInfo info = unknown(to);
  int64_t divisor = divisorOf(source, from);
  for (Axis &axis : info.axes)
    axis.divisibility = divisor;
  if (isUnitReshape(op)) {
    for (int64_t d = 0; d < int64_t(shape.size()); ++d)
      if (auto s = sourceDim(op, d))
        info.axes[d] = source.axes[*s];
    return info;
  }
  if (shape.empty() || fromShape.empty())
    return info;
  // Elements adjacent along the innermost axis of the source that is not 1 are
  // adjacent along that axis of the result.
  int64_t s = int64_t(fromShape.size()) - 1, d = int64_t(shape.size()) - 1;
  while (s > 0 && fromShape[s] == 1)
    --s;
  while (d > 0 && shape[d] == 1)
    --d;
  Axis &axis = info.axes[d];
  axis.contiguity = std::min(source.axes[s].contiguity, shape[d]);
  axis.constancy = std::min(source.axes[s].constancy, shape[d]);
  axis.divisibility = divisorAt(source.axes[s], axis.contiguity, unitOf(from));
  if (source.axes[s].constancy > shape[d] && d > 0)
    info.axes[d - 1].constancy =
        std::min(source.axes[s].constancy / shape[d], shape[d - 1]);
  return info;
}

AxisInfo ofShape(Operation *op, ArrayRef<AxisInfo> operands) {
  Type from = op->getOperand(0).getType(), to = op->getResult(0).getType();
  const AxisInfo &source = operands[0];
  ArrayRef<int64_t> shape = tile::shapeOf(to);
  AxisInfo info = unknown(to);
  int64_t divisor = divisorOf(source, from);
  for (Axis &axis : info.axes)
    axis.divisibility = divisor;
  if (isa<tile::SplatOp>(op)) {
    for (auto [axis, size] : llvm::zip(info.axes, shape))
      axis.constancy = size;
  } else if (isa<tile::JoinOp>(op)) {
    info = join(source, operands[1], from);
    info.axes.push_back({1, divisorOf(info, from), 1});
    return info;
  } else if (isa<tile::SplitOp>(op)) {
    for (size_t d = 0; d + 1 < source.axes.size(); ++d) {
      info.axes[d] = source.axes[d];
      info.axes[d].divisibility = std::max(info.axes[d].divisibility, divisor);
    }
  } else { // trans, expand_dims, broadcast
    for (int64_t d = 0; d < int64_t(shape.size()); ++d) {
      if (auto s = sourceDim(op, d))
        info.axes[d] = source.axes[*s];
      else
        info.axes[d].constancy = shape[d];
    }
  }
  info.low = source.low;
  info.high = source.high;
  info.constant = source.constant;
  return info;
}

AxisInfo ofReduce(Operation *op, int64_t axis, unsigned index,
                  const AxisInfo &source) {
  AxisInfo info = unknown(op->getResult(index).getType());
  if (source.axes.size() < 2)
    return info;
  size_t to = 0;
  for (size_t d = 0; d < source.axes.size(); ++d)
    if (int64_t(d) != axis)
      info.axes[to++].constancy = source.axes[d].constancy;
  return info;
}

} // namespace

AxisInfo ofResult(Operation *op, unsigned index, ArrayRef<AxisInfo> operands) {
  Type type = op->getResult(index).getType();
  auto finish = [&](AxisInfo info) { return settled(std::move(info), type); };

  if (auto constant = dyn_cast<arith::ConstantOp>(op)) {
    APInt value;
    if (matchPattern(op, m_ConstantInt(&value)) && value.getBitWidth() <= 64)
      return ofConstant(type, value.getBitWidth() == 1
                                  ? int64_t(value.getZExtValue())
                                  : value.getSExtValue());
    auto dense = dyn_cast<DenseElementsAttr>(constant.getValue());
    return dense && dense.isSplat() ? constancyOnly(type, {}) : unknown(type);
  }
  if (auto range = dyn_cast<tile::RangeOp>(op)) {
    AxisInfo info = unknown(type);
    info.axes[0] = {tile::shapeOf(type)[0],
                    powerOfTwoIn(int64_t(range.getStart())), 1};
    info.low = int64_t(range.getStart());
    info.high = int64_t(range.getEnd()) - 1;
    return finish(info);
  }
  if (isa<tile::ProgramIdOp, tile::NumProgramsOp>(op)) {
    bool isId = isa<tile::ProgramIdOp>(op);
    AxisInfo info = unknown(type);
    info.low = isId ? 0 : 1;
    info.high =
        mostPrograms(op, op->getAttrOfType<IntegerAttr>("axis").getInt()) -
        (isId ? 1 : 0);
    return finish(info);
  }
  if (auto add = dyn_cast<tile::AddPtrOp>(op))
    return finish(ofSum(type, operands[0], operands[1], /*minus=*/false,
                        elementBytes(type)));
  if (isa<tile::ConvertLayoutOp>(op))
    return operands[0];
  if (auto bitcast = dyn_cast<tile::BitcastOp>(op))
    return finish(ofBitcast(bitcast, operands[0]));
  if (auto reshape = dyn_cast<tile::ReshapeOp>(op)) {
    AxisInfo info = ofReshape(reshape, operands[0]);
    info.low = operands[0].low;
    info.high = operands[0].high;
    info.constant = operands[0].constant;
    return finish(info);
  }
  if (isa<tile::SplatOp, tile::ExpandDimsOp, tile::BroadcastOp, tile::TransOp,
          tile::JoinOp, tile::SplitOp>(op))
    return finish(ofShape(op, operands));
  if (auto reduce = dyn_cast<tile::ReduceOp>(op))
    return finish(ofReduce(op, reduce.getAxis(), index, operands[0]));
  if (auto load = dyn_cast<tile::LoadOp>(op))
    return load.getIsVolatile() ? unknown(type)
                                : finish(constancyOnly(type, operands));
  if (op->getNumResults() == 1 && op->getNumRegions() == 0 &&
      (isa<tile::ConvertOp>(op) || isa<arith::ArithDialect>(op->getDialect()) ||
       op->getName().getDialectNamespace() == "math"))
    return finish(ofElementwise(op, operands));
  return unknown(type);
}

} // namespace tessera::codegen::axis
