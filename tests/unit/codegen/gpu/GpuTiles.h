// tests/unit/codegen/gpu/GpuTiles.h - tiles in any layout, read and written by
// test kernels.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "dialect/layout/RegisterLayouts.h"
#include "dialect/layout/ShapeOps.h"

#include <cmath>
#include <cstring>
#include <random>
#include <string>
#include <vector>

namespace tessera {

inline std::string shapeText(const std::vector<int64_t> &shape,
                             const std::string &element) {
  std::string text;
  for (int64_t size : shape)
    text += std::to_string(size) + "x";
  return text + element;
}

/// "#tile.linear<...>"
inline std::string linearText(const layout::LinearLayout &map) {
  std::vector<int64_t> shape = layout::shapeOf(map);
  std::string sizes = shapeText(shape, "");
  sizes.pop_back();
  std::string text = "#tile.linear<" + sizes;
  for (layout::Dim dim :
       {layout::Dim::Register, layout::Dim::Lane, layout::Dim::Warp}) {
    text += std::string(", ") + layout::dimName(dim) + " = [";
    for (int bit = 0; bit < map.inBits(dim); ++bit) {
      text += bit ? ", [" : "[";
      std::string separator;
      for (int64_t coordinate : map.basis(dim, bit)) {
        text += separator + std::to_string(coordinate);
        separator = ", ";
      }
      text += "]";
    }
    text += "]";
  }
  return text + ">";
}

inline std::string tileType(const layout::LinearLayout &map,
                            const std::string &element) {
  return "tensor<" + shapeText(layout::shapeOf(map), element) + ", " +
         linearText(map) + ">";
}

/// "%NAMEp": the addresses of consecutive elements, in row-major order, from
/// %POINTER.
inline std::string consecutive(const std::string &name,
                               const std::string &pointer,
                               const layout::LinearLayout &map,
                               const std::string &element) {
  int64_t n = int64_t(1) << map.outBits();
  layout::LinearLayout flat = layout::reshape(map, {n});
  std::string p = "!tile.ptr<" + element + ">";
  return "%" + name + "r = tile.range 0, " + std::to_string(n) + " : " +
         tileType(flat, "i32") + "\n%" + name + "i = tile.reshape %" + name +
         "r : " + tileType(flat, "i32") + " -> " + tileType(map, "i32") +
         "\n%" + name + "s = tile.splat %" + pointer + " : " + p + " -> " +
         tileType(map, p) + "\n%" + name + "p = tile.addptr %" + name + "s, %" +
         name + "i : " + tileType(map, p) + ", " + tileType(map, "i32") + "\n";
}

inline std::string loadTile(const std::string &name, const std::string &pointer,
                            const layout::LinearLayout &map,
                            const std::string &element) {
  return consecutive(name, pointer, map, element) + "%" + name +
         " = tile.load %" + name +
         "p : " + tileType(map, "!tile.ptr<" + element + ">") + "\n";
}

inline std::string storeTile(const std::string &value,
                             const std::string &pointer,
                             const layout::LinearLayout &map,
                             const std::string &element) {
  std::string name = pointer + "_s";
  return consecutive(name, pointer, map, element) + "tile.store %" + name +
         "p, %" + value + " : " + tileType(map, "!tile.ptr<" + element + ">") +
         ", " + tileType(map, element) + "\n";
}

/// A new last axis for the replicas that lanes and warps hold: the layout in
/// which every thread stores its own copy of a tile in `map`.
inline layout::LinearLayout withReplicas(const layout::LinearLayout &map) {
  using namespace layout;
  int replicas = 0;
  for (Dim dim : {Dim::Lane, Dim::Warp})
    for (Word column : map.columns(dim))
      replicas += !column;
  Extents outs = map.outs();
  outs.push_back({tileDim(int(outs.size())), replicas});
  std::vector<Word> columns = map.columns(Dim::Register);
  Word copy = Word(1) << map.outBits();
  for (Dim dim : {Dim::Lane, Dim::Warp})
    for (Word column : map.columns(dim)) {
      columns.push_back(column ? column : copy);
      if (!column)
        copy <<= 1;
    }
  return LinearLayout(map.ins(), outs, columns);
}

/// Stores every thread's copy of `value`, which is in `map` (no axes: a
/// scalar): row-major, the replicas fastest.
inline std::string storeReplicas(const std::string &value,
                                 const std::string &pointer,
                                 const layout::LinearLayout &map,
                                 const std::string &element) {
  layout::LinearLayout all = withReplicas(map);
  std::string name = pointer + "_c", text;
  if (map.outs().empty()) {
    text = "%" + name + " = tile.splat %" + value + " : " + element + " -> " +
           tileType(all, element) + "\n";
  } else {
    int rank = layout::rankOfTile(map);
    layout::LinearLayout column = layout::expandDims(map, rank);
    text = "%" + name + "e = tile.expand_dims %" + value + ", " +
           std::to_string(rank) + " : " + tileType(map, element) + " -> " +
           tileType(column, element) + "\n%" + name + " = tile.broadcast %" +
           name + "e : " + tileType(column, element) + " -> " +
           tileType(all, element) + "\n";
  }
  return text + storeTile(name, pointer, all, element);
}

// --- Layouts -----------------------------------------------------------------

struct TileLayout {
  std::string name;
  layout::LinearLayout map;

