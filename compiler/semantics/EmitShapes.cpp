// compiler/semantics/EmitShapes.cpp - emits broadcasts and changes of shape.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "compiler/semantics/Emitter.h"
#include "compiler/semantics/Quote.h"

#include "dialect/tile/TileDialect.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "llvm/ADT/bit.h"

#include <algorithm>

namespace tessera::semantics {

using namespace mlir;

static mlir::Type resultType(Emitter &emitter, const Type &type) {
  return toMlir(emitter.context(), type);
}

void Emitter::checkShape(const Shape &shape) {
  int64_t elements = 1;
  for (int64_t size : shape) {
    if (size < 1)
      fail(DiagnosticId::BlockShape,
           "a block of shape " + toString(shape) + " has a dimension below 1",
           "every dimension is at least 1");
    if (!llvm::has_single_bit(uint64_t(size)))
      fail(DiagnosticId::BlockShape,
           "block dimensions must be powers of two, got " + toString(shape),
           "use " + std::to_string(llvm::bit_ceil(uint64_t(size))) +
               " and a mask for the elements past " + std::to_string(size));
    if (size > tile::kMaxTileElements ||
        elements * size > tile::kMaxTileElements)
      fail(DiagnosticId::BlockSize,
           "a block of shape " + toString(shape) + " has more than " +
               std::to_string(tile::kMaxTileElements) + " elements",
           "use smaller blocks and a loop, or more programs");
    elements *= size;
  }
}

Tensor Emitter::splat(Tensor scalar, const Shape &shape) {
  if (shape.empty())
    return scalar;
  checkShape(shape);
  Type type(scalar.type.element, shape);
  mlir::Type result = resultType(*this, type);
  if (auto constant = scalar.handle.getDefiningOp<arith::ConstantOp>()) {
    auto value = DenseElementsAttr::get(mlir::cast<ShapedType>(result),
                                        Attribute(constant.getValue()));
    return {arith::ConstantOp::create(builder, location(), value), type};
  }
  return {tile::SplatOp::create(builder, location(), result, scalar.handle),
          type};
}

Tensor Emitter::broadcastTo(Tensor value, const Shape &shape) {
  if (!value.type.isBlock())
    return splat(value, shape);
  if (value.type.shape == shape)
    return value;
  checkShape(shape);
  const Shape &from = value.type.shape;
  if (from.size() != shape.size())
    fail(DiagnosticId::ShapeMismatch,
         "cannot broadcast " + toString(from) + " to " + toString(shape) +
             ": the ranks differ",
         "index with None to add dimensions, as in x[:, None]");
  for (size_t i = 0; i < shape.size(); ++i)
    if (from[i] != shape[i] && from[i] != 1)
      fail(DiagnosticId::ShapeMismatch,
           "cannot broadcast " + toString(from) + " to " + toString(shape) +
               ": dimension " + std::to_string(i) + " is " +
               std::to_string(from[i]) + ", not 1",
           "only dimensions of size 1 grow");
  Type type(value.type.element, shape);
  return {tile::BroadcastOp::create(builder, location(),
                                    resultType(*this, type), value.handle),
          type};
}

static std::string broadcastHint(const Shape &left, const Shape &right) {
  if (left.size() == 1 && right.size() == 1)
    return "make both of one length; or, for all pairs, index one with "
           "[:, None] and the other with [None, :]";
  if (left.size() != right.size())
    return "missing dimensions are added in front; add one at the end with "
           "x[:, None]";
  return "dimensions must be equal, or one of them 1";
}

void Emitter::broadcastPair(Tensor &a, Tensor &b) {
  if (!a.type.isBlock() && !b.type.isBlock())
    return;
  if (!a.type.isBlock()) {
    a = splat(a, b.type.shape);
    return;
  }
  if (!b.type.isBlock()) {
    b = splat(b, a.type.shape);
    return;
  }
  Shape left = a.type.shape, right = b.type.shape;
  while (a.type.rank() < b.type.rank())
    a = expandDims(a, 0);
  while (b.type.rank() < a.type.rank())
    b = expandDims(b, 0);
  Shape common;
  for (int64_t i = 0; i < a.type.rank(); ++i) {
    int64_t m = a.type.shape[i], n = b.type.shape[i];
    if (m != n && m != 1 && n != 1)
      fail(DiagnosticId::ShapeMismatch,
           "shapes " + toString(left) + " and " + toString(right) +
               " do not broadcast: dimension " + std::to_string(i) + " is " +
               std::to_string(m) + " and " + std::to_string(n),
           broadcastHint(left, right));
    common.push_back(m == 1 ? n : m);
  }
  a = broadcastTo(a, common);
  b = broadcastTo(b, common);
}

Tensor Emitter::expandDims(Tensor value, int64_t axis) {
  Shape shape = value.type.shape;
  shape.insert(shape.begin() + axis, 1);
  if (!value.type.isBlock())
    return splat(value, shape);
  Type type(value.type.element, shape);
  return {tile::ExpandDimsOp::create(builder, location(),
                                     resultType(*this, type), value.handle,
                                     int32_t(axis)),
          type};
}

Tensor Emitter::reshape(Tensor value, const Shape &shape) {
  checkShape(shape);
  Type type(value.type.element, shape);
  if (type.elements() != value.type.elements())
    fail(DiagnosticId::ShapeMismatch,
         "cannot reshape " + toString(value.type.shape) + " (" +
             std::to_string(value.type.elements()) + " elements) to " +
             toString(shape) + " (" + std::to_string(type.elements()) + ")",
         "the sizes of the new shape must multiply to " +
             std::to_string(value.type.elements()));
  if (!value.type.isBlock())
    return splat(value, shape);
  if (shape == value.type.shape)
    return value;
  if (shape.empty())
    return unsplat(value);
  return {tile::ReshapeOp::create(builder, location(), resultType(*this, type),
                                  value.handle),
          type};
}

Tensor Emitter::permute(Tensor value, const std::vector<int64_t> &order) {
  std::vector<int64_t> sorted = order;
  std::sort(sorted.begin(), sorted.end());
  bool valid = int64_t(order.size()) == value.type.rank();
  for (size_t i = 0; valid && i < sorted.size(); ++i)
    valid = sorted[i] == int64_t(i);
  if (!valid)
    fail(DiagnosticId::BadArgument,
         "the order " + toString(order) + " is not a permutation of the " +
             std::to_string(value.type.rank()) + " dimensions of " +
             toString(value.type),
         "name each dimension from 0 to " +
             std::to_string(value.type.rank() - 1) + " once");
  Shape shape;
  SmallVector<int32_t> order32;
  for (int64_t dim : order) {
    shape.push_back(value.type.shape[dim]);
    order32.push_back(int32_t(dim));
  }
  Type type(value.type.element, shape);
  return {tile::TransOp::create(builder, location(), resultType(*this, type),
                                value.handle, order32),
          type};
}

Tensor Emitter::join(Tensor a, Tensor b) {
  if (a.type.element != b.type.element)
    fail(DiagnosticId::TypeMismatch,
         "join needs equal types, got " + toString(a.type) + " and " +
             toString(b.type),
         "convert one with .to(" + tlName(a.type.element) + ")");
  broadcastPair(a, b);
  bool scalars = !a.type.isBlock();
  if (scalars) {
    a = splat(a, {1});
    b = splat(b, {1});
  }
  Shape shape = a.type.shape;
  shape.push_back(2);
  checkShape(shape);
  Type type(a.type.element, shape);
  Tensor joined = {tile::JoinOp::create(builder, location(),
                                        resultType(*this, type), a.handle,
                                        b.handle),
                   type};
  return scalars ? reshape(joined, {2}) : joined;
}

std::pair<Tensor, Tensor> Emitter::split(Tensor value) {
  if (!value.type.isBlock() || value.type.shape.back() != 2)
    fail(DiagnosticId::ShapeMismatch,
         "split needs a last dimension of size 2, got " + toString(value.type),
         value.type.isBlock() && value.type.elements() >= 2
             ? "reshape first: tl.reshape(x, (" +
                   std::to_string(value.type.elements() / 2) + ", 2))"
             : "join two blocks with tl.join to get one");
  bool pair = value.type.rank() == 1;
  if (pair)
    value = reshape(value, {1, 2});
  Shape shape(value.type.shape.begin(), value.type.shape.end() - 1);
  Type type(value.type.element, shape);
  mlir::Type half = resultType(*this, type);
  auto op =
      tile::SplitOp::create(builder, location(), half, half, value.handle);
  Tensor a{op.getLhs(), type}, b{op.getRhs(), type};
  if (pair)
    return {unsplat(a), unsplat(b)};
  return {a, b};
}

Tensor Emitter::unsplat(Tensor value) {
  if (!value.type.isBlock())
    return value;
  if (value.type.elements() != 1)
    fail(DiagnosticId::ShapeMismatch,
         "only a block of one element is a scalar, got " +
             toString(value.type));
  if (value.type.element.isPointer)
    fail(DiagnosticId::NotSupported,
         "a scalar out of a block of pointers is not supported yet");
  if (value.type.rank() > 1)
    value = reshape(value, {1});
  // Reduces floats as integers, because `or` works on bits only.
  const Element element = value.type.element;
  if (element.isFloat())
    value = bitcast(value, {*intOfWidth(bitWidth(element.dtype), true), false});
  Type type(value.type.element);
  Tensor only{tile::ReduceOp::create(builder, location(),
                                     resultType(*this, type),
                                     tile::ReduceKind::Or, value.handle, 0),
              type};
  return element.isFloat() ? bitcast(only, element) : only;
}

} // namespace tessera::semantics
