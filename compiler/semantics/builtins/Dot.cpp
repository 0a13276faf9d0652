// compiler/semantics/builtins/Dot.cpp - lowers matrix products.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "compiler/semantics/Builtins.h"

#include "dialect/tile/TileDialect.h"

namespace tessera::semantics {
namespace {

/// How a product of fp32 operands is computed: by one instruction's precision,
/// or, with more than one part, as products of bf16 parts.
struct Method {
  tile::Precision precision;
  int parts = 1;
};

Method methodOf(BuiltinCall &call) {
  std::string word = call.string(3);
  if (!call.isNone(3) && !call.isNone(4))
    call.fail(4, DiagnosticId::BadArgument,
              "tl.dot takes `input_precision` or `allow_tf32`, not both");
  if (!call.isNone(4))
    word = call.boolean(4) ? "tf32" : "ieee";
  if (word.empty())
    word = call.emit.f32Precision;
  if (word == "ieee")
    return {tile::Precision::IEEE};
  if (word == "tf32")
    return {tile::Precision::TF32};
  if (word == "tf32x3")
    return {tile::Precision::TF32x3};
  // The cpu target computes every precision as IEEE.
  const bool splits = call.emit.capability > 0;
  if (word == "bf16x3")
    return {tile::Precision::IEEE, splits ? 2 : 1};
  if (word == "bf16x6")
    return {tile::Precision::IEEE, splits ? 3 : 1};
  call.fail(3, DiagnosticId::BadArgument,
            "tl.dot: `input_precision` cannot be '" + word + "'",
            "one of 'ieee' 'tf32' 'tf32x3' 'bf16x3' 'bf16x6'");
}

// Returns the dtype of the accumulator, which is also the result's. Without
// `out_dtype` an accumulator of fp16 gives fp16. As in Triton 3.9, `out_dtype`
// must be the type of `acc`. Without `acc` only operands of fp16 depend on it.
DType accumulatorOf(BuiltinCall &call, DType operand) {
  constexpr Element kHalf{DType::Fp16, false};
  DType asked = DType::Fp32;
  if (!call.isNone(6)) {
    const Element given = call.element(6);
    asked = given.dtype;
    if (!call.isNone(2) && call.tensor(2).type.element != given)
      call.fail(6, DiagnosticId::TypeMismatch,
                "tl.dot: `out_dtype` is " + toString(given) +
                    ", and `acc` is " + toString(call.tensor(2).type),
                "leave `out_dtype` out: the result has the type of `acc`");
  } else if (!call.isNone(2) && call.tensor(2).type.element == kHalf)
    asked = DType::Fp16;
  if (operand == DType::Int8)
    return DType::Int32;
  if (asked == DType::Bf16)
    call.fail(6, DiagnosticId::BadArgument, "tl.dot cannot give bf16",
              "take fp32 and convert with .to(tl.bfloat16)");
  if (operand == DType::Fp64)
    return DType::Fp64;
  if (operand == DType::Fp16 && asked != DType::Fp16 && asked != DType::Fp32)
    call.fail(6, DiagnosticId::BadArgument,
              "tl.dot of fp16 cannot give " + std::string(nameOf(asked)),
              "take fp32 and convert with .to(...)");
  return operand == DType::Fp16 ? asked : DType::Fp32;
}

Tensor product(Emitter &emit, const Tensor &a, const Tensor &b,
               const Tensor &acc, tile::Precision precision) {
  return {tile::DotOp::create(emit.builder, emit.location(),
                              acc.handle.getType(), a.handle, b.handle,
                              acc.handle, precision, /*instruction=*/nullptr,
                              /*reason=*/nullptr),
          acc.type};
}

/// Returns `count` bf16 blocks whose sum is the fp32 block `x`, up to 2^-8 of
/// the last one, the largest first.
std::vector<Tensor> partsOf(Emitter &emit, const Tensor &x, int count) {
  std::vector<Tensor> parts;
  Tensor rest = x;
  while (true) {
    parts.push_back(emit.cast(rest, {DType::Bf16, false}));
    if (int(parts.size()) == count)
      return parts;
    Tensor part = emit.cast(parts.back(), {DType::Fp32, false});
    rest = *emit.binary(BinaryOp::Sub, rest, part).tensor();
  }
}

/// Returns acc + a @ b for fp32 operands as products of their bf16 parts, the
/// smallest first. Products of parts that are too small to matter are left out:
/// part i of a times part j of b, where i + j >= count.
Tensor productOfParts(Emitter &emit, const Tensor &a, const Tensor &b,
                      const Tensor &acc, int count) {
  const std::vector<Tensor> left = partsOf(emit, a, count);
  const std::vector<Tensor> right = partsOf(emit, b, count);
  Tensor sum = emit.floating(0.0, DType::Fp32, acc.type.shape);
  for (int order = count - 1; order > 0; --order)
    for (int i = order; i >= 0; --i)
      sum = product(emit, left[size_t(i)], right[size_t(order - i)], sum,
                    tile::Precision::IEEE);
  // The rest of an infinity is NaN, and the first product is infinite without
  // it.
  Value isNumber = emit.compare(CompareOp::Eq, sum, sum);
  sum = emit.select(*isNumber.tensor(), sum,
                    emit.floating(0.0, DType::Fp32, acc.type.shape));
  sum = product(emit, left[0], right[0], sum, tile::Precision::IEEE);
  return *emit.binary(BinaryOp::Add, sum, acc).tensor();
}

Value emitDot(BuiltinCall &call) {
  Emitter &emit = call.emit;
  Tensor a = call.tensor(0), b = call.tensor(1);
  // fp16 operands hold 8-bit floats exactly.
  if (isFp8(a.type.element.dtype) && isFp8(b.type.element.dtype)) {
    a = emit.cast(a, {DType::Fp16, false});
    b = emit.cast(b, {DType::Fp16, false});
  }
  for (size_t index : {0, 1}) {
    const Tensor &x = index ? b : a;
    DType dtype = x.type.element.dtype;
    bool known = x.type.element.isFloat() || dtype == DType::Int8;
    if (x.type.element.isPointer || !known)
      call.fail(index, DiagnosticId::BadArgument,
                call.what(index) + " must be a block of floats or int8, got " +
                    toString(x.type),
                x.type.element.isPointer
                    ? "load the values first: tl.load(" + call.text(index) + ")"
                    : "convert it: " + call.operandText(index) +
                          ".to(tl.float32)");
    if (x.type.rank() != 2 && x.type.rank() != 3)
      call.fail(index, DiagnosticId::ShapeMismatch,
                call.what(index) + " must have rank 2 or 3, got " +
                    toString(x.type),
                x.type.rank() == 1
                    ? "for two vectors write tl.sum(" + call.operandText(0) +
                          " * " + call.operandText(1) + ")"
                    : "give it two dimensions, as with "
                      "tl.reshape or [:, None]");
  }
  if (a.type.element != b.type.element)
    call.fail(1, DiagnosticId::TypeMismatch,
              "tl.dot needs operands of one type, got " + toString(a.type) +
                  " and " + toString(b.type),
              "convert one: " + call.operandText(1) + ".to(" +
                  call.operandText(0) + ".dtype)");
  size_t batch = size_t(a.type.rank() - 2);
  if (a.type.rank() != b.type.rank() ||
      (batch && a.type.shape[0] != b.type.shape[0]))
    call.fail(1, DiagnosticId::ShapeMismatch,
              "tl.dot needs two matrices or two batches of one size, got " +
                  toString(a.type) + " and " + toString(b.type),
              "tl.broadcast_to repeats a matrix for each of a batch");
  const int64_t *left = a.type.shape.data() + batch,
                *right = b.type.shape.data() + batch;
  if (left[1] != right[0])
    call.fail(1, DiagnosticId::ShapeMismatch,
              "tl.dot: " + toString(a.type) + " has " +
                  std::to_string(left[1]) + " columns, " + toString(b.type) +
                  " has " + std::to_string(right[0]) + " rows",
              left[1] == right[1]
                  ? "transpose the second: tl.dot(" + call.text(0) +
                        ", tl.trans(" + call.text(1) + "))"
              : left[0] == right[0]
                  ? "transpose the first: tl.dot(tl.trans(" + call.text(0) +
                        "), " + call.text(1) + ")"
                  : "the columns of the first must be as many as the rows of "
                    "the second");
  DType dtype = accumulatorOf(call, a.type.element.dtype);
  Type type(dtype, a.type.shape);
  type.shape.back() = b.type.shape.back();
  emit.checkShape(type.shape);
  // The IR accumulates fp16 in fp32, too, and rounds the result once.
  DType inside = dtype == DType::Fp16 ? DType::Fp32 : dtype;
  Tensor acc;
  if (call.isNone(2)) {
    acc = isFloat(inside) ? emit.floating(0.0, inside, type.shape)
                          : emit.integer(0, inside, type.shape);
  } else {
    acc = call.tensor(2);
    if (acc.type != type)
      call.fail(2, DiagnosticId::TypeMismatch,
                "tl.dot: `acc` must be " + toString(type) + ", got " +
                    toString(acc.type),
                acc.type.shape == type.shape
                    ? "make it of that type: tl.zeros(" + toString(type.shape) +
                          ", dtype=" + tlName(type.element) + ")"
                    : "it has the rows of the first and the columns of the "
                      "second operand");
    acc = emit.cast(acc, {inside, false});
  }
  const Method method = methodOf(call);
  if (method.parts > 1 && a.type.element == Element{DType::Fp32, false})
    return productOfParts(emit, a, b, acc, method.parts);
  return emit.cast(product(emit, a, b, acc, method.precision), {dtype, false});
}

} // namespace

void registerDot(Registry &registry) {
  registry.add("dot",
               "input, other, acc=None, input_precision=None, "
               "allow_tf32=None, max_num_imprecise_acc=None, "
               "out_dtype=None",
               emitDot);
}

} // namespace tessera::semantics
