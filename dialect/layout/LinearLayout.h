// dialect/layout/LinearLayout.h - linear maps over F2 from places to elements.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
//
// A tile of a kernel is spread over the registers of the lanes of the warps of
// a block. All sizes are powers of two, so a place and an element are strings
// of bits, and every spread that hardware asks for is a *linear map over F2*:
// the element of a place is the XOR of one constant per set bit of the place.
// These constants are the layout's *bases*, and they are all there is to it.
//
// The accumulator of mma.m16n8 (PTX ISA, "Matrix Fragments for mma.m16n8k16"):
//
//     LinearLayout acc({{Dim::Register, {{0, 1}, {8, 0}}},
//                       {Dim::Lane, {{0, 2}, {0, 4}, {1, 0}, {2, 0}, {4, 0}}}},
//                      {{Dim::Dim0, 16}, {Dim::Dim1, 8}});
//     EXPECT_EQ(acc.at({{Dim::Register, 2}, {Dim::Lane, 5}}), (Element{9, 2}));
//
// Lane 5 = 0b00101 and register 2 = 0b10: (0,2) ^ (1,0) ^ (8,0) = (9,2).
//
// Place -> element is the useful direction because one element may lie in many
// places: a basis of zero says that the bit only makes copies. A layout in
// shared memory maps Offset to the element in the same way.
//
// Layouts are built from small ones. In `a * b` the bits of b follow those of
// a, so a product is read from the fastest part to the slowest:
//
//     LinearLayout row = identity(4, Dim::Register, Dim::Dim0) *
//                        identity(8, Dim::Lane, Dim::Dim0);
//
// is a row of 32 elements, 4 neighbours to a lane.
//
// docs/compiler/layouts.md has the rest, with an example for every operation.
#pragma once

#include "dialect/layout/F2.h"

#include <initializer_list>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace tessera::layout {

// Sizes that do not fit, names that do not exist. The compiler rules these out
// before it builds a layout; `tessera layout` shows them.
class __attribute__((visibility("default"))) LayoutError
    : public std::runtime_error {
public:
  explicit LayoutError(std::string message, std::string hint = {})
      : std::runtime_error(hint.empty() ? message
                                        : message + "\nHINT: " + hint),
        message(std::move(message)), hint(std::move(hint)) {}

  std::string message, hint;
};

// Where an index counts: places in the hardware, or an axis of a tile.
enum class Dim : uint8_t {
  Register, // value in a lane
  Lane,     // thread in a warp, 0 to 31
  Warp,     // warp in a block
  Block,    // block in a cluster
  Offset,   // element in shared memory
  Dim0,     // axes of the tile, outermost first: Dim0 + axis
  Dim1,
  Dim2,
};
// A tile has at most 2^20 elements, so more axes would have size 1.
constexpr int maxRank = 20;

// Dim0 + axis; LayoutError past maxRank.
Dim tileDim(int axis);
const char *dimName(Dim dim);

// log2 of a power of two; LayoutError naming `what` for anything else.
int log2Exact(int64_t size, const std::string &what);

struct Extent {
  Dim dim;
  int bits; // the index runs over 2^bits values
  bool operator==(const Extent &) const = default;
};
using Extents = std::vector<Extent>;
// Extents of a tile: Dim0 of size shape[0], and so on.
Extents tileExtents(const std::vector<int64_t> &shape);

// An index for some of the dims; those not named are 0.
using Place = std::vector<std::pair<Dim, int64_t>>;

class LinearLayout {
public:
  // The bases of one input dim: coordinates of the outputs, in their order.
  using Bases = std::vector<std::pair<Dim, std::vector<std::vector<int64_t>>>>;
  using Sizes = std::vector<std::pair<Dim, int64_t>>;

  // No bits in, no bits out: the 1 of the product.
  LinearLayout() = default;
  // LayoutError when a basis is outside the outputs' sizes.
  LinearLayout(const Bases &bases, const Sizes &outs);
  // Columns: one word per input bit; see flat words below.
  LinearLayout(Extents ins, Extents outs, std::vector<Word> columns);

