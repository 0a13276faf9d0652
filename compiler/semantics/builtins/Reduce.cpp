// compiler/semantics/builtins/Reduce.cpp - lowers reductions, scans and
// histograms.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "compiler/semantics/Builtins.h"

#include "dialect/tile/TileDialect.h"

namespace tessera::semantics {
namespace {

using tile::ReduceKind;

constexpr Element kInt32{DType::Int32, false};

bool isUnsignedWord(Element element) {
  return element.isInt() && !isSigned(element.dtype) &&
         bitWidth(element.dtype) >= 32;
}

Tensor reduceAlong(Emitter &emit, Tensor x, int64_t axis, ReduceKind kind) {
  bool givesIndex = kind == ReduceKind::ArgMax || kind == ReduceKind::ArgMin;
  Type type = x.type;
  type.shape.erase(type.shape.begin() + axis);
  if (givesIndex)
    type.element = kInt32;
  return {tile::ReduceOp::create(emit.builder, emit.location(),
                                 toMlir(emit.context(), type), kind, x.handle,
                                 int32_t(axis)),
          type};
}

// Reduces along `axis`, or over all elements without one.
Tensor reduce(Emitter &emit, Tensor x, std::optional<int64_t> axis,
              ReduceKind kind, bool keepDims) {
  int64_t rank = x.type.rank();
  if (!axis && rank > 1)
    x = emit.reshape(x, {x.type.elements()});
  Tensor result = reduceAlong(emit, x, axis.value_or(0), kind);
  if (!keepDims)
    return result;
  if (axis)
    return emit.expandDims(result, *axis);
  for (int64_t i = 0; i < rank; ++i)
    result = emit.expandDims(result, 0);
  return result;
}

// Sums half-precision values in fp32 and rounds once at the end.
Tensor sum(Emitter &emit, Tensor x, std::optional<int64_t> axis, bool keepDims,
           std::optional<Element> asked) {
  Element result =
      asked.value_or(Element{sumDType(x.type.element.dtype), false});
  x = emit.cast(x, result);
  if (result.isFloat() && bitWidth(result.dtype) < 32)
    x = emit.cast(x, kFp32);
  return emit.cast(reduce(emit, x, axis, ReduceKind::Sum, keepDims), result);
}

Tensor extremum(Emitter &emit, Tensor x, std::optional<int64_t> axis,
                bool isMax, bool keepDims) {
  Element element = x.type.element;
  if (bitWidth(element.dtype) < 32)
    x = emit.cast(x, element.isFloat() ? kFp32 : kInt32);
  ReduceKind kind = isMax ? ReduceKind::Max : ReduceKind::Min;
  if (isUnsignedWord(x.type.element))
    kind = isMax ? ReduceKind::UMax : ReduceKind::UMin;
  return reduce(emit, x, axis, kind, keepDims);
}

// Returns the operand of a reduction, which must be a block of numbers.
Tensor block(BuiltinCall &call) {
  Tensor x = call.tensor(0);
  if (!x.type.isBlock())
    call.fail(0, DiagnosticId::ShapeMismatch,
              "tl." + call.builtin.name + " needs a block, got the scalar " +
                  toString(x.type),
              "of two scalars take tl.maximum, tl.minimum or +");
  if (x.type.element.isPointer)
    call.fail(0, DiagnosticId::BadPointer,
              "tl." + call.builtin.name + " is not defined for pointers",
              "load the values first: tl.load(" + call.text(0) + ")");
  if (isFp8(x.type.element.dtype))
    call.floats(0); // reports
  return x;
}

std::optional<int64_t> axisOf(BuiltinCall &call, const Tensor &x,
                              size_t index) {
  if (call.isNone(index))
    return std::nullopt;
  return call.axis(index, x.type.rank());
}

Value emitSum(BuiltinCall &call) {
  Tensor x = block(call);
  std::optional<Element> asked;
  if (!call.isNone(3))
    asked = call.element(3);
  return sum(call.emit, x, axisOf(call, x, 1), call.boolean(2), asked);
}

Tensor indexOf(BuiltinCall &call, Tensor x, int64_t axis, bool isMax,
               bool keepDims) {
  Emitter &emit = call.emit;
  Element element = x.type.element;
  // The comparison is signed; an unsigned operand moves to a wider type.
  if (element.isInt() && !isSigned(element.dtype)) {
    bool narrow = bitWidth(element.dtype) < 32;
    x = emit.cast(x, {narrow ? DType::Int32 : DType::Int64, false});
    // With the top bit inverted, a signed comparison orders unsigned values.
    if (bitWidth(element.dtype) == 64)
      x = *emit.binary(BinaryOp::Xor, x, Const(minOf(DType::Int64))).tensor();
  }
  return reduce(emit, x, axis, isMax ? ReduceKind::ArgMax : ReduceKind::ArgMin,
                keepDims);
}

template <bool isMax>
Value emitExtremum(BuiltinCall &call) {
  Emitter &emit = call.emit;
  Tensor x = block(call);
  auto axis = axisOf(call, x, 1);
  bool withIndices = call.boolean(2), keepDims = call.boolean(4);
  call.boolean(3); // the lowest index wins ties in both cases
  if (!withIndices)
    return extremum(emit, x, axis, isMax, keepDims);
  if (!axis)
    call.fail(2, DiagnosticId::BadArgument,
              "tl." + call.builtin.name + " with indices needs an axis",
              "write axis=0");
  Tensor value =
      emit.cast(extremum(emit, x, axis, isMax, keepDims), x.type.element);
  return Value::tuple({value, indexOf(call, x, *axis, isMax, keepDims)});
}

template <bool isMax>
Value emitArg(BuiltinCall &call) {
  Tensor x = block(call);
  int64_t axis = call.axis(1, x.type.rank());
  call.boolean(2);
  return indexOf(call, x, axis, isMax, call.boolean(3));
}

template <ReduceKind kind>
Value emitBits(BuiltinCall &call) {
  Tensor x = block(call);
  if (!x.type.element.isInt())
    call.fail(0, DiagnosticId::BadArgument,
              "tl." + call.builtin.name + " needs integers, got " +
                  toString(x.type),
              "convert it: " + call.operandText(0) + ".to(tl.int32)");
  return reduce(call.emit, x, axisOf(call, x, 1), kind, call.boolean(2));
}

// Lowers cumsum and cumprod. Sums and products of bf16 are computed in fp32 and
// rounded once.
template <tile::ScanKind kind>
Value emitScan(BuiltinCall &call) {
  Emitter &emit = call.emit;
  Tensor x = block(call);
  const int64_t axis = call.axis(1, x.type.rank());
  const Element element = call.isNone(3)
                              ? Element{sumDType(x.type.element.dtype), false}
                              : call.element(3);
  x = emit.cast(x, element);
  if (element == Element{DType::Bf16, false})
    x = emit.cast(x, kFp32);
  const Tensor result{tile::ScanOp::create(emit.builder, emit.location(),
                                           x.handle.getType(), kind, x.handle,
                                           int32_t(axis), call.boolean(2)),
                      x.type};
  return emit.cast(result, element);
}

Value emitHistogram(BuiltinCall &call) {
  Emitter &emit = call.emit;
  Tensor x = block(call);
  if (x.type.rank() != 1 || !x.type.element.isInt())
    call.fail(0, DiagnosticId::BadArgument,
              "tl.histogram needs a block of rank 1 of integers, got " +
                  toString(x.type),
              "flatten it with tl.ravel, and convert with .to(tl.int32)");
  x = emit.cast(x, kInt32);
  Type type(DType::Int32, {call.integer(1)});
  emit.checkShape(type.shape);
  mlir::Value mask;
  if (!call.isNone(2))
    mask = emit.broadcastTo(emit.truth(call.tensor(2)), x.type.shape).handle;
  return Tensor{tile::HistogramOp::create(emit.builder, emit.location(),
                                          toMlir(emit.context(), type),
                                          x.handle, mask),
                type};
}

} // namespace

Tensor emitReduction(Emitter &emit, Tensor x, std::optional<int64_t> axis,
                     std::string_view kind, bool keepDims) {
  if (kind == "sum")
    return sum(emit, x, axis, keepDims, std::nullopt);
  return extremum(emit, x, axis, kind == "max", keepDims);
}

void registerReduce(Registry &registry) {
  registry.addMethod("sum", "input, axis=None, keep_dims=False, dtype=None",
                     emitSum);
  const char *extremes = "input, axis=None, return_indices=False, "
                         "return_indices_tie_break_left=True, keep_dims=False";
  registry.addMethod("max", extremes, emitExtremum<true>);
  registry.addMethod("min", extremes, emitExtremum<false>);
  const char *args = "input, axis, tie_break_left=True, keep_dims=False";
  registry.addMethod("argmax", args, emitArg<true>);
  registry.addMethod("argmin", args, emitArg<false>);
  registry.addMethod("xor_sum", "input, axis=None, keep_dims=False",
                     emitBits<ReduceKind::Xor>);
  registry.addMethod("reduce_or", "input, axis, keep_dims=False",
                     emitBits<ReduceKind::Or>);
  const char *scans = "input, axis=0, reverse=False, dtype=None";
  registry.addMethod("cumsum", scans, emitScan<tile::ScanKind::Sum>);
  registry.addMethod("cumprod", scans, emitScan<tile::ScanKind::Prod>);
  registry.addMethod("histogram", "input, num_bins, mask=None", emitHistogram);
}

} // namespace tessera::semantics
