// compiler/semantics/Emitter.h - typed building of tile, arith and math ops.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
//
// The layer between the visitor, which handles syntax, and MLIR, whose types
// have no signs and no Python numbers. Every function checks its operands by
// Triton's rules and throws CompileError at the current source location.
#pragma once

#include "compiler/semantics/Constants.h"
#include "compiler/semantics/Promotion.h"
#include "compiler/semantics/Value.h"
#include "support/Diagnostics.h"

#include "mlir/IR/Builders.h"

#include <array>
#include <utility>

namespace tessera::semantics {

/// The visitor's current source location, for messages and op locations.
struct Site {
  SourceRange range;
  mlir::Location location;
};

/// Callbacks of the Emitter into the visitor, which knows the current calls.
class ErrorReporter {
public:
  virtual ~ErrorReporter() = default;
  [[noreturn]] virtual void report(DiagnosticId id, const SourceRange &range,
                                   std::string message, std::string hint) = 0;
  /// Records a note; the compilation continues.
  virtual void note(DiagnosticId id, const SourceRange &range,
                    std::string message) = 0;
  /// Returns `value.name`; nullopt if the attribute does not exist.
  virtual std::optional<Value> attribute(const Value &value,
                                         const std::string &name,
                                         const SourceRange &range) = 0;
  /// Calls a helper of the kernel, inlined at the builder's position.
  virtual Value call(const Value &function, std::vector<Value> arguments,
                     const SourceRange &range) = 0;
  /// Calls a helper of scalars on every element of blocks of one shape.
  virtual Value callOnElements(const Value &function,
                               std::vector<Value> arguments, const Shape &shape,
                               const SourceRange &range) = 0;
};

class Emitter {
public:
  Emitter(mlir::MLIRContext &context, ErrorReporter &reporter);

  mlir::MLIRContext &context() { return *builder.getContext(); }
  mlir::Location location() const { return site.location; }
  [[noreturn]] void fail(DiagnosticId id, std::string message,
                         std::string hint = "") const;
  void note(DiagnosticId id, std::string message) const {
    reporter.note(id, site.range, std::move(message));
  }

  Value call(const Value &function, std::vector<Value> arguments) {
    return reporter.call(function, std::move(arguments), site.range);
  }

  Value callOnElements(const Value &function, std::vector<Value> arguments,
                       const Shape &shape) {
    return reporter.callOnElements(function, std::move(arguments), shape,
                                   site.range);
  }

  std::optional<Value> attribute(const Value &value, const std::string &name) {
    return reporter.attribute(value, name, site.range);
  }

  // Constants.
  Tensor integer(__int128 value, DType dtype, Shape shape = {});
  Tensor floating(double value, DType dtype, Shape shape = {});
  /// Returns a Python number as a run-time scalar of `dtype`.
  Tensor number(const Const &value, DType dtype);
  /// Converts a Python number to a scalar of the dtype that its value requires;
  /// returns blocks unchanged.
  Tensor toTensor(const Value &value, std::string_view what = "operand");

  // Conversions.
  Tensor cast(Tensor value, Element to);
  Tensor castRounding(Tensor value, Element to, bool towardZero);
  Tensor bitcast(Tensor value, Element to);
  /// Returns value != 0 as int1.
  Tensor truth(Tensor value);

  // Tuples. Fail for more than kMaxTupleSize values.
  Value tuple(std::vector<Value> values) const;
  void checkTupleSize(size_t size) const;

  // Shapes.
  void checkShape(const Shape &shape);
  Tensor splat(Tensor scalar, const Shape &shape);
  Tensor broadcastTo(Tensor value, const Shape &shape);
  void broadcastPair(Tensor &a, Tensor &b);
  Tensor expandDims(Tensor value, int64_t axis);
  Tensor reshape(Tensor value, const Shape &shape);
  Tensor permute(Tensor value, const std::vector<int64_t> &order);
  Tensor join(Tensor a, Tensor b);
  std::pair<Tensor, Tensor> split(Tensor value);
  /// Returns the only element of a block as a scalar.
  Tensor unsplat(Tensor value);

  // Operators. Two compile-time operands give a compile-time result.
  Value binary(BinaryOp op, const Value &a, const Value &b);
  Value unary(UnaryOp op, const Value &a);
  Value compare(CompareOp op, const Value &a, const Value &b);
  Tensor logical(bool isAnd, Tensor a, Tensor b);
  Tensor select(Tensor condition, const Value &x, const Value &y);

  /// Both sides in their common type and shape; pointers pass if allowed.
  struct Pairing {
    bool pointerA = false, pointerB = false, divides = false;
    bool moves = false; // nothing is computed: 8-bit floats pass
  };
  std::pair<Tensor, Tensor> pair(const Value &a, const Value &b, Pairing rules,
                                 std::string_view op);
  /// Three numbers in their common type and shape.
  std::array<Tensor, 3> triple(const std::array<Value, 3> &operands,
                               std::string_view op);

  mlir::OpBuilder builder;
  Site site;
  /// Default precision of tl.dot with fp32 operands: "tf32" or "ieee".
  std::string f32Precision = "tf32";
  /// True if tl.device_assert is compiled.
  bool debug = false;
  /// Compute capability of a CUDA target, 80 for sm_80; else 0.
  unsigned capability = 0;

private:
  std::pair<Tensor, Tensor> pairBits(const Value &a, const Value &b,
                                     std::string_view op);
  Tensor side(const Value &value, std::string_view op);
  Element elementOf(const Value &value, std::string_view op);
  /// Returns a number in `dtype`, the common type of an operation.
  Tensor converted(const Value &value, DType dtype, std::string_view op);
  Tensor arithmetic(BinaryOp op, const Value &a, const Value &b);
  /// Returns an offset of a pointer as a signed integer of 32 or 64 bits.
  Tensor widenOffset(Tensor offset);
  Tensor addOffset(Tensor pointer, Tensor offset);
  Tensor divide(BinaryOp op, const Value &a, const Value &b);
  Tensor bits(BinaryOp op, const Value &a, const Value &b);
  void checkNoAggregate(std::string_view op, const Value &a,
                        const Value &b) const;
  Value onTuples(BinaryOp op, const Value &a, const Value &b);
  Tensor floatCast(Tensor value, Element to, bool towardZero);
  Tensor addressCast(Tensor value, Element to);
  /// Converts fp8e5 to fp16 and fp8e4nv to fp32; both are exact.
  Tensor fromFp8(Tensor value);
  /// Converts an fp32 to an 8-bit float.
  Tensor toFp8(Tensor value, DType type, bool towardZero);
  /// Converts an fp64 to an fp32 that rounds to the same 8-bit float.
  Tensor roundToOdd(Tensor value);

  ErrorReporter &reporter;
};

/// Returns the bits of `value` rounded to an 8-bit float, to nearest even and
/// saturated at the largest finite number.
uint8_t fp8Bits(double value, DType type);

} // namespace tessera::semantics
