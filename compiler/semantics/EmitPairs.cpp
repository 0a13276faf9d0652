// compiler/semantics/EmitPairs.cpp - converts the operands of an operation to
// their common type and shape.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "compiler/semantics/Emitter.h"
#include "compiler/semantics/Promotion.h"
#include "compiler/semantics/Quote.h"

namespace tessera::semantics {

Tensor Emitter::side(const Value &value, std::string_view op) {
  if (value.isNone())
    fail(DiagnosticId::BadOperand,
         "an operand of " + quoted(op) +
             " is None: an argument that was left out, or what a function "
             "without `return` gives",
         op == "==" || op == "!="
             ? "test for None with `is None`"
             : "do this only `if` the argument `is not None`");
  if (value.blockPointer())
    fail(DiagnosticId::BadPointer,
         "a block pointer cannot be moved with " + quoted(op),
         "write tl.advance(" + quoteLeft(false) +
             ", (...)) with one step for each dimension");
  return toTensor(value, "an operand of " + quoted(op));
}

// Returns the type by which an operand takes part in promotion.
Element Emitter::elementOf(const Value &value, std::string_view op) {
  if (auto *tensor = value.tensor())
    return tensor->type.element;
  auto *constant = value.constant();
  if (!constant || !constant->isNumber())
    return side(value, op).type.element; // reports
  if (constant->isBool())
    return {DType::Int1, false};
  if (constant->isFloat())
    return {dtypeOfFloat(*constant->asFloat()), false};
  auto dtype = dtypeOfInt(*constant->asInt());
  if (!dtype)
    fail(DiagnosticId::IntegerRange, constant->str() + " does not fit 64 bits");
  return {*dtype, false};
}

Tensor Emitter::converted(const Value &value, DType dtype,
                          std::string_view op) {
  const Const *weak = value.constant();
  if (!weak)
    return cast(*value.tensor(), Element{dtype, false});
  if (isInt(dtype) && !isSigned(dtype) && *weak->asFloat() < 0)
    fail(DiagnosticId::MixedSigns,
         quoted(op) + " between " + std::string(nameOf(dtype)) + " and " +
             weak->str() + ", which is negative",
         "convert the unsigned side to a signed type: .to(tl.int64)");
  return number(*weak, dtype);
}

// Converts both operands to their common type. A Python number takes part in
// promotion by the type of its value and becomes a constant only afterwards, so
// that 0.1 * bf16 rounds once.
std::pair<Tensor, Tensor> Emitter::pair(const Value &a, const Value &b,
                                        Pairing rules, std::string_view op) {
  const Const *weakA = a.constant(), *weakB = b.constant();
  Element left = elementOf(a, op), right = elementOf(b, op);

  auto checkPointer = [&](const Element &pointer, const Element &other,
                          bool allowed) {
    if (!pointer.isPointer)
      return;
    if (!allowed)
      fail(DiagnosticId::BadPointer,
           quoted(op) + " is not defined for " + a.describe() + " and " +
               b.describe(),
           "pointers are addresses; load the values first: tl.load(" +
               (left.isPointer ? quoteLeft(false) : quoteRight(false)) + ")");
    if (other.isPointer && other != pointer)
      fail(DiagnosticId::BadPointer, quoted(op) + " mixes pointer types " +
                                         toString(left) + " and " +
                                         toString(right));
    if (other.isFloat())
      fail(DiagnosticId::BadPointer,
           quoted(op) + " needs an integer with a pointer, got " +
               toString(other),
           "a pointer moves by whole elements; `/` always gives a float: "
           "divide with //, or write " +
               (left.isPointer ? quoteRight() : quoteLeft()) + ".to(tl.int32)");
  };
  checkPointer(left, right, rules.pointerA);
  checkPointer(right, left, rules.pointerB);

  Tensor x, y;
  if (left.isPointer || right.isPointer) {
    x = side(a, op);
    y = side(b, op);
  } else {
    Promoted common = promote({left.dtype, weakA != nullptr},
                              {right.dtype, weakB != nullptr}, rules.divides);
    if (!common.dtype && (isFp8(left.dtype) || isFp8(right.dtype)))
      fail(DiagnosticId::BadOperand, common.why,
           "convert the 8-bit float first: " +
               (isFp8(left.dtype) ? quoteLeft() : quoteRight()) +
               ".to(tl.float16)");
    if (!common.dtype)
      fail(DiagnosticId::MixedSigns, common.why,
           "convert one so that the signs agree: " + quoteLeft() + ".to(...)");
    DType dtype = *common.dtype;
    if (isFp8(dtype) && !rules.moves)
      fail(
          DiagnosticId::BadOperand,
          quoted(op) + " is not defined for " + std::string(nameOf(dtype)) +
              ": 8-bit floats are stored and converted only",
          "convert first: " + (isFp8(left.dtype) ? quoteLeft() : quoteRight()) +
              ".to(tl.float16)");
    x = converted(a, dtype, op);
    y = converted(b, dtype, op);
  }
  broadcastPair(x, y);
  return {x, y};
}

// Promotes the run-time operands first and the Python numbers first, and then
// both results, as Triton 3.9 does: the order of the operands does not matter.
std::array<Tensor, 3> Emitter::triple(const std::array<Value, 3> &operands,
                                      std::string_view op) {
  auto common = [&](Side a, Side b) {
    Promoted both = promote(a, b, /*divides=*/false);
    if (!both.dtype)
      fail(DiagnosticId::BadOperand, both.why, "convert one with .to(...)");
    return *both.dtype;
  };
  std::optional<Side> strong, weak;
  for (const Value &operand : operands) {
    const Element element = elementOf(operand, op);
    if (element.isPointer)
      fail(DiagnosticId::BadPointer,
           quoted(op) + " is not defined for " + operand.describe(),
           "pointers are addresses; load the values first");
    std::optional<Side> &group = operand.constant() ? weak : strong;
    const Side side{element.dtype, operand.constant() != nullptr};
    group = group ? Side{common(*group, side), side.weak} : side;
  }
  const DType dtype = !weak     ? strong->dtype
                      : !strong ? weak->dtype
                                : common(*strong, *weak);
  std::array<Tensor, 3> result;
  for (size_t i = 0; i < 3; ++i)
    result[i] = converted(operands[i], dtype, op);
  broadcastPair(result[0], result[1]);
  broadcastPair(result[0], result[2]);
  broadcastPair(result[1], result[2]);
  return result;
}

} // namespace tessera::semantics
