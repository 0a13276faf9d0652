// tests/unit/codegen/gpu/MemoryTest.cpp - loads and stores against plain loops.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "tests/unit/codegen/gpu/GpuKernel.h"
#include "tests/unit/codegen/gpu/GpuLayouts.h"

#include <gtest/gtest.h>

#include <sstream>

using namespace tessera;

namespace {

std::string fill(std::string text,
                 const std::vector<std::pair<std::string, std::string>> &map) {
  for (const auto &[key, value] : map)
    for (size_t at; (at = text.find("$" + key)) != std::string::npos;)
      text.replace(at, key.size() + 1, value);
  return text;
}

struct ElementType {
  const char *name;
  size_t bytes;
};
const ElementType types[] = {
    {"i1", 1},  {"i8", 1},   {"i16", 2}, {"i32", 4}, {"i64", 8},
    {"f16", 2}, {"bf16", 2}, {"f32", 4}, {"f64", 8}, {"!tile.ptr<f32>", 8}};

GpuKernelOptions withLayouts() {
  GpuKernelOptions how;
  how.assignLayouts = false;
  return how;
}

// y[i] = keep[i] ? (use[i] ? x[i] : other[i]) : y[i]; $VECTOR neighbours share
// their truth values.
const char *copyKernel = R"(
#l = $LAYOUT
func.func @copy(%x: !tile.ptr<$T>, %other: !tile.ptr<$T>, %y: !tile.ptr<$T>,
                %use: !tile.ptr<i1>, %keep: !tile.ptr<i1>) {
  %i = tile.range 0, $N : tensor<$Nxi32, #l>
  %xs = tile.splat %x : !tile.ptr<$T> -> tensor<$Nx!tile.ptr<$T>, #l>
  %xp = tile.addptr %xs, %i : tensor<$Nx!tile.ptr<$T>, #l>, tensor<$Nxi32, #l>
  %os = tile.splat %other : !tile.ptr<$T> -> tensor<$Nx!tile.ptr<$T>, #l>
  %op = tile.addptr %os, %i : tensor<$Nx!tile.ptr<$T>, #l>, tensor<$Nxi32, #l>
  %ys = tile.splat %y : !tile.ptr<$T> -> tensor<$Nx!tile.ptr<$T>, #l>
  %yp = tile.addptr %ys, %i : tensor<$Nx!tile.ptr<$T>, #l>, tensor<$Nxi32, #l>
  %us = tile.splat %use : !tile.ptr<i1> -> tensor<$Nx!tile.ptr<i1>, #l>
  %up = tile.addptr %us, %i : tensor<$Nx!tile.ptr<i1>, #l>, tensor<$Nxi32, #l>
  %u = tile.load %up {tile.vector = $VECTOR : i64} : tensor<$Nx!tile.ptr<i1>, #l>
  %ks = tile.splat %keep : !tile.ptr<i1> -> tensor<$Nx!tile.ptr<i1>, #l>
  %kp = tile.addptr %ks, %i : tensor<$Nx!tile.ptr<i1>, #l>, tensor<$Nxi32, #l>
  %k = tile.load %kp {tile.vector = $VECTOR : i64} : tensor<$Nx!tile.ptr<i1>, #l>
  %o = tile.load %op {tile.vector = $VECTOR : i64} : tensor<$Nx!tile.ptr<$T>, #l>
  %v = tile.load %xp $LOADMASK {tile.vector = $VECTOR : i64$WORDS} : tensor<$Nx!tile.ptr<$T>, #l>
  tile.store %yp, %v $STOREMASK {tile.vector = $VECTOR : i64} : tensor<$Nx!tile.ptr<$T>, #l>, tensor<$Nx$T, #l>
  return
}
)";

enum class Masked { No, Other, Zero };

GpuKernel copyKernelOf(const RowLayout &row, const ElementType &type,
                       Masked load, bool maskedStore,
                       const std::string &words = "") {
  std::string text =
      fill(copyKernel, {{"LAYOUT", row.text()},
                        {"LOADMASK", load == Masked::Other  ? "mask %u other %o"
                                     : load == Masked::Zero ? "mask %u"
                                                            : ""},
                        {"STOREMASK", maskedStore ? "mask %k" : ""},
                        {"WORDS", words},
                        {"VECTOR", std::to_string(row.run)},
                        {"N", std::to_string(row.size())},
                        {"T", type.name}});
  return GpuKernel(text, withLayouts());
}

void checkCopy(const RowLayout &row, const ElementType &type, Masked load,
               bool maskedStore, const std::string &words = "") {
  SCOPED_TRACE(row.name + " " + type.name + " " + std::to_string(int(load)) +
               std::to_string(int(maskedStore)));
  if (type.name[0] == '!' && load == Masked::Other)
    load = Masked::Zero; // `other` is a number
  int64_t n = row.size();
  GpuKernel kernel = copyKernelOf(row, type, load, maskedStore, words);

  std::mt19937 random(unsigned(n) + unsigned(type.bytes));
  std::vector<uint8_t> use(size_t(n), 1), keep(size_t(n), 1);
  for (int64_t i = 0; i < n; i += row.run) {
    std::fill_n(use.begin() + i, row.run, random() % 3 != 0);
    std::fill_n(keep.begin() + i, row.run, random() % 3 != 0);
  }
  // Where nothing may be read or written there is also no memory.
  int64_t end = n;
  auto draw = [&](int64_t count) {
    std::vector<uint8_t> bytes(size_t(count) * type.bytes);
    for (uint8_t &byte : bytes)
      byte = uint8_t(random() % (type.name == std::string("i1") ? 2 : 256));
    return bytes;
  };
  int64_t cut = std::max<int64_t>(n - 2 * row.run, row.run);
  if (load != Masked::No)
    std::fill(use.begin() + cut, use.end(), 0);
  if (maskedStore)
    std::fill(keep.begin() + cut, keep.end(), 0);
  std::vector<uint8_t> x = draw(load == Masked::No ? end : cut),
                       other = draw(end), y = draw(maskedStore ? cut : end),
                       expected = y;
  for (int64_t i = 0; i < n; ++i) {
    if (maskedStore && !keep[size_t(i)])
      continue;
    for (size_t b = 0; b < type.bytes; ++b) {
      size_t at = size_t(i) * type.bytes + b;
      expected[at] = load == Masked::No || use[size_t(i)] ? x[at]
                     : load == Masked::Other              ? other[at]
                                                          : 0;
    }
  }
  std::vector<GpuArg> args = {x, other, y, use, keep};
  kernel.run({1}, args);
  EXPECT_EQ(y, expected) << kernel.ptx;
}

