// dialect/layout/SharedAccess.cpp - vectors, ldmatrix, bank conflicts.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "dialect/layout/SharedAccess.h"

#include <algorithm>
#include <bit>
#include <cassert>

namespace tessera::layout {

int SharedAccess::bytesPerLane() const {
  const int bits = elementBits << vectorBits.size();
  return std::max(1, bits * matrices / 8);
}

int SharedAccess::instructions() const {
  return (1 << repeatBits.size()) / matrices;
}

int SharedAccess::wavefronts() const {
  const int phases = std::max(1, 32 * bytesPerLane() / 128);
  return instructions() * phases * ways;
}

int SharedAccess::permutes() const {
  size_t packed = 0;
  while (elementBits << (packed + 1) <= 32)
    ++packed;
  const size_t bits = vectorBits.size() + repeatBits.size();
  bool natural = vectorBits.size() >= packed;
  for (size_t i = 0; natural && i < packed; ++i)
    natural = vectorBits[i] == static_cast<int>(i);
  return natural ? 0 : std::max(1, (1 << bits) >> packed);
}

int SharedAccess::moves() const {
  int packed = 0;
  while (elementBits << (packed + 1) <= 32)
    ++packed;
  bool inOrder = true;
  for (int i = packed; i < static_cast<int>(vectorBits.size()); ++i)
    inOrder = inOrder && vectorBits[i] == i;
  if (kind != AccessKind::Vector || inOrder || permutes())
    return 0;
  return (1 << (vectorBits.size() + repeatBits.size())) >> packed;
}

int bankConflictWays(const std::vector<Word> &elements, int elementBits) {
  assert(elementBits >= 8 && std::has_single_bit(unsigned(elementBits)) &&
         "elements of shared memory are a power of two of bytes");
  // Narrow elements share a 4-byte word; an element of 64 bits or more has
  // several words.
  const int word = elementBits < 32 ? std::countr_zero(32u / elementBits) : 0;
  const int banks = 5 - (elementBits > 32 ? 1 : 0);
  std::vector<Word> words, bankOf;
  for (Word element : elements) {
    words.push_back(element >> word);
    bankOf.push_back(element >> word & ((Word(1) << banks) - 1));
  }
  // The words form a subspace, so the phase touches the same number of rows in
  // each bank that it touches.
  return 1 << (rankOf(words) - rankOf(bankOf));
}

// Returns log2 of the number of lanes in a phase: those whose requests have 128
// bytes together.
static int phaseLaneBits(int bytesPerLane) {
  return 5 - std::max(0, std::countr_zero(unsigned(bytesPerLane)) - 2);
}

LinearLayout offsetsOf(const LinearLayout &registers,
                       const LinearLayout &shared,
                       const std::vector<int> &iterations) {
  const Span span(shared.columns());
  std::vector<Word> columns;
  for (int i = 0; i < registers.inBits(); ++i) {
    const int bit = i - registers.inStart(Dim::Register);
    if (bit >= 0 && bit < registers.inBits(Dim::Register) &&
        std::count(iterations.begin(), iterations.end(), bit)) {
      columns.push_back(0);
      continue;
    }
    auto offset = span.solve(registers.columns()[i]);
    if (!offset)
      throw LayoutError("a shared layout that lacks elements of the tile");
    columns.push_back(*offset);
  }
  return {registers.ins(), shared.ins(), columns};
}

// Returns the register bits that are in neither list.
static std::vector<int> otherBits(const LinearLayout &registers,
                                  const std::vector<int> &a,
                                  const std::vector<int> &b) {
  std::vector<int> rest;
  for (int bit = 0; bit < registers.inBits(Dim::Register); ++bit)
    if (!std::count(a.begin(), a.end(), bit) &&
        !std::count(b.begin(), b.end(), bit))
      rest.push_back(bit);
  return rest;
}

static LinearLayout withoutRegisterBits(const LinearLayout &offsets,
                                        const std::vector<int> &bits) {
  std::vector<Word> columns = offsets.columns();
  for (int bit : bits) {
    assert(bit >= 0 && bit < offsets.inBits(Dim::Register) &&
           "the layout does not have this register bit");
    columns[offsets.inStart(Dim::Register) + bit] = 0;
  }
  return {offsets.ins(), offsets.outs(), columns};
}

SharedAccess vectorAccess(const LinearLayout &registers,
                          const LinearLayout &shared, int elementBits,
                          int maxBytes, const std::vector<int> &iterations) {
  const LinearLayout offsets = offsetsOf(registers, shared, iterations);
  SharedAccess access;
  access.elementBits = elementBits;
  access.iterationBits = iterations;
  std::vector<int> vector;
  auto aligned = [&](size_t bits) {
    // The address is aligned if no other bit changes the offset in the vector.
    const Word low = (Word(1) << bits) - 1;
    for (int i = 0; i < offsets.inBits(); ++i) {
      const int bit = i - offsets.inStart(Dim::Register);
      const bool mine = bit >= 0 && bit < offsets.inBits(Dim::Register) &&
                        std::count(vector.begin(), vector.begin() + bits, bit);
      if (!mine && (offsets.columns()[i] & low))
        return false;
    }
    return true;
  };
  while ((elementBits << (vector.size() + 1)) <= 8 * maxBytes) {
    const Word wanted = Word(1) << vector.size();
    int found = -1;
    for (int bit = 0; bit < offsets.inBits(Dim::Register); ++bit)
      if (offsets.column(Dim::Register, bit) == wanted)
        found = bit;
    if (found < 0)
      break;
    vector.push_back(found);
  }
  while (!aligned(vector.size()))
    vector.pop_back();
  access.vectorBits = vector;
  access.repeatBits = otherBits(registers, vector, iterations);
  access.address = withoutRegisterBits(offsets, vector);
  std::vector<Word> phase;
  for (int bit : vector)
    phase.push_back(offsets.column(Dim::Register, bit));
  const int lanes =
      std::min(phaseLaneBits(access.bytesPerLane()), offsets.inBits(Dim::Lane));
  for (int bit = 0; bit < lanes; ++bit)
    phase.push_back(offsets.column(Dim::Lane, bit));
  access.ways = bankConflictWays(phase, elementBits);
  return access;
}

std::optional<SharedAccess> ldmatrixAccess(const LinearLayout &registers,
                                           const LinearLayout &shared,
                                           int elementBits, bool transposed,
                                           const std::vector<int> &iterations) {
  if (elementBits > 32 || elementBits < 8 || (transposed && elementBits != 16))
    return std::nullopt;
  const int packed = std::countr_zero(32u / elementBits);
  const LinearLayout offsets = offsetsOf(registers, shared, iterations);
  if (offsets.inBits(Dim::Register) < packed || offsets.inBits(Dim::Lane) != 5)
    return std::nullopt;
  std::vector<int> vector;
  for (int bit = 0; bit < packed; ++bit) {
    if (std::count(iterations.begin(), iterations.end(), bit))
      return std::nullopt;
    vector.push_back(bit);
  }
  // `row` holds the bases along the 16 bytes of a row, `rows` those of the 8
  // rows.
  std::vector<Word> row, rows;
  for (int bit : vector)
    (transposed ? rows : row).push_back(offsets.column(Dim::Register, bit));
  for (int bit = 0; bit < 5; ++bit)
    ((bit < 2) != transposed ? row : rows)
        .push_back(offsets.column(Dim::Lane, bit));
  // ldmatrix requires that exactly these bits are the low bits of the offset.
  const Word low = (Word(1) << row.size()) - 1;
  for (size_t i = 0; i < row.size(); ++i)
    if (row[i] != Word(1) << i)
      return std::nullopt;
  std::vector<int> repeat = otherBits(registers, vector, iterations);
  std::vector<Word> others = rows;
  for (int bit : repeat)
    others.push_back(offsets.column(Dim::Register, bit));
  for (Word warp : offsets.columns(Dim::Warp))
    others.push_back(warp);
  for (Word other : others)
    if (other & low)
      return std::nullopt;

  SharedAccess access;
  access.kind = transposed ? AccessKind::LdmatrixTrans : AccessKind::Ldmatrix;
  access.elementBits = elementBits;
  access.vectorBits = vector;
  access.repeatBits = repeat;
  access.iterationBits = iterations;
  access.matrices = 1 << std::min<size_t>(repeat.size(), 2);
  std::vector<int> inside = vector;
  std::vector<Word> lanes = rows;
  for (int bit = 0; bit < 2; ++bit) {
    const bool used = (2 << bit) <= access.matrices;
    lanes.push_back(used ? offsets.column(Dim::Register, repeat[bit]) : 0);
    if (used)
      inside.push_back(repeat[bit]);
  }
  access.address = withoutRegisterBits(offsets, inside);
  std::vector<Word> columns = access.address.columns();
  std::copy(lanes.begin(), lanes.end(),
            columns.begin() + offsets.inStart(Dim::Lane));
  access.address =
      LinearLayout(offsets.ins(), offsets.outs(), std::move(columns));
  // One matrix is one phase of 8 rows.
  std::vector<Word> phase = row;
  phase.insert(phase.end(), rows.begin(), rows.end());
  access.ways = bankConflictWays(phase, elementBits);
  return access;
}

SharedAccess bestLoad(const LinearLayout &registers, const LinearLayout &shared,
                      int elementBits) {
  SharedAccess best = vectorAccess(registers, shared, elementBits);
  auto cost = [](const SharedAccess &access) {
    return std::pair(access.wavefronts(),
                     access.instructions() + access.permutes());
  };
  for (bool transposed : {false, true})
    if (auto matrix =
            ldmatrixAccess(registers, shared, elementBits, transposed))
      // Prefer ldmatrix on a tie: its destination registers are independent. A
      // vector load writes consecutive registers, which may be in another order
      // than the fragment of an mma.
      if (cost(*matrix) <= cost(best))
        best = *matrix;
  return best;
}

} // namespace tessera::layout
