// dialect/layout/LinearLayout.cpp - the algebra of linear maps over F2.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "dialect/layout/LinearLayout.h"

#include <algorithm>
#include <bit>
#include <cassert>

namespace tessera::layout {

Dim tileDim(int axis) {
  if (axis < 0 || axis >= maxRank)
    throw LayoutError("axis " + std::to_string(axis) + " of a tile",
                      "a tile has at most " + std::to_string(maxRank) +
                          " axes");
  return static_cast<Dim>(static_cast<int>(Dim::Dim0) + axis);
}

const char *dimName(Dim dim) {
  static constexpr const char *names[] = {
      "register", "lane",  "warp",  "block", "offset", "dim0",  "dim1",
      "dim2",     "dim3",  "dim4",  "dim5",  "dim6",   "dim7",  "dim8",
      "dim9",     "dim10", "dim11", "dim12", "dim13",  "dim14", "dim15",
      "dim16",    "dim17", "dim18", "dim19"};
  static_assert(std::size(names) == size_t(Dim::Dim0) + maxRank);
  assert(static_cast<size_t>(dim) < std::size(names) &&
         "a dim that tileDim() did not make");
  return names[static_cast<int>(dim)];
}

int log2Exact(int64_t size, const std::string &what) {
  if (size < 1 || !std::has_single_bit(static_cast<uint64_t>(size)))
    throw LayoutError(what + " is " + std::to_string(size) +
                          ", not a power of two",
                      "layouts are defined for powers of two only");
  return std::countr_zero(static_cast<uint64_t>(size));
}

Extents tileExtents(const std::vector<int64_t> &shape) {
  Extents extents;
  for (size_t axis = 0; axis < shape.size(); ++axis)
    extents.push_back(
        {tileDim(static_cast<int>(axis)),
         log2Exact(shape[axis], "the size of axis " + std::to_string(axis))});
  return extents;
}

// --- Extents -----------------------------------------------------------------

static int totalBits(const Extents &extents) {
  int bits = 0;
  for (const Extent &extent : extents)
    bits += extent.bits;
  return bits;
}

static int bitsOf(const Extents &extents, Dim dim) {
  for (const Extent &extent : extents)
    if (extent.dim == dim)
      return extent.bits;
  return 0;
}

static bool has(const Extents &extents, Dim dim) {
  return std::any_of(extents.begin(), extents.end(),
                     [&](const Extent &e) { return e.dim == dim; });
}

static int startOf(const Extents &extents, Dim dim) {
  int start = 0;
  for (const Extent &extent : extents) {
    if (extent.dim == dim)
      return start;
    start += extent.bits;
  }
  return start;
}

static Word maskOf(int bits) {
  assert(bits >= 0 && "a mask of a negative number of bits");
  return bits >= 64 ? ~Word(0) : (Word(1) << bits) - 1;
}

static Word flatten(const Extents &extents, const Place &place) {
  Word flat = 0;
  for (const auto &[dim, index] : place) {
    const int bits = bitsOf(extents, dim);
    if (index < 0 || static_cast<Word>(index) > maskOf(bits))
      throw LayoutError("index " + std::to_string(index) + " of " +
                        dimName(dim) + ", which has " +
                        std::to_string(int64_t(1) << bits) + " values");
    if (bits)
      flat ^= static_cast<Word>(index) << startOf(extents, dim);
  }
  return flat;
}

// Reorders the bits of a flat word from the dims of `from` to those of `to`.
// Drops dims that `to` does not have; dims that only `to` has are 0.
static Word reflatten(const Extents &from, const Extents &to, Word flat) {
  Word result = 0;
  int start = 0;
  for (const Extent &extent : to) {
    const int bits = bitsOf(from, extent.dim);
    if (bits && extent.bits)
      result |= (flat >> startOf(from, extent.dim) & maskOf(bits)) << start;
    start += extent.bits;
  }
  return result;
}

static Extents select(const Extents &extents, const std::vector<Dim> &dims) {
  Extents result;
  for (Dim dim : dims)
    if (has(extents, dim))
      result.push_back({dim, bitsOf(extents, dim)});
  return result;
}

// --- Construction ------------------------------------------------------------

// Throws LayoutError if a place or an element has more than 63 bits: a Word
// must also be able to represent the number of places or elements.
static void expectWords(const Extents &ins, const Extents &outs) {
  if (totalBits(ins) > 63 || totalBits(outs) > 63)
    throw LayoutError("a layout of more than 2^63 places or elements");
}

LinearLayout::LinearLayout(const Bases &bases, const Sizes &outs) {
  for (const auto &[dim, size] : outs)
    outs_.push_back(
        {dim, log2Exact(size, std::string("the size of ") + dimName(dim))});
  expectWords({}, outs_);
  for (const auto &[dim, list] : bases) {
    ins_.push_back({dim, static_cast<int>(list.size())});
    for (const auto &basis : list) {
      if (basis.size() != outs_.size())
        throw LayoutError(std::string("a basis of ") + dimName(dim) + " has " +
                          std::to_string(basis.size()) +
                          " coordinates, the tile has " +
                          std::to_string(outs_.size()));
      Place place;
      for (size_t i = 0; i < basis.size(); ++i)
        place.emplace_back(outs_[i].dim, basis[i]);
      columns_.push_back(flatten(outs_, place));
    }
  }
  expectWords(ins_, outs_);
}

LinearLayout::LinearLayout(Extents ins, Extents outs, std::vector<Word> columns)
    : ins_(std::move(ins)), outs_(std::move(outs)),
      columns_(std::move(columns)) {
  if (totalBits(ins_) != static_cast<int>(columns_.size()))
    throw LayoutError("a layout of " + std::to_string(totalBits(ins_)) +
                      " input bits with " + std::to_string(columns_.size()) +
                      " bases");
  expectWords(ins_, outs_);
  for (Word column : columns_)
    if (column & ~maskOf(outBits()))
      throw LayoutError("a basis outside the layout's outputs");
}

int LinearLayout::inBits(Dim dim) const { return bitsOf(ins_, dim); }
int LinearLayout::outBits(Dim dim) const { return bitsOf(outs_, dim); }
int LinearLayout::outBits() const { return totalBits(outs_); }
bool LinearLayout::hasIn(Dim dim) const { return has(ins_, dim); }
int LinearLayout::inStart(Dim dim) const { return startOf(ins_, dim); }
int LinearLayout::outStart(Dim dim) const { return startOf(outs_, dim); }

std::vector<Word> LinearLayout::columns(Dim in) const {
  const auto begin = columns_.begin() + inStart(in);
  return {begin, begin + inBits(in)};
}

Word LinearLayout::flatIn(const Place &place) const {
  return flatten(ins_, place);
}
Word LinearLayout::flatOut(const Place &place) const {
  return flatten(outs_, place);
}

std::vector<int64_t> LinearLayout::outCoordinates(Word flat) const {
  std::vector<int64_t> result;
  for (const Extent &extent : outs_) {
    result.push_back(static_cast<int64_t>(flat & maskOf(extent.bits)));
    flat = extent.bits >= 64 ? 0 : flat >> extent.bits;
  }
  return result;
}

std::vector<int64_t> LinearLayout::at(const Place &place) const {
  return outCoordinates(apply(flatIn(place)));
}

std::vector<int64_t> LinearLayout::basis(Dim in, int bit) const {
  assert(bit >= 0 && bit < inBits(in) && "the dim does not have this bit");
  return outCoordinates(column(in, bit));
}

LinearLayout identity(int64_t size, Dim in, Dim out) {
  const int bits = log2Exact(size, std::string("the size of ") + dimName(in));
  std::vector<Word> columns;
  for (int i = 0; i < bits; ++i)
    columns.push_back(Word(1) << i);
  return {{{in, bits}}, {{out, bits}}, columns};
}

LinearLayout zeros(int64_t size, Dim in, Dim out) {
  const int bits = log2Exact(size, std::string("the size of ") + dimName(in));
  return {{{in, bits}}, {{out, 0}}, std::vector<Word>(bits, 0)};
}

LinearLayout emptyDims(const std::vector<Dim> &ins,
                       const std::vector<Dim> &outs) {
  Extents in, out;
  for (Dim dim : ins)
    in.push_back({dim, 0});
  for (Dim dim : outs)
    out.push_back({dim, 0});
  return {in, out, {}};
}

// --- Algebra -----------------------------------------------------------------

// Returns the dims of a, then those that only b has; the bits of a dim that
// both have are added.
static Extents sumOf(const Extents &a, const Extents &b) {
  Extents sum = a;
  for (const Extent &extent : b) {
    auto found = std::find_if(sum.begin(), sum.end(), [&](const Extent &e) {
      return e.dim == extent.dim;
    });
    if (found == sum.end())
      sum.push_back(extent);
    else
      found->bits += extent.bits;
  }
  return sum;
}

LinearLayout LinearLayout::operator*(const LinearLayout &right) const {
  const Extents ins = sumOf(ins_, right.ins_), outs = sumOf(outs_, right.outs_);
  expectWords(ins, outs);
  std::vector<Word> columns;
  for (const Extent &extent : ins) {
    for (Word column : this->columns(extent.dim))
      columns.push_back(reflatten(outs_, outs, column));
    for (Word column : right.columns(extent.dim)) {
      // The right side's coordinates use the bits above the left side's.
      Word shifted = 0;
      for (const Extent &out : right.outs_)
        if (out.bits)
          shifted |= (column >> right.outStart(out.dim) & maskOf(out.bits))
                     << (startOf(outs, out.dim) + outBits(out.dim));
      columns.push_back(shifted);
    }
  }
  return {ins, outs, columns};
}

LinearLayout &LinearLayout::operator*=(const LinearLayout &right) {
  return *this = *this * right;
}

LinearLayout LinearLayout::then(const LinearLayout &next) const {
  for (const Extent &out : outs_)
    if (out.bits > next.inBits(out.dim))
      throw LayoutError(std::string("composition: ") + dimName(out.dim) +
                        " has " + std::to_string(int64_t(1) << out.bits) +
                        " values on the left and " +
                        std::to_string(next.inSize(out.dim)) + " on the right");
  std::vector<Word> columns;
  for (Word column : columns_)
    columns.push_back(next.apply(reflatten(outs_, next.ins_, column)));
  return {ins_, next.outs_, columns};
}

LinearLayout LinearLayout::pseudoInverse() const {
  if (!isSurjective())
    throw LayoutError("a layout that misses elements has no inverse");
  const Span span(columns_);
  std::vector<Word> columns;
  for (int bit = 0; bit < outBits(); ++bit)
    columns.push_back(*span.solve(Word(1) << bit));
  return {outs_, ins_, columns};
}

LinearLayout LinearLayout::inverse() const {
  if (!isInjective())
    throw LayoutError("a layout with copies has no inverse",
                      "pseudoInverse() picks one of the places");
  return pseudoInverse();
}

LinearLayout LinearLayout::sublayout(const std::vector<Dim> &ins,
                                     const std::vector<Dim> &outs) const {
  const Extents in = select(ins_, ins), out = select(outs_, outs);
  std::vector<Word> columns;
  for (const Extent &extent : in)
    for (Word column : this->columns(extent.dim))
      columns.push_back(reflatten(outs_, out, column));
  return {in, out, columns};
}

static std::vector<Dim> dimsOf(const Extents &extents) {
  std::vector<Dim> dims;
  for (const Extent &extent : extents)
    dims.push_back(extent.dim);
  return dims;
}

static void expectPermutation(const Extents &extents,
                              const std::vector<Dim> &dims) {
  std::vector<Dim> a = dimsOf(extents), b = dims;
  std::sort(a.begin(), a.end());
  std::sort(b.begin(), b.end());
  if (a != b)
    throw LayoutError("a new order must name every dim of the layout once");
}

LinearLayout LinearLayout::reorderOuts(const std::vector<Dim> &outs) const {
  expectPermutation(outs_, outs);
  return sublayout(dimsOf(ins_), outs);
}

LinearLayout LinearLayout::pickBits(Dim in,
                                    const std::vector<int> &keep) const {
  Extents ins = ins_;
  std::vector<Word> columns;
  for (Extent &extent : ins) {
    if (extent.dim != in) {
      for (Word column : this->columns(extent.dim))
        columns.push_back(column);
      continue;
    }
    for (int bit : keep) {
      assert(bit >= 0 && bit < extent.bits && "the dim does not have this bit");
      columns.push_back(column(in, bit));
    }
    extent.bits = static_cast<int>(keep.size());
  }
  return {ins, outs_, columns};
}

// --- Questions ---------------------------------------------------------------

Word LinearLayout::freeBits(Dim in) const {
  Span span;
  Word mask = 0;
  const int start = inStart(in), end = start + inBits(in);
  for (int i = 0; i < end; ++i)
    if (!span.add(columns_[i]) && i >= start)
      mask |= Word(1) << (i - start);
  return mask;
}

bool LinearLayout::isZero(Dim in) const {
  const std::vector<Word> list = columns(in);
  return std::all_of(list.begin(), list.end(), [](Word c) { return c == 0; });
}

bool LinearLayout::isIdentity(Dim in, Dim out) const {
  if (inBits(in) != outBits(out))
    return false;
  const Word mask = outBits(out) ? maskOf(outBits(out)) << outStart(out) : 0;
  for (const Extent &extent : ins_)
    for (int bit = 0; bit < extent.bits; ++bit) {
      const Word column = this->column(extent.dim, bit);
      if (extent.dim == in ? column != Word(1) << (outStart(out) + bit)
                           : (column & mask) != 0)
        return false;
    }
  return true;
}

std::string LinearLayout::str() const {
  std::string text;
  for (const Extent &extent : ins_) {
    text += std::string(dimName(extent.dim)) + ":";
    for (int bit = 0; bit < extent.bits; ++bit) {
      text += " (";
      const auto coordinates = basis(extent.dim, bit);
      for (size_t i = 0; i < coordinates.size(); ++i)
        text += (i ? "," : "") + std::to_string(coordinates[i]);
      text += ")";
    }
    text += "\n";
  }
  text += "->";
  for (const Extent &extent : outs_)
    text += std::string(" ") + dimName(extent.dim) + ":" +
            std::to_string(int64_t(1) << extent.bits);
  return text + "\n";
}

} // namespace tessera::layout
