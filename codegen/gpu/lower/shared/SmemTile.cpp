// codegen/gpu/lower/shared/SmemTile.cpp - a tile in shared memory, read when it
// is used.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "codegen/gpu/lower/shared/SmemTile.h"

#include "dialect/layout/ShapeOps.h"

#include <cassert>

using namespace mlir;
using tessera::layout::Dim;
using tessera::layout::LinearLayout;

namespace tessera::codegen::gpu {

SmemTile::SmemTile(Emitter &e, tile::SmemLoadOp op)
    : e(e), bits(e, op.getSrc().getType().getElement()) {
  const LinearLayout &layout = e.layoutOf(op.getType());
  LinearLayout registers = layout::dropReplication(layout);
  layout::Span span(registers.columns(Dim::Register));
  for (int64_t index = 0; index < layout.inSize(Dim::Register); ++index)
    numbers.push_back(int64_t(*span.solve(
        layout.apply(layout::Word(index) << layout.inStart(Dim::Register)))));
  tile::SmemType memory = op.getSrc().getType();
  access =
      layout::bestLoad(registers, memory.getLayout().layout(), bits.width());
  load.emplace(e, access, 0, e.scalar(op.getSrc()));
  loaded.assign(size_t(registers.inSize(Dim::Register)), nullptr);
  values.assign(loaded.size(), nullptr);
}

llvm::Value *SmemTile::at(int64_t index) {
  assert(index >= 0 && size_t(index) < numbers.size() &&
         "the tile does not have this register");
  int64_t number = numbers[size_t(index)];
  llvm::Value *&value = values[size_t(number)];
  if (value)
    return value;
  if (!loaded[size_t(number)])
    load->emit(load->instructionOf(number), loaded);
  return value = bits.to(loaded[size_t(number)]);
}

Registers SmemTile::all() {
  Registers result;
  for (size_t index = 0; index < numbers.size(); ++index)
    result.push_back(at(int64_t(index)));
  return result;
}

} // namespace tessera::codegen::gpu
