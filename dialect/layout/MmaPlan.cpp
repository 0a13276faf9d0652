// dialect/layout/MmaPlan.cpp - a dot as tensor-core instructions.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "dialect/layout/MmaPlan.h"

#include "dialect/layout/ShapeOps.h"

#include <bit>
#include <map>
#include <numeric>

namespace tessera::layout {

DotWords::DotWords(const LinearLayout &acc, int kBits) : k(kBits) {
  const Extents &outs = acc.outs();
  m = outs[outs.size() - 2].bits;
  n = outs[outs.size() - 1].bits;
  batch = acc.outBits() - m - n;
}

namespace {

class MmaPlanner {
public:
  MmaPlanner(const LinearLayout &a, const LinearLayout &b,
             const LinearLayout &acc, const MmaShape &how)
      : a(a), b(b), acc(acc), how(how), words(acc, a.outs().back().bits),
        inA(a.columns(Dim::Register)), inB(b.columns(Dim::Register)),
        inAcc(acc.columns(Dim::Register)) {}

  std::optional<MmaPlan> plan();

private:
  bool lanesAgree();
  bool chooseK();
  void chooseRows();
  bool fragmentA(Word row, Word k, std::vector<int> &registers) const;
  bool fragmentB(Word column, Word k, std::vector<int> &registers) const;
  static bool find(const Span &span, Word element, std::vector<int> &list) {
    auto index = span.solve(element);
    if (index)
      list.push_back(int(*index));
    return index.has_value();
  }
  // True if only the row bits (M) of an acc word are set; isColumn: only N.
  bool isRow(Word v) const {
    return (v & ~(DotWords::mask(words.m) << words.batch)) == 0;
  }
  bool isColumn(Word v) const {
    return (v & DotWords::mask(words.batch + words.m)) == 0;
  }