  const Extents &ins() const { return ins_; }
  const Extents &outs() const { return outs_; }
  // 0 for a dim that is not there: it has the one index 0.
  int inBits(Dim dim) const;
  int outBits(Dim dim) const;
  int inBits() const { return static_cast<int>(columns_.size()); }
  int outBits() const;
  int64_t inSize(Dim dim) const { return int64_t(1) << inBits(dim); }
  int64_t outSize(Dim dim) const { return int64_t(1) << outBits(dim); }
  bool hasIn(Dim dim) const;

  // The element at a place, coordinates in the order of outs().
  std::vector<int64_t> at(const Place &place) const;
  std::vector<int64_t> basis(Dim in, int bit) const;

  // Flat words: all bits of the ins (outs), the first dim in the lowest bits.
  const std::vector<Word> &columns() const { return columns_; }
  Word column(Dim in, int bit) const { return columns_[inStart(in) + bit]; }
  // The columns of one input dim.
  std::vector<Word> columns(Dim in) const;
  Word apply(Word in) const { return multiply(columns_, in); }
  // The lowest bit of a dim in a flat word.
  int inStart(Dim dim) const;
  int outStart(Dim dim) const;
  Word flatIn(const Place &place) const;
  Word flatOut(const Place &place) const;
  std::vector<int64_t> outCoordinates(Word flat) const;

  // --- Algebra ---------------------------------------------------------------

  // Direct sum. A dim that both have gets the bits of the right side above
  // those of the left side.
  LinearLayout operator*(const LinearLayout &right) const;
  LinearLayout &operator*=(const LinearLayout &right);
  // First this, then `next`: its ins are outs of this (dims that only one side
  // has must be of size 1).
  LinearLayout then(const LinearLayout &next) const;
  // LayoutError unless isInvertible().
  LinearLayout inverse() const;
  // A right inverse of a surjective map: of all places of an element the one
  // that pseudoInverse() names has 0 in every bit of freeBits().
  LinearLayout pseudoInverse() const;
  // Where in `other` lies what this map holds at a place:
  // this->then(other.pseudoInverse()).
  LinearLayout thenInverse(const LinearLayout &other) const {
    return then(other.pseudoInverse());
  }
  // Only these dims; other inputs are 0, other coordinates are dropped.
  LinearLayout sublayout(const std::vector<Dim> &ins,
                         const std::vector<Dim> &outs) const;
  // Output dims in another order (a permutation of all of them).
  LinearLayout reorderOuts(const std::vector<Dim> &outs) const;
  // The input bits of a dim in another order, or fewer: bit i of the result is
  // bit keep[i] of this. Renumbering registers is free.
  LinearLayout pickBits(Dim in, const std::vector<int> &keep) const;

  // --- Questions -------------------------------------------------------------

  int rank() const { return rankOf(columns_); }
  // A basis of the flat inputs that map to 0.
  std::vector<Word> kernel() const { return kernelOf(columns_); }
  bool isSurjective() const { return rank() == outBits(); }
  bool isInjective() const { return rank() == inBits(); }
  bool isInvertible() const { return isSurjective() && isInjective(); }
  // Bits of a dim that only make copies: their basis is the sum of earlier ones
  // (of this dim or a dim before it). A store by the places that have 0 there
  // writes every element once.
  Word freeBits(Dim in) const;
  bool isZero(Dim in) const;
  // Index i of `in` goes to index i of `out` and nowhere else, nothing else
  // goes to `out`, and both have the same size.
  bool isIdentity(Dim in, Dim out) const;
  bool operator==(const LinearLayout &) const = default;

  // One line per input dim: "register: (0,1) (8,0)".
  std::string str() const;

private:
  Extents ins_, outs_;
  std::vector<Word> columns_;
};

// in -> out, index i to index i.
LinearLayout identity(int64_t size, Dim in, Dim out);
// `in` only makes copies; `out` of size 1.
LinearLayout zeros(int64_t size, Dim in, Dim out);
// A dim without bits, to fix an order of dims before a product.
LinearLayout emptyDims(const std::vector<Dim> &ins,
                       const std::vector<Dim> &outs);

} // namespace tessera::layout
