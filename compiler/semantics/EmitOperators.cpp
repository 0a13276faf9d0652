// compiler/semantics/EmitOperators.cpp - emits operators: + - * / // % ** << >>
// & | ^.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "compiler/semantics/Constants.h"
#include "compiler/semantics/Emitter.h"
#include "compiler/semantics/Quote.h"

#include "dialect/tile/TileDialect.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

#include <algorithm>

namespace tessera::semantics {

using namespace mlir;

Tensor Emitter::widenOffset(Tensor offset) {
  DType dtype = offset.type.element.dtype;
  if (!isSigned(dtype) && bitWidth(dtype) < 64)
    return cast(offset, Element{DType::Int64, false});
  if (bitWidth(dtype) < 32)
    return cast(offset, Element{DType::Int32, false});
  return offset;
}

Tensor Emitter::addOffset(Tensor pointer, Tensor offset) {
  offset = widenOffset(offset);
  return {tile::AddPtrOp::create(builder, location(), pointer.handle.getType(),
                                 pointer.handle, offset.handle),
          pointer.type};
}

Tensor Emitter::arithmetic(BinaryOp op, const Value &a, const Value &b) {
  bool pointers = op != BinaryOp::Mul;
  auto [x, y] =
      pair(a, b, {.pointerA = pointers, .pointerB = op == BinaryOp::Add},
           spelling(op));
  Element left = x.type.element, right = y.type.element;
  if (left.isPointer && right.isPointer)
    fail(DiagnosticId::BadPointer, "two pointers cannot be added",
         "add an integer offset to one pointer");
  if (right.isPointer)
    return addOffset(y, x);
  if (left.isPointer) {
    // Widen first: the negative of an unsigned offset does not fit its type.
    if (op == BinaryOp::Sub)
      y = *unary(UnaryOp::Neg, widenOffset(y)).tensor();
    return addOffset(x, y);
  }
  Location loc = location();
  mlir::Value result;
  if (left.isFloat()) {
    if (op == BinaryOp::Add)
      result = arith::AddFOp::create(builder, loc, x.handle, y.handle);
    else if (op == BinaryOp::Sub)
      result = arith::SubFOp::create(builder, loc, x.handle, y.handle);
    else
      result = arith::MulFOp::create(builder, loc, x.handle, y.handle);
  } else {
    if (op == BinaryOp::Add)
      result = arith::AddIOp::create(builder, loc, x.handle, y.handle);
    else if (op == BinaryOp::Sub)
      result = arith::SubIOp::create(builder, loc, x.handle, y.handle);
    else
      result = arith::MulIOp::create(builder, loc, x.handle, y.handle);
  }
  return {result, x.type};
}

Tensor Emitter::divide(BinaryOp op, const Value &a, const Value &b) {
  auto [x, y] = pair(a, b, {.divides = true}, spelling(op));
  Location loc = location();
  bool isFloating = x.type.element.isFloat();
  if (op == BinaryOp::Div) {
    if (!isFloating) {
      x = cast(x, Element{DType::Fp32, false});
      y = cast(y, Element{DType::Fp32, false});
    }
    return {arith::DivFOp::create(builder, loc, x.handle, y.handle), x.type};
  }
  if (isFloating) {
    if (op == BinaryOp::Mod)
      return {arith::RemFOp::create(builder, loc, x.handle, y.handle), x.type};
    fail(DiagnosticId::BadOperand,
         "`//` needs integers, got " + toString(x.type),
         "write tl.floor(" + quoteLeft() + " / " + quoteRight() + ")");
  }
  bool isSignedInt = isSigned(x.type.element.dtype);
  mlir::Value result;
  if (op == BinaryOp::Mod && isSignedInt)
    result = arith::RemSIOp::create(builder, loc, x.handle, y.handle);
  else if (op == BinaryOp::Mod)
    result = arith::RemUIOp::create(builder, loc, x.handle, y.handle);
  else if (isSignedInt)
    result = arith::DivSIOp::create(builder, loc, x.handle, y.handle);
  else
    result = arith::DivUIOp::create(builder, loc, x.handle, y.handle);
  return {result, x.type};
}

// Returns a hint for `a & mask` of a float and a boolean, which lacks a
// comparison.
static std::string bitsHint(const Value &a, const Value &b) {
  auto isBool = [](const Value &value) {
    return value.tensor() && value.tensor()->type.element.isBool();
  };
  if (isBool(b))
    return "compare first: (" + quoteLeft() + " != 0)";
  if (isBool(a))
    return "compare first: (" + quoteRight() + " != 0)";
  return "convert with .to(tl.int32), or reinterpret with "
         ".to(tl.int32, bitcast=True)";
}

std::pair<Tensor, Tensor> Emitter::pairBits(const Value &a, const Value &b,
                                            std::string_view op) {
  auto [x, y] = pair(a, b, {}, op);
  if (!x.type.element.isInt())
    fail(DiagnosticId::BadOperand,
         quoted(op) + " needs integers, got " + a.describe() + " and " +
             b.describe(),
         bitsHint(a, b));
  return {x, y};
}

Tensor Emitter::bits(BinaryOp op, const Value &a, const Value &b) {
  auto [x, y] = pairBits(a, b, spelling(op));
  // >> is arithmetic if the operand is signed before promotion.
  const Tensor *written = a.tensor() ? a.tensor() : b.tensor();
  bool arithmeticShift = isSigned(written->type.element.dtype);
  Location loc = location();
  mlir::Value result;
  switch (op) {
  case BinaryOp::And:
    result = arith::AndIOp::create(builder, loc, x.handle, y.handle);
    break;
  case BinaryOp::Or:
    result = arith::OrIOp::create(builder, loc, x.handle, y.handle);
    break;
  case BinaryOp::Xor:
    result = arith::XOrIOp::create(builder, loc, x.handle, y.handle);
    break;
  case BinaryOp::LShift:
    result = arith::ShLIOp::create(builder, loc, x.handle, y.handle);
    break;
  default:
    if (arithmeticShift)
      result = arith::ShRSIOp::create(builder, loc, x.handle, y.handle);
    else
      result = arith::ShRUIOp::create(builder, loc, x.handle, y.handle);
  }
  return {result, x.type};
}

void Emitter::checkTupleSize(size_t size) const {
  if (size > kMaxTupleSize)
    fail(DiagnosticId::TooComplex,
         "a tuple would hold " + std::to_string(size) + " values; at most " +
             std::to_string(kMaxTupleSize) + " are possible",
         "keep many numbers in a block, or in memory");
}

Value Emitter::tuple(std::vector<Value> values) const {
  Value result = Value::tuple(std::move(values));
  checkTupleSize(result.size());
  return result;
}

// Rejects an operator with an aggregate on one side.
void Emitter::checkNoAggregate(std::string_view op, const Value &a,
                               const Value &b) const {
  if (a.aggregate() || b.aggregate())
    fail(DiagnosticId::BadOperand,
         quoted(op) + " is not defined between " + a.describe() + " and " +
             b.describe(),
         a.aggregate() ? fieldHint(a, quoteLeft())
                       : fieldHint(b, quoteRight()));
}

Value Emitter::onTuples(BinaryOp op, const Value &a, const Value &b) {
  auto *left = a.tupleValues(), *right = b.tupleValues();
  if (op == BinaryOp::Add && left && right) {
    checkTupleSize(a.size() + b.size());
    std::vector<Value> values = *left;
    values.insert(values.end(), right->begin(), right->end());
    return Value::tuple(std::move(values));
  }
  auto *times = (left ? b : a).constant();
  if (op == BinaryOp::Mul && times && times->asInt() &&
      *times->asInt() <= 1024) {
    const size_t count = size_t(std::max<Const::Int>(*times->asInt(), 0));
    checkTupleSize(count * (left ? a : b).size());
    std::vector<Value> values;
    for (size_t i = 0; i < count; ++i)
      for (const Value &value : left ? *left : *right)
        values.push_back(value);
    return Value::tuple(std::move(values));
  }
  fail(DiagnosticId::BadOperand,
       quoted(spelling(op)) + " is not defined between " + a.describe() +
           " and " + b.describe(),
       "index a tuple to get one of its values: t[0]");
}

// Shortens a string that is too long for one line.
static std::string inHint(const Const &value) {
  constexpr size_t most = 60, shown = 40;
  const std::string text = value.str();
  return text.size() <= most ? text
                             : text.substr(0, shown) + "... (" +
                                   std::to_string(text.size()) + " bytes)";
}

Value Emitter::binary(BinaryOp op, const Value &a, const Value &b) {
  checkNoAggregate(spelling(op), a, b);
  if (a.tupleValues() || b.tupleValues())
    return onTuples(op, a, b);
  if (a.isNone() || b.isNone())
    side(a.isNone() ? a : b, spelling(op)); // reports
  if (a.constant() && b.constant()) {
    Folded folded = foldBinary(op, *a.constant(), *b.constant());
    if (!folded.why.empty())
      fail(DiagnosticId::ConstantArithmetic, folded.why,
           "both sides are known at compile time: " + quoteLeft() + " is " +
               inHint(*a.constant()) + ", " + quoteRight() + " is " +
               inHint(*b.constant()));
    return folded.value;
  }
  switch (op) {
  case BinaryOp::Add:
  case BinaryOp::Sub:
  case BinaryOp::Mul:
    return arithmetic(op, a, b);
  case BinaryOp::Div:
  case BinaryOp::FloorDiv:
  case BinaryOp::Mod:
    return divide(op, a, b);
  case BinaryOp::Pow:
    fail(DiagnosticId::NotSupported,
         "`**` is only defined between compile-time numbers",
         b.constant() && b.constant()->asInt() == Const::Int(2)
             ? "write " + quoteLeft() + " * " + quoteLeft()
             : "write tl.exp2(" + quoteRight() + " * tl.log2(" + quoteLeft() +
                   ")), or multiply");
  default:
    return bits(op, a, b);
  }
}

Value Emitter::unary(UnaryOp op, const Value &a) {
  if (auto *constant = a.constant()) {
    Folded folded = foldUnary(op, *constant);
    if (!folded.why.empty())
      fail(DiagnosticId::ConstantArithmetic, folded.why);
    return folded.value;
  }
  if (a.aggregate())
    fail(DiagnosticId::BadOperand,
         quoted(spelling(op)) + " is not defined for " + a.describe(),
         fieldHint(a, quoteLeft()));
  auto *values = a.tupleValues();
  if (op == UnaryOp::Not && values)
    return Value::boolean(values->empty());
  Tensor x = side(a, spelling(op));
  Element element = x.type.element;
  if (op == UnaryOp::Pos)
    return x;
  if (op == UnaryOp::Not && element.isPointer)
    return unary(op, truth(x));
  if (element.isPointer)
    fail(DiagnosticId::BadPointer,
         quoted(spelling(op)) + " is not defined for " + toString(x.type),
         "load the values first: tl.load(" + quoteLeft(false) + ")");
  if (op == UnaryOp::Neg) {
    // A float changes its sign, as in Triton 3.9: -(0.0) is -0.0.
    if (element.isFloat() && !isFp8(element.dtype))
      return Tensor{arith::NegFOp::create(builder, location(), x.handle),
                    x.type};
    Tensor zero = integer(0, element.dtype, x.type.shape);
    return arithmetic(BinaryOp::Sub, zero, x);
  }
  if (op == UnaryOp::Not && !element.isBool())
    fail(DiagnosticId::BadOperand,
         "`not` needs a boolean, got " + toString(x.type),
         "compare with 0: " + quoteLeft() + " == 0");
  if (!element.isInt())
    fail(DiagnosticId::BadOperand,
         "`~` needs an integer, got " + toString(x.type),
         "for masks, compare first: ~(" + quoteLeft() + " > 0)");
  Tensor ones = integer(-1, element.dtype, x.type.shape);
  return Tensor{
      arith::XOrIOp::create(builder, location(), x.handle, ones.handle),
      x.type};
}

Value Emitter::compare(CompareOp op, const Value &a, const Value &b) {
  checkNoAggregate(spelling(op), a, b);
  if (a.constant() && b.constant()) {
    Folded folded = foldCompare(op, *a.constant(), *b.constant());
    if (!folded.why.empty())
      fail(DiagnosticId::ConstantArithmetic, folded.why);
    return folded.value;
  }
  if ((a.tupleValues() || b.tupleValues()) &&
      (op == CompareOp::Eq || op == CompareOp::Ne) && !a.isDynamic() &&
      !b.isDynamic())
    return Value::boolean(sameType(a, b) == (op == CompareOp::Eq));
  auto [x, y] = pair(a, b, {}, spelling(op));
  Type type(DType::Int1, x.type.shape);
  Location loc = location();
  if (x.type.element.isFloat()) {
    constexpr arith::CmpFPredicate kPredicates[] = {
        arith::CmpFPredicate::OEQ, arith::CmpFPredicate::UNE,
        arith::CmpFPredicate::OLT, arith::CmpFPredicate::OLE,
        arith::CmpFPredicate::OGT, arith::CmpFPredicate::OGE};
    return Tensor{arith::CmpFOp::create(builder, loc, kPredicates[int(op)],
                                        x.handle, y.handle),
                  type};
  }
  using Predicate = arith::CmpIPredicate;
  constexpr Predicate kSigned[] = {Predicate::eq,  Predicate::ne,
                                   Predicate::slt, Predicate::sle,
                                   Predicate::sgt, Predicate::sge};
  constexpr Predicate kUnsigned[] = {Predicate::eq,  Predicate::ne,
                                     Predicate::ult, Predicate::ule,
                                     Predicate::ugt, Predicate::uge};
  Predicate predicate =
      isSigned(x.type.element.dtype) ? kSigned[int(op)] : kUnsigned[int(op)];
  return Tensor{
      arith::CmpIOp::create(builder, loc, predicate, x.handle, y.handle), type};
}

Tensor Emitter::logical(bool isAnd, Tensor a, Tensor b) {
  for (const Tensor &x : {a, b})
    if (!x.type.element.isBool())
      fail(DiagnosticId::BadOperand,
           quoted(isAnd ? "and" : "or") + " needs booleans, got " +
               toString(x.type),
           "compare with 0 first; blocks are joined with & and |, each side "
           "in parentheses");
  return bits(isAnd ? BinaryOp::And : BinaryOp::Or, a, b);
}

Tensor Emitter::select(Tensor condition, const Value &x, const Value &y) {
  condition = truth(condition);
  auto [a, b] =
      pair(x, y, {.pointerA = true, .pointerB = true, .moves = true}, "where");
  if (a.type.element != b.type.element)
    fail(DiagnosticId::TypeMismatch,
         "`where` cannot mix " + toString(a.type) + " and " + toString(b.type),
         "convert one side with .to()");
  if (condition.type.isBlock()) {
    broadcastPair(condition, a);
    broadcastPair(a, b);
    broadcastPair(condition, a);
  }
  return {arith::SelectOp::create(builder, location(), condition.handle,
                                  a.handle, b.handle),
          a.type};
}

} // namespace tessera::semantics
