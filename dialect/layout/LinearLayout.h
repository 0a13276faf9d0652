// dialect/layout/LinearLayout.h - linear maps over F2 from places to elements.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
//
// A layout assigns the elements of a tile to *places*: registers, lanes, warps
// and blocks, or offsets in shared memory. All sizes are powers of two, so a
// place and an element are strings of bits. Every layout that the hardware
// requires is a *linear map over F2*: the element of a place is the XOR of one
// constant per set bit of the place. These constants, the *bases*, define the
// layout completely. The passes of codegen/gpu and the tools use this class.
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
// The map goes from place to element because several places may hold one
// element. A basis of zero means that places which differ only in this bit hold
// the same element. A layout in shared memory maps Offset to the element.
//
// Layouts are products of smaller ones. In `a * b` the bits of b follow those
// of a, so the factors of a product are in order from fastest to slowest:
//
//     LinearLayout row = identity(4, Dim::Register, Dim::Dim0) *
//                        identity(8, Dim::Lane, Dim::Dim0);
//
// is a row of 32 elements in which each lane holds 4 consecutive elements.
//
// docs/compiler/layouts.md explains every operation with an example.
#pragma once

#include "dialect/layout/F2.h"

#include <initializer_list>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace tessera::layout {

// Thrown if sizes do not match or a name is unknown. The compiler checks its
// input before it builds a layout; `tessera layout` prints the message.
class __attribute__((visibility("default"))) LayoutError
    : public std::runtime_error {
public:
  explicit LayoutError(std::string message, std::string hint = {})
      : std::runtime_error(hint.empty() ? message
                                        : message + "\nHINT: " + hint),
        message(std::move(message)), hint(std::move(hint)) {}

  std::string message, hint;
};

// A dimension of a layout: a level of the hardware, or an axis of a tile.
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
// A tile has at most 2^20 elements, so at most 20 axes have a size above 1.
constexpr int maxRank = 20;

// Returns Dim0 + axis. Throws LayoutError if axis is not below maxRank.
Dim tileDim(int axis);
const char *dimName(Dim dim);

// Returns log2(size). Throws LayoutError, which names `what`, if size is not a
// power of two.
int log2Exact(int64_t size, const std::string &what);

struct Extent {
  Dim dim;
  int bits; // the index runs over 2^bits values
  bool operator==(const Extent &) const = default;
};
using Extents = std::vector<Extent>;
// Returns the extents of a tile: Dim0 has size shape[0], and so on.
Extents tileExtents(const std::vector<int64_t> &shape);

// An index for some of the dims; the index of every other dim is 0.
using Place = std::vector<std::pair<Dim, int64_t>>;

class LinearLayout {
public:
  // For each input dim its bases; a basis has one coordinate per output dim.
  using Bases = std::vector<std::pair<Dim, std::vector<std::vector<int64_t>>>>;
  using Sizes = std::vector<std::pair<Dim, int64_t>>;

  // The empty layout: no input and no output bits, the identity of operator*.
  LinearLayout() = default;
  // Throws LayoutError if a basis exceeds the sizes of the outputs.
  LinearLayout(const Bases &bases, const Sizes &outs);
  // `columns` has one flat word (see below) per input bit.
  LinearLayout(Extents ins, Extents outs, std::vector<Word> columns);

  const Extents &ins() const { return ins_; }
  const Extents &outs() const { return outs_; }
  // Return 0 for a dim that the layout does not have: its only index is 0.
  int inBits(Dim dim) const;
  int outBits(Dim dim) const;
  int inBits() const { return static_cast<int>(columns_.size()); }
  int outBits() const;
  int64_t inSize(Dim dim) const { return int64_t(1) << inBits(dim); }
  int64_t outSize(Dim dim) const { return int64_t(1) << outBits(dim); }
  bool hasIn(Dim dim) const;

  // Returns the coordinates of the element at `place`, in the order of outs().
  std::vector<int64_t> at(const Place &place) const;
  std::vector<int64_t> basis(Dim in, int bit) const;

