// dialect/layout/DrawLayout.cpp - which lane holds which element, as a table.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "dialect/layout/DrawLayout.h"

#include "dialect/layout/ShapeOps.h"

#include <algorithm>
#include <bit>

namespace tessera::layout {

static std::string number(int64_t n) { return std::to_string(n); }

static std::string count(int64_t n, const std::string &what,
                         const std::string &plural = "") {
  return number(n) + " " +
         (n == 1           ? what
          : plural.empty() ? what + "s"
                           : plural);
}

namespace {

// Draws the table of a register layout (places of elements) or of a shared
// layout (offsets of elements).
class Drawing {
public:
  Drawing(const LinearLayout &layout, const DrawLayoutOptions &options)
      : layout(layout), options(options), shared(layout.hasIn(Dim::Offset)),
        places(layout.pseudoInverse()), shape(shapeOf(layout)) {}

  std::string text() const;

private:
  int64_t part(Word element, Dim dim) const {
    const int bits = layout.inBits(dim);
    return bits ? static_cast<int64_t>(places.apply(element) >>
                                           layout.inStart(dim) &
                                       ((Word(1) << bits) - 1))
                : 0;
  }
  Word element(const std::vector<int64_t> &coordinates) const {
    Place place;
    for (size_t axis = 0; axis < coordinates.size(); ++axis)
      place.emplace_back(tileDim(static_cast<int>(axis)), coordinates[axis]);
    return layout.flatOut(place);
  }
  std::string summary() const;
  std::string cell(std::vector<int64_t> at, int64_t columns) const;
  int64_t groupSize() const;
  std::string matrix(std::vector<int64_t> at) const;

