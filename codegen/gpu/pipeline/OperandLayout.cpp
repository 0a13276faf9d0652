// codegen/gpu/pipeline/OperandLayout.cpp - where a tile of several readers is.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "codegen/gpu/pipeline/OperandLayout.h"

#include "dialect/layout/ShapeOps.h"
#include "dialect/layout/SharedLayouts.h"
#include "dialect/layout/SharedSearch.h"

#include <numeric>
#include <optional>

namespace tessera::codegen::gpu {

using layout::LinearLayout;

LinearLayout operandLayout(const LinearLayout &source, int storedBits,
                           const std::vector<LinearLayout> &readers,
                           int elementBits) {
  layout::SearchOptions options;
  options.elementBits = elementBits;
  options.storedBits = storedBits;
  std::vector<LinearLayout> candidates;
  for (const LinearLayout &reader : readers) {
    LinearLayout found =
        layout::findSharedTrip(source, reader, options).scratch;
    if (readers.size() == 1)
      return found;
    candidates.push_back(found);
  }
  std::vector<int64_t> shape = layout::shapeOf(source);
  std::vector<int> order(shape.size());
  std::iota(order.rbegin(), order.rend(), 0);
  if (shape.size() >= 2)
    for (int turn = 0; turn < 2; ++turn) {
      candidates.push_back(layout::swizzledShared(
          shape, layout::operandSwizzle(shape[size_t(order[0])], elementBits),
          order));
      std::swap(order[0], order[1]);
    }
  std::optional<LinearLayout> best;
  std::pair<int, int> least;
  for (const LinearLayout &shared : candidates) {
    layout::SharedAccess store = layout::vectorAccess(
        source, shared, elementBits,
        storedBits < 0 ? 16 : (elementBits << storedBits) / 8);
    if (storedBits >= 0 && int(store.vectorBits.size()) < storedBits)
      continue;
    std::pair<int, int> cost = {store.wavefronts(),
                                store.instructions() + store.permutes()};
    for (const LinearLayout &reader : readers) {
      layout::SharedAccess load = layout::bestLoad(reader, shared, elementBits);
      cost.first += load.wavefronts();
      cost.second += load.instructions() + load.permutes();
    }
    if (!best || cost < least) {
      best = shared;
      least = cost;
    }
  }
  if (!best)
    throw layout::LayoutError("no shared layout for the tile's readers");
  return *best;
}

} // namespace tessera::codegen::gpu
