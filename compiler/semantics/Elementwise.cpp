// compiler/semantics/Elementwise.cpp - applies a function of scalars to blocks.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
//
// tl.map_elementwise calls a helper that is written for scalars. The helper is
// inlined on blocks: each of its numbers becomes a block, an `if` on elements
// visits both arms and selects, and a loop ends when no element continues it:
//
//     if x > 0: y = f(x)           a = f(x); b = g(x)
//     else:     y = g(x)           y = where(x > 0, a, b)
#include "compiler/semantics/Lowering.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

#include <algorithm>
#include <array>

namespace tessera::semantics {

using namespace mlir;

Value Lowering::callOnElements(const Value &function,
                               std::vector<Value> arguments, const Shape &shape,
                               const SourceRange &range) {
  if (elements)
    fail(DiagnosticId::NotSupported, range,
         "tl.map_elementwise inside a function of single elements",
         "call the function itself");
  elements = shape;
  Value result = spread(call(function, std::move(arguments), range));
  elements.reset();
  return result;
}

Value Lowering::spread(const Value &value) {
  if (!elements)
    return value;
  if (auto *values = value.members()) {
    std::vector<Value> items;
    for (const Value &item : *values)
      items.push_back(spread(item));
    return Value::tupleLike(value, std::move(items));
  }
  auto *constant = value.constant();
  if (constant && constant->isNumber() && !frame().compileTime)
    return emit.splat(emit.toTensor(value), *elements);
  if (auto *tensor = value.tensor(); tensor && !tensor->type.isBlock())
    return emit.splat(*tensor, *elements);
  return value;
}

// Rejects functions that need more than single elements.
void Lowering::checkOnElements(const Builtin &builtin,
                               const SourceRange &range) {
  if (!elements)
    return;
  constexpr std::array<std::string_view, 34> kOfBlocks{
      "sum",
      "max",
      "min",
      "argmax",
      "argmin",
      "xor_sum",
      "reduce_or",
      "reduce",
      "associative_scan",
      "cumsum",
      "cumprod",
      "histogram",
      "sort",
      "reshape",
      "view",
      "ravel",
      "broadcast_to",
      "broadcast",
      "expand_dims",
      "permute",
      "trans",
      "join",
      "split",
      "interleave",
      "cat",
      "gather",
      "flip",
      "dot",
      "arange",
      "full",
      "zeros",
      "softmax",
      "make_block_ptr",
      "make_tensor_descriptor"};
  const std::string &name = builtin.name;
  if (std::find(kOfBlocks.begin(), kOfBlocks.end(), name) != kOfBlocks.end())
    fail(DiagnosticId::NotSupported, range,
         displayName(builtin) + " of a single element: the function that "
                                "tl.map_elementwise calls sees one at a time",
         "compute it of the block before the call and pass it in");
  auto starts = [&](std::string_view prefix) {
    return name.compare(0, prefix.size(), prefix) == 0;
  };
  const bool memory = name == "load" || name == "store" || starts("atomic_") ||
                      starts("device_") || starts("descriptor.") ||
                      name == "python.print";
  if (memory && onSomeElements)
    fail(DiagnosticId::NotSupported, range,
         displayName(builtin) + " for some of the elements that "
                                "tl.map_elementwise goes over",
         "do it before or after the `if` or loop, with a mask");
}

Value Lowering::selectParts(const Tensor &condition, const Value &yes,
                            const Value &no) {
  std::vector<mlir::Value> a, b;
  flatten(yes, a);
  flatten(no, b);
  for (size_t i = 0; i < a.size(); ++i) {
    auto shaped = dyn_cast<RankedTensorType>(a[i].getType());
    if (!shaped || shaped.getShape() != ArrayRef<int64_t>(condition.type.shape))
      emit.fail(DiagnosticId::NotSupported,
                "a value that is not an element depends on an element of "
                "tl.map_elementwise",
                "keep block pointers and blocks out of the function");
    a[i] = arith::SelectOp::create(emit.builder, emit.location(),
                                   condition.handle, a[i], b[i]);
  }
  size_t next = 0;
  return rebuild(yes, a, next);
}

// Lowers a range whose bounds differ between elements. A hidden variable
// counts, because the body may assign the loop's name.
void Lowering::forOnElements(const language::For &stmt, const Range &range) {
  auto *step = range.step->constant();
  if (!step || !step->asInt() || *step->asInt() == 0)
    fail(DiagnosticId::BadLoop, stmt.iterable->range,
         "the step of a range over elements must be known while compiling");
  const bool up = *step->asInt() > 0;
  const std::string &name = stmt.target->to<language::Name>().id;
  const std::string counter = name + "'s count";
  const Value stop = spread(*range.stop);
  Value start = spread(*range.start);
  auto [first, last] = emit.pair(start, stop, {}, "range");
  frame().scope[counter] = {first, stmt.target->range};
  whileLoop(
      stmt.range,
      [&, last = last]() -> std::optional<Tensor> {
        return *emit.compare(up ? CompareOp::Lt : CompareOp::Gt,
                             frame().scope[counter].value, last)
                    .tensor();
      },
      [&] {
        frame().scope[name] = {frame().scope[counter].value,
                               stmt.target->range};
        visitBlock(stmt.body);
        frame().scope[counter].value =
            emit.binary(BinaryOp::Add, frame().scope[counter].value, *step);
      });
  frame().scope.erase(counter);
  frame().scope.erase(name);
}

} // namespace tessera::semantics