  // A flat word concatenates the bits of all ins (or outs); the first dim has
  // the lowest bits.
  const std::vector<Word> &columns() const { return columns_; }
  Word column(Dim in, int bit) const { return columns_[inStart(in) + bit]; }
  // Returns the columns of one input dim.
  std::vector<Word> columns(Dim in) const;
  Word apply(Word in) const { return multiply(columns_, in); }
  // Return the position of the lowest bit of a dim in a flat word.
  int inStart(Dim dim) const;
  int outStart(Dim dim) const;
  Word flatIn(const Place &place) const;
  Word flatOut(const Place &place) const;
  std::vector<int64_t> outCoordinates(Word flat) const;

  // --- Algebra ---------------------------------------------------------------

  // Returns the direct sum. In a dim that both layouts have, the bits of
  // `right` are above those of this layout.
  LinearLayout operator*(const LinearLayout &right) const;
  LinearLayout &operator*=(const LinearLayout &right);
  // Returns the composition next(this(place)). Inputs of `next` that this
  // layout does not produce are 0. Throws LayoutError if an output of this
  // layout is larger than the input of `next`.
  LinearLayout then(const LinearLayout &next) const;
  // Returns the inverse. Throws LayoutError unless isInvertible().
  LinearLayout inverse() const;
  // Returns a right inverse: maps an element to its one place that has 0 in
  // every bit of freeBits(). Throws LayoutError unless isSurjective().
  LinearLayout pseudoInverse() const;
  // Maps a place of this layout to the place of the same element in `other`.
  LinearLayout thenInverse(const LinearLayout &other) const {
    return then(other.pseudoInverse());
  }
  // Returns the layout restricted to these dims: other inputs are 0 and other
  // coordinates are dropped.
  LinearLayout sublayout(const std::vector<Dim> &ins,
                         const std::vector<Dim> &outs) const;
  // Returns the same layout with its output dims in the order `outs`. Throws
  // LayoutError unless `outs` is a permutation of the output dims.
  LinearLayout reorderOuts(const std::vector<Dim> &outs) const;
  // Returns the layout with input bits of `in` permuted or dropped: bit i of
  // the result is bit keep[i] of this layout. Renumbering registers needs no
  // instruction.
  LinearLayout pickBits(Dim in, const std::vector<int> &keep) const;

  // --- Questions -------------------------------------------------------------

  int rank() const { return rankOf(columns_); }
  // Returns a basis of the flat inputs that map to 0.
  std::vector<Word> kernel() const { return kernelOf(columns_); }
  bool isSurjective() const { return rank() == outBits(); }
  bool isInjective() const { return rank() == inBits(); }
  bool isInvertible() const { return isSurjective() && isInjective(); }
  // Returns the mask of the bits of `in` that only replicate elements: their
  // basis is the XOR of bases of earlier bits, of this dim or a dim before it.
  // If only the places with 0 in these bits (of every dim) store, each element
  // is written once.
  Word freeBits(Dim in) const;
  bool isZero(Dim in) const;
  // True if `in` and `out` have the same size, index i of `in` maps to index i
  // of `out` and to 0 in all other outputs, and no other input affects `out`.
  bool isIdentity(Dim in, Dim out) const;
  bool operator==(const LinearLayout &) const = default;

  // Returns one line per input dim, such as "register: (0,1) (8,0)", and a last
  // line with the sizes of the outputs.
  std::string str() const;

private:
  Extents ins_, outs_;
  std::vector<Word> columns_;
};

// Returns the layout that maps index i of `in` to index i of `out`.
LinearLayout identity(int64_t size, Dim in, Dim out);
// Returns a layout in which all `size` indices of `in` hold the same element;
// `out` has size 1.
LinearLayout zeros(int64_t size, Dim in, Dim out);
// Returns a layout of dims of size 1, which fixes the order of the dims of a
// product.
LinearLayout emptyDims(const std::vector<Dim> &ins,
                       const std::vector<Dim> &outs);

} // namespace tessera::layout