TEST(GpuMemory, EveryTypeInEveryLayout) {
  std::vector<RowLayout> rows = rowLayouts();
  size_t turn = 0;
  for (const RowLayout &row : rows)
    for (const ElementType &type : types) {
      // All six kinds of masks over the types of one layout.
      checkCopy(row, type, Masked(turn % 3), turn % 2);
      ++turn;
    }
}

TEST(GpuMemory, EveryMaskOfEveryType) {
  RowLayout row = rowLayouts()[2];
  for (const ElementType &type : types)
    for (int kind = 0; kind < 6; ++kind)
      checkCopy(row, type, Masked(kind % 3), kind / 3);
}

TEST(GpuMemory, CacheWords) {
  RowLayout row = rowLayouts()[2];
  const std::pair<const char *, const char *> cases[] = {
      {", cache = \".ca\"", "ld.global.ca.v4.b32"},
      {", cache = \".cg\"", "ld.global.cg.v4.b32"},
      {", cache = \".cv\"", "ld.global.cv.v4.b32"},
      {", eviction = \"evict_first\"", "ld.global.L1::evict_first.v4.b32"},
      {", eviction = \"evict_last\"", "ld.global.L1::evict_last.v4.b32"},
      {", isVolatile", "ld.volatile.global.v4.b32"},
      {", cache = \".cg\", eviction = \"evict_last\"", "ld.global.cg.v4.b32"}};
  for (const auto &[words, instruction] : cases)
    for (Masked load : {Masked::No, Masked::Other}) {
      checkCopy(row, types[7], load, false, words);
      GpuKernel kernel = copyKernelOf(row, types[7], load, false, words);
      EXPECT_NE(kernel.ptx.find(instruction), std::string::npos)
          << words << "\n"
          << kernel.ptx;
    }
}

// Lines that begin with a predicate and hold `text`.
int predicated(const std::string &ptx, const std::string &text) {
  std::istringstream lines(ptx);
  int count = 0;
  for (std::string line; std::getline(lines, line);)
    count += line.find("@%p") != std::string::npos &&
             line.find(text) != std::string::npos;
  return count;
}

TEST(GpuMemory, AsWideAsNeighboursAllow) {
  std::vector<RowLayout> rows = rowLayouts(); // 1, 2, 4, 8, 16 neighbours
  struct {
    size_t row, type;
    const char *suffix;
    int count; // of 2 * run elements in a lane
  } cases[] = {
      {0, 6, ".b16", 2},    {1, 5, ".b32", 2},    {2, 7, ".v4.b32", 2},
      {3, 5, ".v4.b32", 2}, {3, 7, ".v4.b32", 4}, {4, 1, ".v4.b32", 2},
      {1, 8, ".v2.b64", 2}, {2, 4, ".v2.b64", 4}, {2, 1, ".b32", 2},
      {1, 1, ".b16", 2},    {0, 0, ".b8", 2},     {3, 0, ".v2.b32", 2}};
  for (const auto &[row, type, suffix, count] : cases) {
    GpuKernel kernel =
        copyKernelOf(rows[row], types[type], Masked::Other, true);
    std::string words = suffix;
    EXPECT_EQ(predicated(kernel.ptx, "ld.global" + words + " "), count)
        << kernel.ptx;
    EXPECT_EQ(predicated(kernel.ptx, "st.global" + words + " "), count)
        << kernel.ptx;
  }
}

// The tests above see a predicate that is missing.
TEST(GpuMemory, WithoutPredicatesTheSimulatorObjects) {
  RowLayout row = rowLayouts()[1];
  for (const char *access : {"ld.global", "st.global"}) {
    GpuKernel kernel =
        copyKernelOf(row, types[3], Masked::Zero, /*maskedStore=*/true);
    std::istringstream lines(kernel.ptx);
    std::string changed;
    for (std::string line; std::getline(lines, line); changed += line + "\n")
      if (line.find(access) != std::string::npos)
        if (size_t at = line.find("@%p"); at != std::string::npos)
          line.erase(at, line.find(' ', at) - at);
    ASSERT_NE(changed, kernel.ptx);
    kernel.ptx = changed;
    size_t n = size_t(row.size());
    std::vector<int32_t> x(n / 2), other(n), y(n / 2);
    std::vector<uint8_t> use(n, 1), keep(n, 1);
    std::fill(use.begin() + long(n / 2), use.end(), 0);
    std::fill(keep.begin() + long(n / 2), keep.end(), 0);
    sim::Report report = kernel.tryRun({1}, {x, other, y, use, keep});
    ASSERT_FALSE(report.findings.empty()) << access;
    EXPECT_EQ(report.findings[0].check, sim::Check::OutOfBounds);
  }
}

} // namespace
