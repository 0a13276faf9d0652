// tests/unit/dialect/layout/Random.h - seeded random maps and layouts.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "dialect/layout/LinearLayout.h"

#include <algorithm>
#include <random>

namespace tessera::layout {

class Random {
public:
  explicit Random(unsigned seed) : engine(seed) {}

  int below(int n) { return static_cast<int>(engine() % unsigned(n)); }
  Word word(int bits) { return engine() & ((Word(1) << bits) - 1); }

  std::vector<Word> columns(int count, int bits) {
    std::vector<Word> list;
    for (int i = 0; i < count; ++i)
      list.push_back(word(bits));
    return list;
  }
  std::vector<Word> invertible(int bits) {
    for (;;) {
      std::vector<Word> list = columns(bits, bits);
      if (rankOf(list) == bits)
        return list;
    }
  }
  LinearLayout map(const Extents &ins, const Extents &outs) {
    return {ins, outs, columns(total(ins), total(outs))};
  }

  // A register layout of a tile: 5 lane bits, `warps` warp bits, as many
  // register bits as the tile needs. `copies` lane or warp bits are zero.
  // Permuted: every basis is one bit of the tile, as layouts of kernels are;
  // else any invertible map.
  LinearLayout distributed(const Extents &outs, int warps, int copies,
                           bool permuted) {
    const int bits = total(outs);
    std::vector<Word> columns;
    if (permuted) {
      for (int i = 0; i < bits; ++i)
        columns.push_back(Word(1) << i);
      std::shuffle(columns.begin(), columns.end(), engine);
    } else {
      columns = invertible(bits);
    }
    std::vector<Word> places(5 + warps);
    const int distributed = std::min(bits, 5 + warps - copies);
    std::vector<int> order(places.size());
    for (size_t i = 0; i < order.size(); ++i)
      order[i] = static_cast<int>(i);
    std::shuffle(order.begin(), order.end(), engine);
    for (int i = 0; i < distributed; ++i) {
      places[order[i]] = columns.back();
      columns.pop_back();
    }
    const int registers = static_cast<int>(columns.size());
    columns.insert(columns.end(), places.begin(), places.end());
    return {{{Dim::Register, registers}, {Dim::Lane, 5}, {Dim::Warp, warps}},
            outs,
            columns};
  }

  static int total(const Extents &extents) {
    int bits = 0;
    for (const Extent &extent : extents)
      bits += extent.bits;
    return bits;
  }

  std::mt19937_64 engine;
};

} // namespace tessera::layout