  int warps() const { return int(map.inSize(layout::Dim::Warp)); }
  std::vector<int64_t> shape() const { return layout::shapeOf(map); }
  int64_t size() const { return int64_t(1) << map.outBits(); }
};

/// One register, lane, warp column a word.
inline layout::LinearLayout layoutOfWords(std::vector<int64_t> shape,
                                          std::vector<layout::Word> registers,
                                          std::vector<layout::Word> lanes,
                                          std::vector<layout::Word> warps) {
  using namespace layout;
  Extents ins = {{Dim::Register, int(registers.size())},
                 {Dim::Lane, int(lanes.size())},
                 {Dim::Warp, int(warps.size())}};
  std::vector<Word> columns = registers;
  columns.insert(columns.end(), lanes.begin(), lanes.end());
  columns.insert(columns.end(), warps.begin(), warps.end());
  return LinearLayout(ins, tileExtents(shape), columns);
}

/// Every bit of register, lane and warp moves along one axis; 1 to 8 warps;
/// with and without replicas.
inline std::vector<TileLayout> regularLayouts() {
  using namespace layout;
  std::vector<TileLayout> all;
  auto add = [&](const std::string &name, const LinearLayout &map) {
    all.push_back({name, map});
  };
  add("row", blocked({512}, {{4}, {32}, {4}, {}}));
  add("wrapped row", blocked({1024}, {{2}, {32}, {4}, {}}));
  add("short row", blocked({16}, {{1}, {32}, {2}, {}}));
  add("one", blocked({1}, {{1}, {32}, {4}, {}}));
  add("one warp", blocked({16, 32}, {{1, 4}, {4, 8}, {1, 1}, {}}));
  add("warps across", blocked({16, 64}, {{1, 4}, {4, 8}, {4, 1}, {}}));
  add("warps along", blocked({8, 128}, {{2, 2}, {8, 4}, {1, 4}, {}}));
  add("warps both", blocked({16, 64}, {{2, 4}, {4, 8}, {2, 2}, {}}));
  add("columns", blocked({64, 16}, {{4, 1}, {8, 4}, {2, 4}, {0, 1}}));
  add("8 warps", blocked({32, 64}, {{2, 2}, {4, 8}, {4, 2}, {}}));
  add("small tile", blocked({4, 8}, {{1, 2}, {4, 8}, {2, 2}, {}}));
  add("one column", blocked({32, 1}, {{1, 1}, {32, 1}, {2, 1}, {}}));
  add("cube", blocked({4, 8, 16}, {{1, 2, 2}, {2, 4, 4}, {2, 1, 2}, {}}));
  add("accumulator", mmaAccumulator({64, 32}, {{4, 1}}));
  add("accumulator 2x2", mmaAccumulator({32, 32}, {{2, 2}}));
  add("accumulator 1x8", mmaAccumulator({16, 64}, {{1, 8}}));
  add("operand a", mmaOperandA({32, 32}, {{2, 2}}, 2));
  add("operand b", mmaOperandB({32, 16}, {{2, 2}}, 4));
  add("slice", slice(mmaAccumulator({64, 32}, {{2, 2}}), 1));
  add("slice of cube",
      slice(blocked({4, 8, 16}, {{1, 2, 2}, {2, 4, 4}, {2, 1, 2}, {}}), 2));
  // Lane 2 moves along the columns before lane 1, a warp before both.
  add("shuffled", layoutOfWords({8, 32}, {16 << 3, 1},
                                {8 << 3, 2, 4 << 3, 4, 1 << 3}, {2 << 3}));
  return all;
}

/// Layouts with bits that move along several axes at once, or whose registers,
/// lanes and warps replicate elements.
inline std::vector<TileLayout> oddLayouts() {
  using namespace layout;
  std::vector<TileLayout> all;
  // Two registers that only together stay in a row.
  all.push_back(
      {"skewed registers", layoutOfWords({8, 16}, {1 | 1 << 3, 1 << 3},
                                         {2, 4, 2 << 3, 4 << 3, 8 << 3}, {0})});
  all.push_back({"skewed lanes",
                 layoutOfWords({8, 16}, {1}, {2 | 1 << 3, 2, 4, 3 << 3, 4 << 3},
                               {8 << 3, 0})});
  // Lane 1 is the other register of lane 0.
  all.push_back(
      {"registers repeat lanes",
       layoutOfWords({4, 32}, {1 << 2, 2 << 2}, {1 << 2, 1, 2, 4 << 2, 8 << 2},
                     {16 << 2, 2 << 2})});
  all.push_back(
      {"across axes",
       layoutOfWords({8, 8}, {1}, {2 | 1 << 3, 4, 1 << 3, 2 | 2 << 3, 0},
                     {4 << 3})});
  std::mt19937 random(11);
  for (int n = 0; n < 4; ++n) {
    std::vector<Word> c;
    do {
      c.clear();
      for (int bit = 0; bit < 9; ++bit)
        c.push_back(random() % 5 ? random() % 128 : 0);
    } while (rankOf(c) < 7);
    all.push_back(
        {"random" + std::to_string(n),
         layoutOfWords({8, 16}, {c[0], c[1]}, {c[2], c[3], c[4], c[5], c[6]},
                       {c[7], c[8]})});
  }
  return all;
}

inline std::vector<TileLayout> allLayouts() {
  std::vector<TileLayout> layouts = regularLayouts();
  for (const TileLayout &odd : oddLayouts())
    layouts.push_back(odd);
  return layouts;
}

/// Calls f(row, the row's elements in order) for the flat row-major tile.
template <typename Place = int64_t, typename F>
void forRows(const std::vector<int64_t> &shape, int axis, F f) {
  int64_t inner = 1, size = shape[size_t(axis)], all = 1;
  for (size_t d = 0; d < shape.size(); ++d) {
    all *= shape[d];
    if (int(d) > axis)
      inner *= shape[d];
  }
  for (int64_t row = 0; row < all / size; ++row) {
    std::vector<Place> places;
    for (int64_t k = 0; k < size; ++k)
      places.push_back(Place((row / inner * size + k) * inner + row % inner));
    f(row, places);
  }
}

// --- Elements ----------------------------------------------------------------

/// A type of elements in memory, and its numbers as doubles (all the types but
/// i64 fit; tests keep to small i64).
struct Element {
  const char *name;
  int bytes;
  bool isFloat;

