// dialect/layout/Conversion.cpp - registers, shuffles or shared memory.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "dialect/layout/Conversion.h"

#include "dialect/layout/ShapeOps.h"

#include <algorithm>
#include <bit>

namespace tessera::layout {

const char *conversionName(ConversionKind kind) {
  static constexpr const char *names[] = {"none", "registers", "movmatrix",
                                          "shuffle", "shared memory"};
  return names[static_cast<int>(kind)];
}

static LinearLayout canonical(const LinearLayout &layout) {
  for (const Extent &in : layout.ins())
    if (in.dim != Dim::Register && in.dim != Dim::Lane && in.dim != Dim::Warp)
      throw LayoutError(std::string("a conversion of a layout with ") +
                            dimName(in.dim),
                        "only register, lane and warp are converted");
  // The product adds the missing dims and fixes their order.
  return emptyDims({Dim::Register, Dim::Lane, Dim::Warp}, {}) * layout;
}

// Returns the map from the registers of dropReplication(layout) to the
// registers of `layout`.
static LinearLayout keptRegisters(const LinearLayout &layout) {
  Span span;
  std::vector<Word> columns;
  for (int i = 0; i < layout.inBits(Dim::Register); ++i)
    if (span.add(layout.column(Dim::Register, i)))
      columns.push_back(Word(1) << i);
  return {{{Dim::Register, static_cast<int>(columns.size())}},
          {{Dim::Register, layout.inBits(Dim::Register)}},
          columns};
}

// Returns the map from each place of dst to a place of src with the same
// element. For every bit of dst with basis e it solves src(x) = e: in the same
// lane and warp if possible, then in the same warp, then in any warp. src must
// not have replication within a lane.
static LinearLayout nearest(const LinearLayout &src, const LinearLayout &dst) {
  const int regs = src.inBits(Dim::Register), lanes = src.inBits(Dim::Lane);
  const Span inLane(src.columns(Dim::Register));
  Span inWarp = inLane, everywhere;
  for (Word v : src.columns(Dim::Lane))
    inWarp.add(v);
  for (Word v : src.columns())
    everywhere.add(v);
  std::vector<Word> columns;
  for (const Extent &in : dst.ins())
    for (int bit = 0; bit < in.bits; ++bit) {
      const Word e = dst.column(in.dim, bit);
      Word here = 0; // the same bit of the source
      if (in.dim == Dim::Lane)
        here = Word(1) << (regs + bit);
      else if (in.dim == Dim::Warp)
        here = Word(1) << (regs + lanes + bit);
      if (auto x = inLane.solve(e ^ src.apply(here)))
        columns.push_back(*x ^ here);
      else if (in.dim != Dim::Lane && (x = inWarp.solve(e ^ src.apply(here))))
        columns.push_back(*x ^ here);
      else if (in.dim == Dim::Lane && (x = inWarp.solve(e)))
        columns.push_back(*x);
      else
        columns.push_back(*everywhere.solve(e));
    }
  return {dst.ins(), src.ins(), columns};
}

namespace {

// Accessors for the columns of `from`, restricted to one output dim.
struct Parts {
  explicit Parts(const LinearLayout &from) : map(from) {}

  Word registers(Dim in, int bit) const { return part(in, bit, Dim::Register); }
  Word lanes(Dim in, int bit) const { return part(in, bit, Dim::Lane); }
  Word warps(Dim in, int bit) const { return part(in, bit, Dim::Warp); }
  std::vector<Word> all(Dim in, Dim out) const {
    std::vector<Word> columns;
    for (int bit = 0; bit < map.inBits(in); ++bit)
      columns.push_back(part(in, bit, out));
    return columns;
  }
  // True if the index of this dim is the same for the result and the source.
  bool keeps(Dim dim) const {
    for (const Extent &in : map.ins())
      for (int bit = 0; bit < in.bits; ++bit)
        if (part(in.dim, bit, dim) != (in.dim == dim ? Word(1) << bit : 0))
          return false;
    return map.inBits(dim) == map.outBits(dim);
  }