  const LinearLayout &a, &b, &acc;
  const MmaShape &how;
  const DotWords words;
  const Span inA, inB, inAcc;
  // Bases of the instruction's K, M and N bits. packedK selects the element of
  // a 32-bit word, registerK the register, kRest the step along K; row8 and
  // column1 select row 8 and column 1 of the accumulator.
  std::vector<Word> packedK, kRest;
  Word registerK = 0, row8 = 0, column1 = 0;
};

} // namespace

// True if the lanes and warps of a, b and acc match the fragments. Lane bits 0
// and 1 number K (N for acc), lane bits 2 to 4 rows (columns for b).
bool MmaPlanner::lanesAgree() {
  if (a.inBits(Dim::Lane) != 5 || b.inBits(Dim::Lane) != 5 ||
      acc.inBits(Dim::Lane) != 5)
    return false;
  for (int bit = 0; bit < 5; ++bit) {
    Word x = a.column(Dim::Lane, bit), y = b.column(Dim::Lane, bit),
         z = acc.column(Dim::Lane, bit);
    if (bit < 2) {
      Word k = x >> (words.batch + words.m);
      if (x != words.inA(k) || y != words.inB(k) || !k || !isColumn(z))
        return false;
      // Column bits 1 and 2 are lane bits 3 and 4 of b.
      if (b.column(Dim::Lane, bit + 3) != words.columnOf(z))
        return false;
    } else if (x != z || !isRow(z)) {
      return false;
    }
  }
  for (int bit = 0; bit < acc.inBits(Dim::Warp); ++bit) {
    Word z = acc.column(Dim::Warp, bit);
    if (a.inBits(Dim::Warp) <= bit || b.inBits(Dim::Warp) <= bit ||
        a.column(Dim::Warp, bit) != words.rowOf(z) ||
        b.column(Dim::Warp, bit) != words.columnOf(z))
      return false;
  }
  // Column bit 0 is lane bit 2 of b and a register of acc.
  Word first = b.column(Dim::Lane, 2);
  column1 = first >> (words.batch + words.k) << (words.batch + words.m);
  return words.columnOf(column1) == first && inAcc.contains(column1);
}

// Assigns packedK, registerK and kRest from the register bits that only change
// K in a and also exist in b. Returns false if there are too few.
bool MmaPlanner::chooseK() {
  Span all;
  for (int bit = 0; bit < 2; ++bit)
    all.add(a.column(Dim::Lane, bit) >> (words.batch + words.m));
  if (all.dim() != 2)
    return false;
  std::vector<Word> list;
  for (Word column : a.columns(Dim::Register)) {
    Word k = column >> (words.batch + words.m);
    if (column == words.inA(k) && inB.contains(words.inB(k)) && all.add(k))
      list.push_back(k);
  }
  size_t packedBits = size_t(std::countr_zero(unsigned(how.packed)));
  size_t needed = packedBits + (how.m == 16 ? 1 : 0);
  if (all.dim() != words.k || list.size() < needed)
    return false;
  auto next = list.begin();
  packedK.assign(next, next + int64_t(packedBits));
  next += int64_t(packedBits);
  if (how.m == 16)
    registerK = *next++;
  kRest.assign(next, list.end());
  return true;
}

// Assigns row8 from a register bit of a and acc. Without such a bit, row8 is 0
// and rows 8 to 15 of the instruction repeat rows 0 to 7.
void MmaPlanner::chooseRows() {
  if (how.m == 16)
    for (Word column : acc.columns(Dim::Register))
      if (column && isRow(column) && inA.contains(column)) {
        row8 = column;
        return;
      }
}

bool MmaPlanner::fragmentA(Word row, Word k,
                           std::vector<int> &registers) const {
  for (int word = 0; word < (how.m == 16 ? 4 : 1); ++word)
    for (int part = 0; part < how.packed; ++part) {
      Word element = words.rowOf(row) ^ (word & 1 ? row8 : 0) ^
                     words.inA(k ^ (word & 2 ? registerK : 0) ^
                               multiply(packedK, Word(part)));
      if (!find(inA, element, registers))
        return false;
    }
  return true;
}

bool MmaPlanner::fragmentB(Word column, Word k,
                           std::vector<int> &registers) const {
  for (int word = 0; word < (how.m == 16 ? 2 : 1); ++word)
    for (int part = 0; part < how.packed; ++part) {
      Word element =
          words.columnOf(column) ^ words.inB(k ^ (word & 1 ? registerK : 0) ^
                                             multiply(packedK, Word(part)));
      if (!find(inB, element, registers))
        return false;
    }
  return true;
}

std::optional<MmaPlan> MmaPlanner::plan() {
  if (!lanesAgree() || !chooseK())
    return std::nullopt;
  chooseRows();
  MmaPlan plan;
  // The register bits of acc outside the fragment number the instructions;
  // columns come before rows.
  Span seen({row8, column1});
  std::vector<Word> offsets;
  for (bool rows : {false, true})
    for (Word column : acc.columns(Dim::Register))
      if (isColumn(column) != rows && seen.add(column))
        offsets.push_back(column);
  std::map<std::pair<Word, Word>, int> ofA, ofB;
  std::map<Word, int> ofAcc;
  for (Word step = 0; step < Word(1) << kRest.size(); ++step) {
    Word k = multiply(kRest, step);
    for (Word index = 0; index < Word(1) << offsets.size(); ++index) {
      Word place = multiply(offsets, index);
      auto [rows, newRows] =
          ofA.try_emplace({words.rowOf(place), k}, int(plan.a.size()));
      if (newRows && !fragmentA(place, k, plan.a.emplace_back()))
        return std::nullopt;
      auto [columns, newColumns] =
          ofB.try_emplace({words.columnOf(place), k}, int(plan.b.size()));
      if (newColumns && !fragmentB(place, k, plan.b.emplace_back()))
        return std::nullopt;
      auto [result, newResult] = ofAcc.try_emplace(place, int(plan.acc.size()));
      if (newResult) {
        std::vector<int> &list = plan.acc.emplace_back();
        for (Word row :
             how.m == 16 ? std::vector<Word>{0, row8} : std::vector<Word>{0})
          for (Word column : {Word(0), column1})
            find(inAcc, place ^ row ^ column, list);
      }
      plan.steps.push_back({rows->second, columns->second, result->second});
    }
  }
  for (int64_t r = 0; r < acc.inSize(Dim::Register); ++r)
    find(inAcc, acc.apply(Word(r) << acc.inStart(Dim::Register)), plan.results);
  return plan;
}

// Returns `layout` with its last two axes exchanged.
static LinearLayout turned(const LinearLayout &layout) {
  std::vector<int> order(layout.outs().size());
  std::iota(order.begin(), order.end(), 0);
  std::swap(order[order.size() - 2], order[order.size() - 1]);
  return transpose(layout, order);
}

std::optional<MmaPlan> planMma(const LinearLayout &a, const LinearLayout &b,
                               const LinearLayout &acc, const MmaShape &shape) {
  if (auto plan = MmaPlanner(a, b, acc, shape).plan())
    return plan;
  const LinearLayout x = turned(b), y = turned(a), z = turned(acc);
  auto plan = MmaPlanner(x, y, z, shape).plan();
  if (plan)
    plan->swapped = true;
  return plan;
}

} // namespace tessera::layout