  const LinearLayout &layout;
  const DrawLayoutOptions &options;
  const bool shared;
  const LinearLayout places;
  const std::vector<int64_t> shape;
};

} // namespace

std::string Drawing::summary() const {
  if (shared)
    return count(layout.inSize(Dim::Offset), "element") + " of " +
           number(options.elementBits) + " bits, " +
           count(layout.inSize(Dim::Offset) * options.elementBits / 8, "byte") +
           "\n";
  std::string text = count(layout.inSize(Dim::Register), "register") +
                     " in each of " + count(layout.inSize(Dim::Lane), "lane") +
                     " of " + count(layout.inSize(Dim::Warp), "warp");
  int replicated = 0;
  for (Dim dim : {Dim::Register, Dim::Lane, Dim::Warp}) {
    const int bits = std::popcount(layout.freeBits(dim));
    replicated += bits;
    if (bits)
      text += (replicated == bits ? "; replication: " : " x ") +
              number(int64_t(1) << bits) + " " + dimName(dim) + "s";
  }
  return text + (replicated ? " hold the same\n" : "; no replication\n");
}

// Returns how many consecutive elements along the last axis share a cell: those
// in one lane or, in shared memory, at consecutive offsets.
int64_t Drawing::groupSize() const {
  if (shape.empty())
    return 1;
  const int axis = static_cast<int>(shape.size()) - 1;
  const Dim last = tileDim(axis);
  const std::vector<Word> &all = places.columns();
  int bits = 0;
  for (; bits < layout.outBits(last); ++bits) {
    const Word place = places.column(last, bits);
    const bool together =
        shared ? place == Word(1) << bits &&
                     std::count_if(all.begin(), all.end(),
                                   [&](Word p) { return p >> bits & 1; }) == 1
               : place >> layout.inBits(Dim::Register) == 0;
    if (!together)
      break;
  }
  return int64_t(1) << bits;
}

std::string Drawing::cell(std::vector<int64_t> at, int64_t columns) const {
  const Word e = element(at);
  if (shared) {
    const int64_t offset = part(e, Dim::Offset);
    return number(offset) + "/" +
           number(offset * options.elementBits / 32 % 32);
  }
  std::string text;
  if (layout.inSize(Dim::Warp) > 1)
    text = number(part(e, Dim::Warp)) + ".";
  text += number(part(e, Dim::Lane)) + ":";
  // Prints consecutive registers as a range, 0-3, and others as a list, 0,4.
  std::vector<int64_t> registers;
  for (int64_t i = 0; i < columns; ++i) {
    registers.push_back(part(element(at), Dim::Register));
    if (!at.empty())
      ++at.back();
  }
  for (size_t i = 0; i < registers.size();) {
    size_t end = i + 1;
    while (end < registers.size() && registers[end] == registers[end - 1] + 1)
      ++end;
    text += (i ? "," : "") + number(registers[i]);
    if (end - i > 1)
      text += "-" + number(registers[end - 1]);
    i = end;
  }
  return text;
}

// Returns the table of the last two axes; `at` gives the index of the others.
std::string Drawing::matrix(std::vector<int64_t> at) const {
  const size_t rank = shape.size();
  const int64_t rows = rank < 2 ? 1 : shape[rank - 2],
                columns = rank < 1 ? 1 : shape[rank - 1];
  const int64_t group = groupSize();
  auto cellAt = [&](int64_t row, int64_t column) {
    std::vector<int64_t> place = at;
    if (rank > 1)
      place.push_back(row);
    if (rank > 0)
      place.push_back(column);
    return cell(place, group);
  };
  auto heading = [&](int64_t column) {
    return group == 1 ? number(column)
                      : number(column) + "-" + number(column + group - 1);
  };
  size_t wide = heading(columns - group).size();
  for (int64_t row = 0; row < rows; ++row)
    for (int64_t column = 0; column < columns; column += group)
      wide = std::max(wide, cellAt(row, column).size());
  const size_t margin = number(rows - 1).size() + 2;
  const int64_t perPanel =
      std::max<int64_t>(1, (options.width - static_cast<int64_t>(margin)) /
                               static_cast<int64_t>(wide + 1));
  // The width of a panel is a power of two, so that panels end where tiles end.
  const int64_t step =
      static_cast<int64_t>(std::bit_floor(static_cast<uint64_t>(perPanel))) *
      group;
  auto padded = [](const std::string &text, size_t width) {
    return std::string(width - std::min(width, text.size()), ' ') + text;
  };
  std::string text;
  for (int64_t first = 0; first < columns; first += step) {
    const int64_t end = std::min(columns, first + step);
    text += std::string(margin, ' ');
    for (int64_t column = first; column < end; column += group)
      text += " " + padded(heading(column), wide);
    text += "\n";
    for (int64_t row = 0; row < rows; ++row) {
      text += padded(number(row), margin - 1) + " ";
      for (int64_t column = first; column < end; column += group)
        text += " " + padded(cellAt(row, column), wide);
      text += "\n";
    }
    if (end < columns)
      text += "\n";
  }
  return text;
}

std::string Drawing::text() const {
  std::string text = layout.str() + summary() + "\n";
  text += shared                         ? "offset/bank\n"
          : layout.inSize(Dim::Warp) > 1 ? "warp.lane:register\n"
                                         : "lane:register\n";
  if (shape.size() <= 2)
    return text + matrix({});
  // Print one matrix for each index of the outer axes.
  int64_t outer = 1;
  for (size_t axis = 0; axis + 2 < shape.size(); ++axis)
    outer *= shape[axis];
  for (int64_t i = 0; i < outer; ++i) {
    std::vector<int64_t> at;
    int64_t rest = i;
    for (size_t axis = shape.size() - 2; axis-- > 0;) {
      at.insert(at.begin(), rest % shape[axis]);
      rest /= shape[axis];
    }
    text += "[";
    for (int64_t index : at)
      text += number(index) + ", ";
    text += ":, :]\n" + matrix(at);
  }
  return text;
}

std::string drawLayout(const LinearLayout &layout,
                       const DrawLayoutOptions &options) {
  return Drawing(layout, options).text();
}

std::string describeAccess(const SharedAccess &access) {
  std::string text;
  if (access.kind == AccessKind::Vector)
    text = count(access.bytesPerLane(), "byte") + " a lane";
  else
    text = std::string(access.kind == AccessKind::LdmatrixTrans
                           ? "ldmatrix.trans.x"
                           : "ldmatrix.x") +
           number(access.matrices);
  text += ", " + count(access.instructions(), "instruction") + ", " +
          count(access.wavefronts(), "pass", "passes") + ", ";
  text += access.ways == 1 ? "no bank conflicts"
                           : number(access.ways) + "-way bank conflicts";
  if (access.permutes())
    text += ", " + count(access.permutes(), "permute");
  return text;
}

std::string describeConversion(const ConversionPlan &plan) {
  const ConversionCost &cost = plan.cost;
  std::string text = conversionName(plan.kind);
  switch (plan.kind) {
  case ConversionKind::None:
    return text + ": every element is where it should be\n";
  case ConversionKind::Registers:
    return text + ": registers get other numbers, no instruction\n";
  case ConversionKind::Movmatrix:
    text += ": " + count(plan.movmatrix->instructions, "instruction") + "\n";
    break;
  case ConversionKind::Shuffle:
    text += ": " + count(cost.shuffles, "shuffle") + ", " +
            count(cost.selects, "select") + "\n";
    break;
  case ConversionKind::Shared: {
    const SharedTrip &trip = *plan.shared;
    text += ": " + count(trip.bytes(), "byte") + ", " +
            count(trip.iterationCount(), "iteration") + ", barriers of a " +
            (plan.withinWarp ? "warp" : "block") + "\n";
    text += "  store  " + describeAccess(trip.store) + "\n";
    text += "  load   " + describeAccess(trip.load) + "\n";
    std::string bases = trip.scratch.str();
    text += "  " + bases.substr(0, bases.find('\n')) + "\n";
    break;
  }
  }
  return text + "cost of a warp: " + count(cost.slots(), "slot") + "\n";
}

} // namespace tessera::layout
