// codegen/gpu/pipeline/OperandLayout.cpp - shared layouts of dot operands.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "codegen/gpu/pipeline/OperandLayout.h"

#include "dialect/layout/ShapeOps.h"
#include "dialect/layout/SharedLayouts.h"
#include "dialect/layout/SharedSearch.h"

#include <numeric>
#include <optional>

namespace tessera::codegen::gpu {

using layout::Dim;
using layout::LinearLayout;
using layout::Span;
using layout::Word;

namespace {

// The store to and the loads from one shared layout.
struct Ways {
  layout::SharedAccess store;
  std::vector<layout::SharedAccess> loads;

  // Returns (wavefronts, instructions), which are compared in this order.
  std::pair<int, int> cost() const {
    std::pair<int, int> sum = {store.wavefronts(),
                               store.instructions() + store.permutes()};
    for (const layout::SharedAccess &load : loads) {
      sum.first += load.wavefronts();
      sum.second += load.instructions() + load.permutes();
    }
    return sum;
  }
  bool conflicts() const {
    bool any = store.ways > 1;
    for (const layout::SharedAccess &load : loads)
      any |= load.ways > 1;
    return any;
  }
};

// Returns the span of elements that one phase of an access touches: 128 bytes
// from several lanes.
Span phaseOf(const LinearLayout &registers, const layout::SharedAccess &access,
             const std::vector<Word> &word) {
  Span phase(word);
  for (int bit : access.vectorBits)
    phase.add(registers.column(Dim::Register, bit));
  int lanes = 5;
  if (access.kind == layout::AccessKind::Vector)
    for (int bytes = access.bytesPerLane(); bytes > 4; bytes /= 2)
      --lanes;
  for (int bit = 0; bit < std::min(lanes, registers.inBits(Dim::Lane)); ++bit)
    phase.add(registers.column(Dim::Lane, bit));
  return phase;
}

// Adds `missing` candidates to `segment` so that none of their sums is in a
// phase. Searches by backtracking; returns false if it finds none within
// `attempts`.
bool extendSegment(std::vector<Word> &segment, std::vector<Span> phases,
                   const std::vector<Word> &candidates, size_t from,
                   size_t missing, int &attempts) {
  if (!missing)
    return true;
  for (size_t i = from; i < candidates.size(); ++i) {
    if (--attempts < 0)
      return false;
    std::vector<Span> larger = phases;
    bool apart = true;
    for (Span &phase : larger)
      apart = apart && phase.add(candidates[i]);
    if (!apart)
      continue;
    segment.push_back(candidates[i]);
    if (extendSegment(segment, std::move(larger), candidates, i + 1,
                      missing - 1, attempts))
      return true;
    segment.pop_back();
  }
  return false;
}

// Returns a layout with the same 16-byte runs as `shared` but without bank
// conflicts: no phase of any access touches a bank in two rows of 128 bytes.
// The search tries single bits of the element index, then sums of two, then
// sums of three. Returns nullopt if it finds no layout.
std::optional<LinearLayout>
withoutConflicts(const LinearLayout &shared, const LinearLayout &source,
                 const std::vector<LinearLayout> &readers, const Ways &ways,
                 int elementBits) {
  const std::vector<Word> &columns = shared.columns();
  auto lowest = [&](size_t bytes) {
    size_t bits = 0;
    while (bits < columns.size() && size_t(elementBits) << bits < 8 * bytes)
      ++bits;
    return std::vector<Word>(columns.begin(), columns.begin() + int64_t(bits));
  };
  const std::vector<Word> low = lowest(16), word = lowest(4);
  const size_t row = lowest(128).size();
  std::vector<Span> phases = {phaseOf(source, ways.store, word)};
  for (size_t i = 0; i < readers.size(); ++i)
    phases.push_back(phaseOf(readers[i], ways.loads[i], word));
  phases.push_back(Span(low));
  // A sum that includes a bit inside the 16 bytes would misalign accesses.
  Word inside = 0;
  for (Word v : low)
    inside |= v;
  std::vector<Word> candidates;
  const int bits = shared.outBits();
  for (int count = 1; count <= 3; ++count)
    for (int a = 0; a < bits; ++a)
      for (int b = 0; b < (count > 1 ? a : 1); ++b)
        for (int c = 0; c < (count > 2 ? b : 1); ++c) {
          Word v = Word(1) << a | (count > 1 ? Word(1) << b : 0) |
                   (count > 2 ? Word(1) << c : 0);
          if (!(v & inside))
            candidates.push_back(v);
        }
  std::vector<Word> segment;
  int attempts = 20000;
  if (!extendSegment(segment, phases, candidates, 0, columns.size() - row,
                     attempts))
    return std::nullopt;
  std::vector<Word> bases = low;
  Span taken(low);
  for (Word v : segment)
    taken.add(v);
  for (int bit = 0; bit < bits; ++bit)
    if (taken.add(Word(1) << bit))
      bases.push_back(Word(1) << bit);
  bases.insert(bases.end(), segment.begin(), segment.end());
  return LinearLayout(shared.ins(), shared.outs(), bases);
}

} // namespace

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
  Ways least;
  auto consider = [&](const LinearLayout &shared) {
    Ways ways;
    ways.store = layout::vectorAccess(
        source, shared, elementBits,
        storedBits < 0 ? 16 : (elementBits << storedBits) / 8);
    if (storedBits >= 0 && int(ways.store.vectorBits.size()) < storedBits)
      return;
    for (const LinearLayout &reader : readers)
      ways.loads.push_back(layout::bestLoad(reader, shared, elementBits));
    if (!best || ways.cost() < least.cost()) {
      best = shared;
      least = ways;
    }
  };
  for (const LinearLayout &shared : candidates)
    consider(shared);
  if (best && least.conflicts())
    if (auto found =
            withoutConflicts(*best, source, readers, least, elementBits))
      consider(*found);
  if (!best)
    throw layout::LayoutError("no shared layout for the tile's readers");
  return *best;
}

} // namespace tessera::codegen::gpu