  const LinearLayout &map;

private:
  Word part(Dim in, int bit, Dim out) const {
    const int bits = map.outBits(out);
    return bits ? map.column(in, bit) >> map.outStart(out) &
                      ((Word(1) << bits) - 1)
                : 0;
  }
};

} // namespace

// Returns the map (register, lane, warp) -> `out` with the given columns.
static LinearLayout mapTo(const LinearLayout &like, Dim out, int bits,
                          const std::vector<Word> &registers,
                          const std::vector<Word> &lanes,
                          const std::vector<Word> &warps) {
  std::vector<Word> columns = registers;
  columns.insert(columns.end(), lanes.begin(), lanes.end());
  columns.insert(columns.end(), warps.begin(), warps.end());
  return {like.ins(), {{out, bits}}, columns};
}

// Returns the shuffles for `from`, a map (register, lane, warp) -> (register,
// lane, warp) that keeps the warp. Returns nullopt if shuffles cannot do it.
//
// In step s, lane l of warp w receives its register r = s + F l (+ is XOR). F
// is chosen so that different lanes l read different lanes m, as far as there
// are registers for it. Then lane m computes the register to send from its own
// number: X m + Y s + Z w.
static std::optional<ShufflePlan> planShuffle(const LinearLayout &from,
                                              int elementBits) {
  const Parts parts(from);
  const int regs = from.inBits(Dim::Register), lanes = from.inBits(Dim::Lane);
  const int sourceRegs = from.outBits(Dim::Register);
  const std::vector<Word> laneOfReg = parts.all(Dim::Register, Dim::Lane),
                          regOfReg = parts.all(Dim::Register, Dim::Register);
  std::vector<Word> source = parts.all(Dim::Lane, Dim::Lane),
                    wanted = parts.all(Dim::Lane, Dim::Register);
  // Combine dependent lane bits with register bits to separate source lanes.
  std::vector<Word> shift(lanes, 0);
  Span reached;
  std::vector<int> dependent;
  for (int j = 0; j < lanes; ++j)
    if (!reached.add(source[j]))
      dependent.push_back(j);
  int used = 0;
  for (int j : dependent)
    for (int i = 0; i < regs; ++i) {
      if (!reached.add(laneOfReg[i]))
        continue;
      shift[j] = Word(1) << i;
      source[j] ^= laneOfReg[i];
      wanted[j] ^= regOfReg[i];
      ++used;
      break;
    }
  // X maps the source lane to the register to send: wanted = X source.
  Span sources;
  std::vector<Word> known;
  for (int j = 0; j < lanes; ++j) {
    if (auto sum = sources.solve(source[j])) {
      if (multiply(known, *sum) != wanted[j])
        return std::nullopt; // two lanes need different registers of one lane
    }
    sources.add(source[j]);
    known.push_back(wanted[j]);
  }
  for (int j = 0; j < lanes; ++j) // no lane reads these lanes: any value
    if (sources.add(Word(1) << j))
      known.push_back(0);
    else
      known.push_back(0);
  std::vector<Word> x;
  for (int j = 0; j < lanes; ++j)
    x.push_back(multiply(known, *sources.solve(Word(1) << j)));
  std::vector<Word> y, z;
  for (int i = 0; i < regs; ++i)
    y.push_back(regOfReg[i] ^ multiply(x, laneOfReg[i]));
  for (int w = 0; w < from.inBits(Dim::Warp); ++w)
    z.push_back(parts.registers(Dim::Warp, w) ^
                multiply(x, parts.lanes(Dim::Warp, w)));
  std::vector<Word> step, none(from.inBits(Dim::Warp), 0);
  for (int i = 0; i < regs; ++i)
    step.push_back(Word(1) << i);

  ShufflePlan plan;
  plan.send = mapTo(from, Dim::Register, sourceRegs, y, x, z);
  plan.source = mapTo(from, Dim::Lane, from.outBits(Dim::Lane), laneOfReg,
                      source, parts.all(Dim::Warp, Dim::Lane));
  plan.receive = mapTo(from, Dim::Register, regs, step, shift, none);
  plan.steps = 1 << regs;
  bool stays = true;
  for (int j = 0; j < lanes; ++j)
    stays &= source[j] == Word(1) << j;
  for (int w = 0; w < from.inBits(Dim::Warp); ++w)
    stays &= parts.lanes(Dim::Warp, w) == 0;
  plan.shuffles = plan.steps - (stays ? plan.steps >> rankOf(laneOfReg) : 0);

  // Pack register bits that do not change the source lane and that no select
  // depends on.
  Word chosen = 0, taken = 0;
  for (const auto *list : {&x, &z})
    for (Word v : *list)
      chosen |= v;
  for (Word v : shift)
    taken |= v;
  for (int i = 0; i < regs && (elementBits << plan.packedBits.size()) < 32; ++i)
    if (!laneOfReg[i] && std::has_single_bit(y[i]) && !(y[i] & chosen) &&
        !(taken >> i & 1) && std::count(y.begin(), y.end(), y[i]) == 1)
      plan.packedBits.push_back(i);
  return plan;
}

static void costShuffle(const ShufflePlan &plan, int elementBits,
                        ConversionCost &cost) {
  auto rankOver = [&](const LinearLayout &map) {
    std::vector<Word> columns = map.columns(Dim::Lane);
    for (Word v : map.columns(Dim::Warp))
      columns.push_back(v);
    return rankOf(columns);
  };
  const int before = rankOver(plan.send), after = rankOver(plan.receive);
  const int words = std::max(1, elementBits / 32);
  const int pack = static_cast<int>(plan.packedBits.size());
  int selects = (before + after) * plan.steps * words;
  // The exchange of one register bit with one lane bit: the elements that stay
  // in their lane need no separate select.
  if (before == 1 && after == 1)
    selects = 3 * plan.steps / 2 * words;
  cost.selects = selects >> pack;
  cost.shuffles = (plan.shuffles * words) >> pack;
}

// Returns the plan for movmatrix, which transposes 8x8 blocks; nullopt if
// `from` is not such a transposition. A register bit and lane bits 0 and 1
// number the columns, lane bits 2, 3 and 4 the rows.
static std::optional<MovmatrixPlan> planMovmatrix(const LinearLayout &from,
                                                  int elementBits) {
  if (elementBits != 16 || from.inBits(Dim::Lane) != 5)
    return std::nullopt;
  const Parts parts(from);
  MovmatrixPlan plan;
  plan.resultBit = plan.sourceBit = -1;
  static constexpr Word wanted[5] = {8, 16, 0, 1, 2};
  for (int j = 0; j < 5; ++j)
    if (parts.lanes(Dim::Lane, j) != wanted[j] ||
        (j != 2 && parts.registers(Dim::Lane, j)))
      return std::nullopt;
  const Word pair = parts.registers(Dim::Lane, 2);
  if (!std::has_single_bit(pair))
    return std::nullopt;
  plan.sourceBit = std::countr_zero(pair);
  for (int i = 0; i < from.inBits(Dim::Register); ++i) {
    const Word lane = parts.lanes(Dim::Register, i);
    if (lane == 4 && plan.resultBit < 0 && !parts.registers(Dim::Register, i))
      plan.resultBit = i;
    else if (lane || (parts.registers(Dim::Register, i) & pair))
      return std::nullopt;
  }
  for (int w = 0; w < from.inBits(Dim::Warp); ++w)
    if (parts.lanes(Dim::Warp, w) || parts.registers(Dim::Warp, w))
      return std::nullopt;
  if (plan.resultBit < 0)
    return std::nullopt;
  plan.instructions = (1 << from.inBits(Dim::Register)) / 2;
  return plan;
}

static void requireConvertible(const LinearLayout &src,
                               const LinearLayout &dst) {
  if (src.outs() != dst.outs())
    throw LayoutError("a conversion between tiles of different shapes");
  if (src.inBits(Dim::Lane) != dst.inBits(Dim::Lane) ||
      src.inBits(Dim::Warp) != dst.inBits(Dim::Warp))
    throw LayoutError("a conversion between layouts of different numbers of "
                      "lanes or warps");
  if (!src.isSurjective() || !dst.isSurjective())
    throw LayoutError("a conversion of a layout that misses elements");
}

ConversionPlan planConversion(const LinearLayout &source,
                              const LinearLayout &result,
                              const ConversionOptions &options) {
  const LinearLayout src = canonical(source), dst = canonical(result);
  requireConvertible(src, dst);
  const LinearLayout srcOnce = dropReplication(src),
                     dstOnce = dropReplication(dst);

  ConversionPlan plan;
  plan.sources = keptRegisters(src);
  // Express each result register by the registers of the layout without
  // replication.
  const Span span(dstOnce.columns(Dim::Register));
  std::vector<Word> replicas;
  for (Word v : dst.columns(Dim::Register))
    replicas.push_back(*span.solve(v));
  plan.replication =
      LinearLayout({{Dim::Register, dst.inBits(Dim::Register)}},
                   {{Dim::Register, dstOnce.inBits(Dim::Register)}}, replicas);
  const LinearLayout once = nearest(srcOnce, dstOnce);
  const LinearLayout all = nearest(srcOnce, dst);
  // The same map in register numbers of the source with replication.
  std::vector<Word> columns;
  for (Word v : all.columns()) {
    const int bits = all.outBits(Dim::Register);
    const Word low = v & ((Word(1) << bits) - 1);
    columns.push_back(plan.sources.apply(low) |
                      (v >> bits) << src.inBits(Dim::Register));
  }
  plan.from = LinearLayout(all.ins(), src.ins(), columns);

  const Parts parts(once);
  plan.withinWarp = parts.keeps(Dim::Warp);
  bool selects = false;
  for (Dim dim : {Dim::Lane, Dim::Warp})
    for (int bit = 0; bit < once.inBits(dim); ++bit)
      selects |= parts.registers(dim, bit) != 0;
  if (plan.withinWarp && parts.keeps(Dim::Lane) && !selects) {
    plan.kind = plan.from.isIdentity(Dim::Register, Dim::Register)
                    ? ConversionKind::None
                    : ConversionKind::Registers;
    return plan;
  }

  if (plan.withinWarp && options.movmatrix)
    plan.movmatrix = planMovmatrix(once, options.elementBits);
  if (plan.movmatrix) {
    plan.kind = ConversionKind::Movmatrix;
    plan.cost.shuffles = plan.movmatrix->instructions;
    return plan;
  }

  SearchOptions search;
  search.elementBits = std::max(8, options.elementBits);
  search.ldmatrix = options.ldmatrix;
  search.maxBytes = options.maxScratchBytes;
  SharedTrip trip = findSharedTrip(srcOnce, dstOnce, search);
  ConversionCost shared;
  shared.accesses = trip.instructions();
  shared.permutes =
      trip.iterationCount() * (trip.store.permutes() + trip.load.permutes());
  shared.wavefronts = trip.wavefronts();
  // Each iteration has a barrier between store and load, and one before the
  // next iteration's store.
  (plan.withinWarp ? shared.warpBarriers : shared.blockBarriers) =
      2 * trip.iterationCount() - 1;
  shared.scratchBytes = trip.bytes();

  if (plan.withinWarp && options.shuffles)
    plan.shuffle = planShuffle(once, options.elementBits);
  if (plan.shuffle) {
    costShuffle(*plan.shuffle, options.elementBits, plan.cost);
    if (plan.cost.slots() <= shared.slots()) {
      plan.kind = ConversionKind::Shuffle;
      return plan;
    }
    plan.shuffle.reset();
  }
  plan.kind = ConversionKind::Shared;
  plan.cost = shared;
  plan.shared = std::move(trip);
  return plan;
}

} // namespace tessera::layout
