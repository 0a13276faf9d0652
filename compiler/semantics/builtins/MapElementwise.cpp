// compiler/semantics/builtins/MapElementwise.cpp - tl.map_elementwise.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "compiler/semantics/Builtins.h"

namespace tessera::semantics {
namespace {

// Splits a block into `pack` blocks: adjacent elements along the last dimension
// go to successive blocks.
void unpack(Emitter &emit, Tensor x, int64_t pack, std::vector<Value> &out) {
  if (pack == 1) {
    out.push_back(x);
    return;
  }
  Shape halves = x.type.shape;
  const int64_t size = halves.back();
  halves.back() = size / pack;
  halves.push_back(2);
  halves.push_back(pack / 2);
  Tensor grid = emit.reshape(x, halves);
  // Moves the two halves of a pack to the last dimension, for tl.split.
  std::vector<int64_t> order;
  for (int64_t i = 0; i + 2 < grid.type.rank(); ++i)
    order.push_back(i);
  order.push_back(grid.type.rank() - 1);
  order.push_back(grid.type.rank() - 2);
  auto [first, second] = emit.split(emit.permute(grid, order));
  Shape half = x.type.shape;
  half.back() = size / 2;
  unpack(emit, emit.reshape(first, half), pack / 2, out);
  unpack(emit, emit.reshape(second, half), pack / 2, out);
}

// Joins the blocks that `unpack` splits.
Tensor packed(Emitter &emit, const std::vector<Tensor> &parts, size_t begin,
              size_t count) {
  if (count == 1)
    return parts[begin];
  Tensor first = packed(emit, parts, begin, count / 2);
  Tensor second = packed(emit, parts, begin + count / 2, count / 2);
  const int64_t run = int64_t(count / 2);
  Shape grid = first.type.shape;
  const int64_t size = grid.back();
  grid.back() = size / run;
  grid.push_back(run);
  Tensor joined =
      emit.join(emit.reshape(first, grid), emit.reshape(second, grid));
  std::vector<int64_t> order;
  for (int64_t i = 0; i + 2 < joined.type.rank(); ++i)
    order.push_back(i);
  order.push_back(joined.type.rank() - 1);
  order.push_back(joined.type.rank() - 2);
  Shape whole = first.type.shape;
  whole.back() = 2 * size;
  return emit.reshape(emit.permute(joined, order), whole);
}

int64_t packOf(BuiltinCall &call, const Shape &shape) {
  const int64_t pack = call.integer(2);
  if (pack < 1 || (pack & (pack - 1)) || pack > shape.back())
    call.fail(2, DiagnosticId::BadArgument,
              call.what(2) + " is " + std::to_string(pack) +
                  ", no power of two up to the last dimension, " +
                  std::to_string(shape.back()),
              "leave it out: it says how many elements a call takes");
  return pack;
}

Value emitMapElementwise(BuiltinCall &call) {
  Emitter &emit = call.emit;
  std::vector<Tensor> inputs;
  for (const Value &item : *call[1].tupleValues())
    inputs.push_back(emit.toTensor(item, call.what(1)));
  if (inputs.empty())
    call.fail(1, DiagnosticId::MissingArgument,
              "tl.map_elementwise needs at least one block",
              "write tl.map_elementwise(function, x)");
  for (size_t i = 1; i < inputs.size(); ++i)
    emit.broadcastPair(inputs[0], inputs[i]);
  for (Tensor &input : inputs)
    emit.broadcastPair(input, inputs[0]);
  Shape shape = inputs[0].type.shape;
  if (shape.empty())
    return emit.call(call[0], {inputs.begin(), inputs.end()});

  const int64_t pack = packOf(call, shape);
  std::vector<Value> arguments;
  for (const Tensor &input : inputs)
    unpack(emit, input, pack, arguments);
  Shape inner = shape;
  inner.back() /= pack;
  Value result = emit.callOnElements(call[0], std::move(arguments), inner);
  std::vector<Value> items{result};
  if (auto *values = result.tupleValues())
    items = *values;
  std::vector<Tensor> parts;
  for (const Value &item : items) {
    if (!item.tensor() || item.tensor()->type.shape != inner)
      call.fail(0, DiagnosticId::BadArgument,
                call.what(0) + " returns " + item.describe(),
                "it must return a number for each element");
    parts.push_back(*item.tensor());
  }
  if (parts.size() % size_t(pack))
    call.fail(0, DiagnosticId::BadArgument,
              call.what(0) + " returns " + std::to_string(parts.size()) +
                  " numbers for " + std::to_string(pack) + " elements",
              "with pack=" + std::to_string(pack) + " it returns one for each");
  std::vector<Value> results;
  for (size_t i = 0; i < parts.size(); i += size_t(pack))
    results.push_back(packed(emit, parts, i, size_t(pack)));
  return results.size() == 1 ? results[0] : Value::tuple(std::move(results));
}

} // namespace

void registerMapElementwise(Registry &registry) {
  registry.add("map_elementwise", "scalar_fn, *args, pack=1",
               emitMapElementwise);
}

} // namespace tessera::semantics
