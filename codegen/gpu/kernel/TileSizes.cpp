// codegen/gpu/kernel/TileSizes.cpp - sizes of tiles and their limits.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "codegen/gpu/kernel/TileSizes.h"

#include "codegen/SourceLines.h"
#include "dialect/tile/TileDialect.h"
#include "support/Error.h"

#include "mlir/IR/BuiltinOps.h"

#include <algorithm>
#include <string>

using namespace mlir;

namespace tessera::codegen::gpu {

int64_t tileBytes(Type tensor) {
  auto type = cast<RankedTensorType>(tensor);
  return type.getNumElements() * bytesInMemory(type.getElementType());
}

int64_t tileRegisters(Type type) {
  tile::LinearAttr layout = tile::layoutOf(type);
  if (!layout)
    return isa<tile::TokenType>(type) ? 0 : 1;
  Type element = tile::elementType(type);
  int64_t bits = isa<tile::PtrType>(element)
                     ? 64
                     : std::max(8u, element.getIntOrFloatBitWidth());
  return std::max<int64_t>(1, (bits << layout.getRegisters().size()) / 32);
}

void checkTileSizes(ModuleOp module, const GpuOptions &options) {
  // MLIR is built without exceptions: none may pass through walk().
  Operation *place = nullptr;
  RankedTensorType tile;
  module.walk<WalkOrder::PreOrder>([&](Operation *op) {
    for (Type type : op->getResultTypes())
      if (tileRegisters(type) > kMostTileRegisters) {
        place = op;
        tile = cast<RankedTensorType>(type);
        return WalkResult::interrupt();
      }
    return WalkResult::advance();
  });
  if (!place)
    return;
  std::string shape;
  for (int64_t size : tile.getShape())
    shape += (shape.empty() ? "" : "x") + std::to_string(size);
  throw Error(whereOf(place->getLoc()) + ": error: a tile of " + shape +
                  " takes " + std::to_string(tileRegisters(tile)) +
                  " registers of each of the " +
                  std::to_string(options.numWarps * 32) + " threads; on " +
                  options.target.name + " a thread has " +
                  std::to_string(options.target.registersPerThread),
              "use a smaller tile in a loop, or more warps (num_warps, at "
              "most " +
                  std::to_string(options.target.threadsPerBlock / 32) + ")");
}

} // namespace tessera::codegen::gpu