  double get(const std::vector<uint8_t> &memory, int64_t index) const {
    const uint8_t *at = memory.data() + index * bytes;
    std::string type = name;
    if (type == "f32" || type == "bf16") {
      uint32_t bits = 0;
      std::memcpy(reinterpret_cast<uint8_t *>(&bits) + 4 - bytes, at,
                  size_t(bytes));
      float value;
      std::memcpy(&value, &bits, 4);
      return value;
    }
    if (type == "f64") {
      double value;
      std::memcpy(&value, at, 8);
      return value;
    }
    if (type == "f16") {
      _Float16 value;
      std::memcpy(&value, at, 2);
      return double(value);
    }
    int64_t value = 0;
    std::memcpy(&value, at, size_t(bytes));
    int unused = 64 - 8 * bytes;
    return double(value << unused >> unused);
  }
  /// Rounded by the host; exact for what fits.
  void put(std::vector<uint8_t> &memory, int64_t index, double number) const {
    uint8_t *at = memory.data() + index * bytes;
    std::string type = name;
    if (type == "f32" || type == "bf16") {
      float value = float(number);
      std::memcpy(at, reinterpret_cast<uint8_t *>(&value) + 4 - bytes,
                  size_t(bytes));
    } else if (type == "f64") {
      std::memcpy(at, &number, 8);
    } else if (type == "f16") {
      _Float16 value = _Float16(number);
      std::memcpy(at, &value, 2);
    } else {
      int64_t value = int64_t(number);
      std::memcpy(at, &value, size_t(bytes));
    }
  }
};

inline const std::vector<Element> &elements() {
  static const std::vector<Element> all = {
      {"f32", 4, true}, {"i32", 4, false}, {"f16", 2, true},  {"bf16", 2, true},
      {"f64", 8, true}, {"i64", 8, false}, {"i16", 2, false}, {"i8", 1, false}};
  return all;
}

/// Small integers: every order of a sum gives the same bits.
inline std::vector<uint8_t> drawIntegers(const Element &type, int64_t n,
                                         int range, bool nans, unsigned seed) {
  std::mt19937 random(seed);
  std::vector<uint8_t> memory(size_t(n * type.bytes));
  for (int64_t i = 0; i < n; ++i) {
    double x = double(int(random() % unsigned(2 * range + 1)) - range);
    if (nans && type.isFloat && (i % 7 == 3 || i / 32 == 1))
      x = std::nan("");
    type.put(memory, i, x);
  }
  return memory;
}

} // namespace tessera
