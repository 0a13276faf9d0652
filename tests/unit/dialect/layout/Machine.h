// tests/unit/dialect/layout/Machine.h - executes plans on values, counts banks.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
//
// Knows layouts only as functions (at()); everything else is done by hand: one
// value per register, lane and warp, shuffles and ldmatrix lane by lane, banks
// by listing the words that each phase touches.
#pragma once

#include "dialect/layout/Conversion.h"
#include "simulator/arith/Mma.h"

#include <gtest/gtest.h>

#include <array>
#include <map>
#include <set>

namespace tessera::layout {

constexpr int64_t nothing = -1;

struct Machine {
  int warps = 1, lanes = 32, registers = 1;
  std::vector<int64_t> values;

  Machine(const LinearLayout &layout)
      : warps(static_cast<int>(layout.inSize(Dim::Warp))),
        lanes(static_cast<int>(layout.inSize(Dim::Lane))),
        registers(static_cast<int>(layout.inSize(Dim::Register))),
        values(size_t(warps) * lanes * registers, nothing) {}
  int64_t &at(int w, int l, int r) {
    return values.at((size_t(w) * lanes + l) * registers + r);
  }
};

// Every element is its own number.
inline int64_t elementAt(const LinearLayout &layout, int w, int l, int r) {
  Place place;
  for (auto [dim, index] :
       {std::pair{Dim::Register, r}, {Dim::Lane, l}, {Dim::Warp, w}})
    if (layout.hasIn(dim))
      place.emplace_back(dim, index);
  return static_cast<int64_t>(layout.flatOut([&] {
    Place coordinates;
    const auto list = layout.at(place);
    for (size_t i = 0; i < list.size(); ++i)
      coordinates.emplace_back(layout.outs()[i].dim, list[i]);
    return coordinates;
  }()));
}

inline Machine filled(const LinearLayout &layout) {
  Machine machine(layout);
  for (int w = 0; w < machine.warps; ++w)
    for (int l = 0; l < machine.lanes; ++l)
      for (int r = 0; r < machine.registers; ++r)
        machine.at(w, l, r) = elementAt(layout, w, l, r);
  return machine;
}

// Scatters the bits of `index` to the positions `bits` of a register number.
inline int spreadBits(int index, const std::vector<int> &bits) {
  int result = 0;
  for (size_t i = 0; i < bits.size(); ++i)
    result |= (index >> i & 1) << bits[i];
  return result;
}

// Rows of 128 bytes in the fullest bank, over all warps, instructions, phases.
inline int countWays(const SharedAccess &access, int warps) {
  const int bytes = access.elementBits / 8;
  int worst = 1;
  for (int w = 0; w < warps; ++w)
    for (int i = 0; i < access.instructions(); ++i) {
      const int r = spreadBits(i * access.matrices, access.repeatBits);
      std::vector<std::vector<int64_t>> phases; // bytes touched
      const int perLane =
          access.kind == AccessKind::Vector ? access.bytesPerLane() : 16;
      const int lanesOfPhase = access.kind == AccessKind::Vector
                                   ? std::min(32, 128 / std::max(4, perLane))
                                   : 8;
      const int lanes =
          access.kind == AccessKind::Vector ? 32 : 8 * access.matrices;
      for (int first = 0; first < lanes; first += lanesOfPhase) {
        std::map<int64_t, std::set<int64_t>> banks;
        for (int l = first; l < first + lanesOfPhase; ++l) {
          const int64_t address =
              bytes *
              access.address.at(
                  {{Dim::Register, r}, {Dim::Lane, l}, {Dim::Warp, w}})[0];
          EXPECT_EQ(address % perLane, 0) << "misaligned";
          for (int64_t b = address; b < address + perLane; ++b)
            banks[b / 4 % 32].insert(b / 128);
        }
        for (const auto &[bank, rows] : banks)
          worst = std::max(worst, static_cast<int>(rows.size()));
      }
    }
  return worst;
}

inline void store(const SharedAccess &access, const Machine &source,
                  int iteration, std::vector<int64_t> &memory) {
  Machine from = source;
  const int vector = 1 << access.vectorBits.size();
  for (int w = 0; w < from.warps; ++w)
    for (int l = 0; l < from.lanes; ++l)
      for (int i = 0; i < access.instructions(); ++i) {
        const int r = spreadBits(i, access.repeatBits);
        const int64_t address = access.address.at(
            {{Dim::Register, r}, {Dim::Lane, l}, {Dim::Warp, w}})[0];
        for (int v = 0; v < vector; ++v) {
          const int64_t value =
              from.at(w, l,
                      r | spreadBits(v, access.vectorBits) |
                          spreadBits(iteration, access.iterationBits));
          int64_t &cell = memory.at(address + v);
          EXPECT_TRUE(cell == nothing || cell == value)
              << "two elements at one address";
          cell = value;
        }
      }
}

inline void load(const SharedAccess &access, const std::vector<int64_t> &memory,
                 int iteration, Machine &to) {
  const int vector = 1 << access.vectorBits.size();
  for (int w = 0; w < to.warps; ++w)
    for (int i = 0; i < access.instructions(); ++i) {
      const int r = spreadBits(i * access.matrices, access.repeatBits);
      const int inIteration = spreadBits(iteration, access.iterationBits);
      auto address = [&](int l) {
        return access.address.at(
            {{Dim::Register, r}, {Dim::Lane, l}, {Dim::Warp, w}})[0];
      };
      if (access.kind == AccessKind::Vector) {
        for (int l = 0; l < to.lanes; ++l)
          for (int v = 0; v < vector; ++v)
            to.at(w, l, r | spreadBits(v, access.vectorBits) | inIteration) =
                memory.at(address(l) + v);
        continue;
      }
      // PTX ISA, ldmatrix: matrix m takes the addresses of lanes 8 m to 8 m +
      // 7; a row has 16 bytes; lane l gets word l % 4 of row l / 4. With .trans
      // it gets rows 2 (l % 4) and 2 (l % 4) + 1 of column l / 4.
      for (int m = 0; m < access.matrices; ++m)
        for (int l = 0; l < 32; ++l)
          for (int v = 0; v < vector; ++v) {
            const bool trans = access.kind == AccessKind::LdmatrixTrans;
            const int row = trans ? 2 * (l % 4) + v : l / 4;
            const int column = trans ? l / 4 : vector * (l % 4) + v;
            to.at(w, l,
                  r | spreadBits(m, access.repeatBits) |
                      spreadBits(v, access.vectorBits) | inIteration) =
                memory.at(address(tessera::sim::matrixRowLane(m, row)) +
                          column);
          }
    }
}

// What the plan leaves in the registers of dst.
inline Machine execute(const ConversionPlan &plan, const LinearLayout &src,
                       const LinearLayout &dst) {
  Machine source = filled(src), result(dst);
  auto kept = [&](int r) { // source register without copies -> source register
    return static_cast<int>(plan.sources.at({{Dim::Register, r}})[0]);
  };
  Machine once = source;
  once.registers = static_cast<int>(plan.sources.inSize(Dim::Register));
  once.values.assign(size_t(once.warps) * once.lanes * once.registers, nothing);
  for (int w = 0; w < once.warps; ++w)
    for (int l = 0; l < once.lanes; ++l)
      for (int r = 0; r < once.registers; ++r)
        once.at(w, l, r) = source.at(w, l, kept(r));
  if (plan.kind == ConversionKind::None ||
      plan.kind == ConversionKind::Registers) {
    for (int w = 0; w < result.warps; ++w)
      for (int l = 0; l < result.lanes; ++l)
        for (int r = 0; r < result.registers; ++r)
          result.at(w, l, r) = source.at(
              w, l, static_cast<int>(plan.from.at({{Dim::Register, r}})[0]));
    return result;
  }
  Machine got = result;
  got.registers = static_cast<int>(plan.replication.outSize(Dim::Register));
  got.values.assign(size_t(got.warps) * got.lanes * got.registers, nothing);
  if (plan.kind == ConversionKind::Shuffle) {
    const ShufflePlan &shuffle = *plan.shuffle;
    for (int w = 0; w < got.warps; ++w)
      for (int s = 0; s < shuffle.steps; ++s) {
        auto ask = [&](const LinearLayout &map, int l) {
          return static_cast<int>(
              map.at({{Dim::Register, s}, {Dim::Lane, l}, {Dim::Warp, w}})[0]);
        };
        std::array<int64_t, 32> sent;
        for (int l = 0; l < 32; ++l)
          sent[l] = once.at(w, l, ask(shuffle.send, l));
        for (int l = 0; l < 32; ++l)
          got.at(w, l, ask(shuffle.receive, l)) = sent[ask(shuffle.source, l)];
      }
  } else if (plan.kind == ConversionKind::Movmatrix) {
    const MovmatrixPlan &move = *plan.movmatrix;
    auto pairOf = [](int i, int bit, int v) {
      return (i >> bit) << (bit + 1) | v << bit | (i & ((1 << bit) - 1));
    };
    for (int w = 0; w < got.warps; ++w)
      for (int i = 0; i < move.instructions; ++i) {
        // Which source pair: the plan's own map, at lane 0.
        uint32_t in[32], out[32];
        int base = 0;
        {
          // from() names source registers with copies; look it up there.
          const int r = pairOf(i, move.resultBit, 0);
          for (int candidate = 0; candidate < once.registers; ++candidate)
            if (once.at(w, 0, candidate) == elementAt(dst, w, 0, [&] {
                  for (int d = 0; d < result.registers; ++d)
                    if (plan.replication.at({{Dim::Register, d}})[0] == r)
                      return d;
                  return 0;
                }()))
              base = candidate;
        }
        EXPECT_EQ(base >> move.sourceBit & 1, 0);
        for (int l = 0; l < 32; ++l)
          in[l] = uint32_t(once.at(w, l, base)) |
                  uint32_t(once.at(w, l, base | 1 << move.sourceBit)) << 16;
        tessera::sim::moveMatrix(in, out);
        for (int l = 0; l < 32; ++l) {
          got.at(w, l, pairOf(i, move.resultBit, 0)) = out[l] & 0xffff;
          got.at(w, l, pairOf(i, move.resultBit, 1)) = out[l] >> 16;
        }
      }
  } else {
    const SharedTrip &trip = *plan.shared;
    for (int iteration = 0; iteration < trip.iterationCount(); ++iteration) {
      std::vector<int64_t> memory(size_t(1) << trip.scratch.inBits(Dim::Offset),
                                  nothing);
      store(trip.store, once, iteration, memory);
      load(trip.load, memory, iteration, got);
    }
  }
  for (int w = 0; w < result.warps; ++w)
    for (int l = 0; l < result.lanes; ++l)
      for (int r = 0; r < result.registers; ++r)
        result.at(w, l, r) = got.at(
            w, l,
            static_cast<int>(plan.replication.at({{Dim::Register, r}})[0]));
  return result;
}

// Every register of dst holds its element.
inline void expectArrives(const ConversionPlan &plan, const LinearLayout &src,
                          const LinearLayout &dst, const std::string &what) {
  const Machine result = execute(plan, src, dst), expected = filled(dst);
  ASSERT_EQ(result.values, expected.values)
      << what << ": " << conversionName(plan.kind) << "\n"
      << src.str() << dst.str();
}

} // namespace tessera::layout
