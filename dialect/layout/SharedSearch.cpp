// dialect/layout/SharedSearch.cpp - segments that avoid two subspaces.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "dialect/layout/SharedSearch.h"

#include <algorithm>
#include <bit>
#include <tuple>

namespace tessera::layout {

int64_t SharedTrip::bytes() const {
  return (int64_t(store.elementBits) << scratch.inBits(Dim::Offset)) / 8;
}
int SharedTrip::wavefronts() const {
  return iterationCount() * (store.wavefronts() + load.wavefronts());
}
int SharedTrip::instructions() const {
  return iterationCount() * (store.instructions() + load.instructions());
}

// Returns, in order, at most `count` of the candidates, each of which is
// outside the span of `base` and the candidates returned before it.
static std::vector<Word> extend(Span base, const std::vector<Word> &candidates,
                                size_t count) {
  std::vector<Word> chosen;
  for (Word v : candidates) {
    if (chosen.size() == count)
      break;
    if (base.add(v))
      chosen.push_back(v);
  }
  return chosen;
}

static std::vector<Word> joined(std::vector<Word> a,
                                const std::vector<Word> &b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

std::vector<Word> findOffsetBases(const std::vector<Word> &space,
                                  const std::vector<Word> &low,
                                  const std::vector<Word> &p,
                                  const std::vector<Word> &q,
                                  int segmentStart) {
  const size_t dim = rankOf(space);
  const size_t inSegment = dim - std::min<size_t>(dim, segmentStart);
  // Prefer vectors of `space`: its single tile bits come first, and a basis of
  // one bit needs no XOR in an address.
  const std::vector<Word> all = joined(low, joined(p, q));
  std::vector<Word> segment = extend(Span(all), space, inSegment);
  if (segment.size() < inSegment) {
    // Pair vectors outside span(low) first. A sum with a vector of span(low)
    // would make the other side's vector accesses unaligned.
    const std::vector<Word> both = intersection(p, q);
    auto parts = [&](const std::vector<Word> &side) {
      const std::vector<Word> outside =
          extend(Span(joined(both, low)), side, 64);
      return joined(outside, extend(Span(joined(both, outside)), side, 64));
    };
    const std::vector<Word> ps = parts(p), qs = parts(q);
    // A sum of two vectors of span(low) is in span(low): the segment cannot
    // use it.
    Span taken(joined(low, segment));
    for (size_t i = 0; i < std::min(ps.size(), qs.size()); ++i)
      if (segment.size() < inSegment && taken.add(ps[i] ^ qs[i]))
        segment.push_back(ps[i] ^ qs[i]);
  }
  // If P or Q is larger than 128 bytes, the sums do not suffice. The remaining
  // vectors cause bank conflicts but are independent of the low bits.
  segment = joined(segment, extend(Span(joined(low, segment)), space,
                                   inSegment - segment.size()));
  const std::vector<Word> banks =
      extend(Span(joined(low, segment)), joined(p, joined(q, space)),
             dim - low.size() - segment.size());
  return joined(low, joined(banks, segment));
}

namespace {

// The widths of the store and the load that a layout must make possible; the
// search builds one layout per choice.
struct Choice {
  std::vector<Word> low; // bases of the lowest offset bits, in order
  size_t stored = 0;     // log2 of the elements that a lane stores at once
  size_t loaded = 0;     // the same for the load (AccessKind::Vector only)
  AccessKind load = AccessKind::Vector;
};

class Search {
public:
  Search(const LinearLayout &src, const LinearLayout &dst,
         const SearchOptions &options)
      : src(src), dst(dst), options(options), bits(options.elementBits) {}

  SharedTrip best();

private:
  std::vector<Choice> choices() const;
  void addVectors(std::vector<Choice> &list) const;
  void addMatrices(std::vector<Choice> &list) const;
  std::optional<SharedTrip> build(const Choice &choice) const;
  void chooseIterations(const Choice &choice, std::vector<int> &srcIterations,
                        std::vector<int> &dstIterations,
                        std::vector<Word> &elements) const;

  const LinearLayout &src, &dst;
  const SearchOptions &options;
  const int bits;
};

} // namespace

static std::vector<Word> remaining(const LinearLayout &layout,
                                   const std::vector<int> &iterations) {
  std::vector<Word> columns;
  for (const Extent &in : layout.ins())
    for (int bit = 0; bit < in.bits; ++bit)
      if (in.dim != Dim::Register ||
          !std::count(iterations.begin(), iterations.end(), bit))
        columns.push_back(layout.column(in.dim, bit));
  return columns;
}

static bool in(const std::vector<Word> &list, Word v) {
  return v && std::count(list.begin(), list.end(), v);
}

static std::vector<Word> first(const std::vector<Word> &list, size_t count) {
  return {list.begin(), list.begin() + count};
}

// Appends choices of vector loads. The low bits are register bits that src and
// dst share, then register bits of only one of them.
void Search::addVectors(std::vector<Choice> &list) const {
  const std::vector<Word> from = src.columns(Dim::Register),
                          to = dst.columns(Dim::Register);
  const size_t most = std::countr_zero(unsigned(128 / bits)); // 16 bytes
  if (options.storedBits >= 0) {
    Choice choice;
    choice.stored =
        std::min<size_t>({size_t(options.storedBits), from.size(), most});
    choice.low = first(from, choice.stored);
    while (choice.loaded < choice.low.size() &&
           in(to, choice.low[choice.loaded]))
      ++choice.loaded;
    list.push_back(choice);
    if (choice.loaded == choice.stored) // the load may be wider than the store
      for (Word v : to)
        if (!in(choice.low, v) && choice.low.size() < most) {
          choice.low.push_back(v);
          choice.loaded = choice.low.size();
          list.push_back(choice);
        }
    // Narrower loads are alternatives: build() rejects unaligned ones.
    for (Choice &shorter : std::vector<Choice>(list))
      for (; shorter.loaded > 0;) {
        --shorter.loaded;
        list.push_back(shorter);
      }
    return;
  }
  std::vector<Word> common, onlySrc, onlyDst;
  for (Word v : from)
    (in(to, v) ? common : onlySrc).push_back(v);
  for (Word v : to)
    if (!in(from, v))
      onlyDst.push_back(v);
  for (size_t shared = 0; shared <= std::min(common.size(), most); ++shared)
    for (const auto *more : {&onlySrc, &onlyDst})
      for (size_t extra = 0; extra <= std::min(more->size(), most - shared);
           ++extra) {
        Choice choice;
        choice.low = joined(first(common, shared), first(*more, extra));
        choice.stored = more == &onlySrc ? choice.low.size() : shared;
        choice.loaded = more == &onlyDst ? choice.low.size() : shared;
        list.push_back(choice);
      }
}

// Appends choices of ldmatrix loads, whose low bits are the 16-byte rows of the
// destination's 8x8 matrices.
void Search::addMatrices(std::vector<Choice> &list) const {
  const std::vector<Word> from = src.columns(Dim::Register),
                          to = dst.columns(Dim::Register),
                          lanes = dst.columns(Dim::Lane);
  if (!options.ldmatrix || bits > 32 || lanes.size() != 5)
    return;
  const size_t packed = std::countr_zero(32u / bits);
  if (to.size() < packed)
    return;
  Choice plain, trans;
  plain.load = AccessKind::Ldmatrix;
  plain.low = joined(first(to, packed), first(lanes, 2));
  trans.load = AccessKind::LdmatrixTrans;
  trans.low.assign(lanes.begin() + 2, lanes.end());
  for (Choice choice : {plain, trans}) {
    if ((choice.load == AccessKind::LdmatrixTrans && bits != 16) ||
        rankOf(choice.low) != static_cast<int>(choice.low.size()))
      continue;
    if (options.storedBits >= 0) {
      choice.stored = std::min(size_t(options.storedBits), from.size());
      if (choice.stored <= choice.low.size() &&
          first(from, choice.stored) == first(choice.low, choice.stored))
        list.push_back(choice);
      continue;
    }
    size_t prefix = 0;
    while (prefix < choice.low.size() && in(from, choice.low[prefix]))
      ++prefix;
    for (size_t stored = 0; stored <= prefix; ++stored) {
      choice.stored = stored;
      list.push_back(choice);
    }
  }
}

std::vector<Choice> Search::choices() const {
  std::vector<Choice> list;
  addVectors(list);
  addMatrices(list);
  return list;
}

void Search::chooseIterations(const Choice &choice,
                              std::vector<int> &srcIterations,
                              std::vector<int> &dstIterations,
                              std::vector<Word> &elements) const {
  int64_t bytes = (int64_t(bits) << src.outBits()) / 8;
  for (int i = src.inBits(Dim::Register) - 1;
       i >= 0 && bytes > options.maxBytes; --i) {
    const Word v = src.column(Dim::Register, i);
    if (std::count(choice.low.begin(), choice.low.end(), v))
      continue;
    for (int j = 0; j < dst.inBits(Dim::Register); ++j) {
      if (dst.column(Dim::Register, j) != v)
        continue;
      // An iteration must store every element that it loads. Then it also loads
      // every element that it stores: the remaining bits of dst reach all
      // dimensions but that of v.
      std::vector<int> a = srcIterations, b = dstIterations;
      a.push_back(i);
      b.push_back(j);
      const Span stored(remaining(src, a)), loaded(remaining(dst, b));
      if (stored.contains(v) || !stored.contains(loaded))
        continue;
      if (!stored.contains(Span(choice.low)))
        continue;
      srcIterations = a;
      dstIterations = b;
      elements.push_back(v);
      bytes /= 2;
      break;
    }
  }
}

std::optional<SharedTrip> Search::build(const Choice &choice) const {
  SharedTrip trip;
  std::vector<int> srcIterations, dstIterations;
  chooseIterations(choice, srcIterations, dstIterations, trip.iterations);
  const std::vector<Word> columns = remaining(src, srcIterations);
  // A basis of the elements of one iteration. Single tile bits come first, if
  // they are in its span.
  std::vector<Word> space;
  const Span span(columns);
  for (int bit = 0; bit < src.outBits(); ++bit)
    if (span.contains(Word(1) << bit))
      space.push_back(Word(1) << bit);
  space = extend(Span(), joined(space, columns), 64);

  // If a lane's elements are less than a 32-bit word, elements of other lanes
  // fill the word.
  std::vector<Word> low = choice.low;
  const size_t word = bits < 32 ? std::countr_zero(32u / bits) : 0;
  if (low.size() < word)
    low = joined(low, extend(Span(low), joined(src.columns(Dim::Lane), space),
                             word - low.size()));
  const std::vector<Word> words(low.begin(),
                                low.begin() + std::min(word, low.size()));
  auto phase = [&](const LinearLayout &layout, size_t vector) {
    std::vector<Word> touched =
        joined(words, std::vector<Word>(low.begin(), low.begin() + vector));
    const int bytes = std::max(4, (bits << vector) / 8);
    const int lanes = std::min(5 - std::countr_zero(unsigned(bytes / 4)),
                               layout.inBits(Dim::Lane));
    const auto all = layout.columns(Dim::Lane);
    return joined(touched, {all.begin(), all.begin() + lanes});
  };
  const std::vector<Word> p = phase(src, choice.stored);
  std::vector<Word> q;
  if (choice.load == AccessKind::Vector)
    q = phase(dst, choice.loaded);
  else {
    // A matrix has 8 rows of 16 bytes; register bits of the packed elements and
    // lane bits number its elements.
    q = joined(low, dst.columns(Dim::Lane));
    for (size_t i = 0; i < word; ++i)
      q.push_back(dst.column(Dim::Register, static_cast<int>(i)));
  }
  const int segmentStart = std::countr_zero(unsigned(1024 / bits));
  const std::vector<Word> bases =
      findOffsetBases(space, low, p, q, segmentStart);
  trip.scratch = LinearLayout({{Dim::Offset, static_cast<int>(bases.size())}},
                              src.outs(), bases);
  trip.store = vectorAccess(src, trip.scratch, bits,
                            (bits << choice.stored) / 8, srcIterations);
  // If another bit changes the offset within the vector, the vector is not
  // aligned: reject the choice.
  if (trip.store.vectorBits.size() != choice.stored)
    return std::nullopt;
  if (choice.load == AccessKind::Vector) {
    trip.load = vectorAccess(dst, trip.scratch, bits,
                             (bits << choice.loaded) / 8, dstIterations);
    if (trip.load.vectorBits.size() != choice.loaded)
      return std::nullopt;
    return trip;
  }
  auto load =
      ldmatrixAccess(dst, trip.scratch, bits,
                     choice.load == AccessKind::LdmatrixTrans, dstIterations);
  if (!load)
    return std::nullopt;
  trip.load = *load;
  return trip;
}

SharedTrip Search::best() {
  std::optional<SharedTrip> best;
  // Operands of a dot have at least two axes.
  const bool matrices = src.outs().size() >= 2;
  auto rank = [&](const SharedTrip &trip) {
    const int aside = trip.store.permutes() + trip.load.permutes() +
                      (matrices ? trip.load.moves() : 0);
    // Fitting into maxBytes has priority over speed.
    return std::tuple(std::max(trip.bytes(), options.maxBytes),
                      trip.wavefronts(),
                      trip.instructions() + trip.iterationCount() * aside,
                      trip.load.instructions(),
                      matrices == (trip.load.kind == AccessKind::Vector));
  };
  for (const Choice &choice : choices()) {
    auto trip = build(choice);
    if (trip && (!best || rank(*trip) < rank(*best)))
      best = std::move(trip);
  }
  if (!best)
    throw LayoutError("no shared layout for stores of " +
                          std::to_string(1 << options.storedBits) + " elements",
                      "the source does not keep them aligned");
  return *best;
}

SharedTrip findSharedTrip(const LinearLayout &src, const LinearLayout &dst,
                          const SearchOptions &options) {
  for (const LinearLayout *layout : {&src, &dst})
    if (!layout->isSurjective() ||
        rankOf(layout->columns(Dim::Register)) != layout->inBits(Dim::Register))
      throw LayoutError("a trip through shared memory between layouts that "
                        "miss elements or hold some twice in a lane");
  if (src.outs() != dst.outs())
    throw LayoutError("a trip through shared memory between tiles of "
                      "different shapes");
  log2Exact(options.elementBits, "the width of an element");
  if (options.elementBits < 8 || options.elementBits > 128)
    throw LayoutError("elements of " + std::to_string(options.elementBits) +
                          " bits in shared memory",
                      "8 to 128 bits; i1 is stored as a byte");
  return Search(src, dst, options).best();
}

} // namespace tessera::layout
