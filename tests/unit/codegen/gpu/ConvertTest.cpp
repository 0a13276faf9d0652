// tests/unit/codegen/gpu/ConvertTest.cpp - conversions between layouts on sim.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
//
// A tile is read in one layout, converted and written in another. Element i is
// read from in[i] and must come out at out[i], whatever the layouts are.
#include "codegen/gpu/lower/shared/Plans.h"
#include "dialect/layout/RegisterLayouts.h"
#include "dialect/layout/ShapeOps.h"
#include "tests/unit/codegen/gpu/GpuKernel.h"
#include "tests/unit/codegen/gpu/LayoutText.h"
#include "tests/unit/dialect/layout/Random.h"

#include <gtest/gtest.h>

#include <numeric>
#include <set>

using namespace tessera;
using namespace tessera::layout;

namespace {

// Gives every (register, lane, warp) of the one-axis `layout` a separate
// element: the replicas of an element go along a second axis.
LinearLayout withReplicas(const LinearLayout &layout) {
  int replicas = 0, bits = layout.outBits();
  std::vector<Word> columns = layout.columns();
  for (Dim dim : {Dim::Register, Dim::Lane, Dim::Warp})
    for (int bit = 0; bit < layout.inBits(dim); ++bit)
      if (layout.freeBits(dim) >> bit & 1)
        columns[size_t(layout.inStart(dim) + bit)] |= Word(1)
                                                      << (bits + replicas++);
  return {layout.ins(), {{Dim::Dim0, bits}, {Dim::Dim1, replicas}}, columns};
}

const char *elementsText = R"(
func.func @convert(%in: !tile.ptr<$T>, %out: !tile.ptr<$T>) {
  %i = tile.range 0, $N : $SRC_i32
  %p = tile.splat %in : !tile.ptr<$T> -> $SRC_PTR
  %q = tile.addptr %p, %i : $SRC_PTR, $SRC_i32
  %x = tile.load %q : $SRC_PTR
  $BEFORE
  %y = tile.convert_layout %v : $SRC_E -> $DST_E
  $AFTER
  %e = tile.expand_dims %w, 1 : $DST_T -> $COL_T
  %b = tile.broadcast %e : $COL_T -> $ALL_T
  %j = tile.range 0, $M : $FLAT_i32
  %k = tile.reshape %j : $FLAT_i32 -> $ALL_i32
  %s = tile.splat %out : !tile.ptr<$T> -> $ALL_PTR
  %t = tile.addptr %s, %k : $ALL_PTR, $ALL_i32
  tile.store %t, %b : $ALL_PTR, $ALL_T
  return
}
)";

struct Kind {
  std::string memory;  // element type in memory
  std::string element; // converted type
  int bytes;           // in memory
  int converted;       // bytes of a converted element
};

std::string kernelText(const Kind &kind, const LinearLayout &src,
                       const LinearLayout &dst) {
  LinearLayout all = withReplicas(dst);
  LinearLayout flat = reshape(all, {int64_t(1) << all.outBits()});
  LinearLayout column = expandDims(dst, 1);
  std::string before, after, text = elementsText;
  if (kind.element == "i1") {
    before = R"(%z = arith.constant dense<0> : $SRC_T
  %v = arith.cmpi ne, %x, %z : $SRC_T)";
    after = "%w = arith.extui %y : $DST_E to $DST_T";
  } else if (kind.element == "!tile.ptr<" + kind.memory + ">") {
    // What is read first is thrown away: the addresses are converted.
    text = replaced(text, "%x = tile.load %q : $SRC_PTR", "");
    before = "";
    text = replaced(text, "%v :", "%q :");
    after = "%w = tile.load %y : $DST_E";
  } else {
    text = replaced(text, "%v :", "%x :");
    text = replaced(text, "%w, 1", "%y, 1");
  }
  text = replaced(text, "$BEFORE", before);
  text = replaced(text, "$AFTER", after);
  for (auto [name, layout] : {std::pair{"$SRC", &src},
                              {"$DST", &dst},
                              {"$COL", &column},
                              {"$ALL", &all},
                              {"$FLAT", &flat}})
    for (auto [suffix, element] :
         {std::pair<std::string, std::string>{"_i32", "i32"},
          {"_PTR", "!tile.ptr<" + kind.memory + ">"},
          {"_T", kind.memory},
          {"_E", kind.element}})
      text = replaced(text, name + suffix, tensorText(*layout, element));
  text = replaced(text, "$T", kind.memory);
  text = replaced(text, "$N", std::to_string(int64_t(1) << src.outBits()));
  return replaced(text, "$M", std::to_string(int64_t(1) << all.outBits()));
}

sim::Report expectArrives(const Kind &kind, const LinearLayout &src,
                          const LinearLayout &dst, const std::string &what) {
  GpuKernelOptions how;
  how.assignLayouts = false;
  how.numWarps = int(src.inSize(Dim::Warp));
  GpuKernel kernel(kernelText(kind, src, dst), how);
  size_t n = size_t(1) << src.outBits(), bytes = size_t(kind.bytes);
  size_t replicas = size_t(1) << withReplicas(dst).outBits(Dim::Dim1);
  std::mt19937 random{unsigned(n)};
  std::vector<uint8_t> in(n * bytes), out(n * replicas * bytes, 0xee);
  for (uint8_t &byte : in)
    byte = uint8_t(random());
  if (kind.element == "i1")
    for (uint8_t &byte : in)
      byte &= 1;
  sim::Report report = kernel.run({1}, {in, out});
  for (size_t i = 0; i < n; ++i)
    for (size_t replica = 0; replica < replicas; ++replica)
      if (std::memcmp(&in[i * bytes], &out[(i * replicas + replica) * bytes],
                      bytes)) {
        ADD_FAILURE() << what << ": element " << i << ", replica " << replica
                      << "\n"
                      << src.str() << dst.str() << kernel.ptx;
        return report;
      }
  return report;
}

const Kind kinds[] = {{"i8", "i1", 1, 1},     {"i8", "i8", 1, 1},
                      {"i16", "i16", 2, 2},   {"f16", "f16", 2, 2},
                      {"bf16", "bf16", 2, 2}, {"f32", "f32", 4, 4},
                      {"i32", "i32", 4, 4},   {"i64", "i64", 8, 8},
                      {"f64", "f64", 8, 8},   {"i32", "!tile.ptr<i32>", 4, 8}};

ConversionKind planned(const Kind &kind, const LinearLayout &src,
                       const LinearLayout &dst) {
  codegen::gpu::GpuOptions options;
  options.target = GpuTarget::parse("sm_80");
  return codegen::gpu::planOf(src, dst, kind.converted, options)->kind;
}

// Layouts as kernels have them and arbitrary ones, with replicas in lanes and
// warps, from fewer elements than threads to 32 a thread.
TEST(GpuConvert, RandomPairsOfLayouts) {
  Random random(7);
  std::map<ConversionKind, int> seen;
  for (int trial = 0; trial < 120; ++trial) {
    const Kind &kind = kinds[trial % std::size(kinds)];
    int warps = random.below(4);
    int bits = 3 + random.below(5 + warps);
    Extents outs = {{Dim::Dim0, bits}};
    LinearLayout src = random.distributed(outs, warps, random.below(3),
                                          trial % 3 != 0),
                 dst = random.distributed(outs, warps, random.below(3),
                                          trial % 3 != 0);
    ++seen[planned(kind, src, dst)];
    expectArrives(kind, src, dst, kind.element + " " + std::to_string(trial));
    if (testing::Test::HasFailure())
      return;
  }
  EXPECT_GT(seen[ConversionKind::Shared], 10);
}

// Only lanes and registers are permuted: the conversion uses shuffles or a
// warp's separate scratch memory.
TEST(GpuConvert, WithinAWarp) {
  Random random(3);
  std::map<ConversionKind, int> seen;
  for (int trial = 0; trial < 120; ++trial) {
    const Kind &kind = kinds[trial % std::size(kinds)];
    int warps = random.below(3), bits = 4 + random.below(4);
    // One warp's layouts, the same warps on both sides.
    Extents outs = {{Dim::Dim0, bits}};
    LinearLayout src = random.distributed(outs, 0, random.below(2), true),
                 dst = src;
    if (trial % 2) {
      dst = random.distributed(outs, 0, random.below(2), true);
    } else { // a register bit and a lane bit, or two lane bits
      std::vector<Word> columns = src.columns();
      std::swap(columns[size_t(random.below(int(columns.size())))],
                columns[size_t(random.below(int(columns.size())))]);
      dst = LinearLayout(src.ins(), src.outs(), columns);
    }
    LinearLayout spread = identity(1 << warps, Dim::Warp, Dim::Dim0);
    ++seen[planned(kind, src * spread, dst * spread)];
    expectArrives(kind, src * spread, dst * spread,
                  kind.element + " " + std::to_string(trial));
    if (testing::Test::HasFailure())
      return;
  }
  EXPECT_GT(seen[ConversionKind::Shuffle], 10);
  EXPECT_GT(seen[ConversionKind::Registers] + seen[ConversionKind::None], 2);
}

LinearLayout flat(const LinearLayout &layout) {
  return reshape(layout, {int64_t(1) << layout.outBits()});
}

// S^T as an accumulator becomes P^T as an operand by transposing 8x8 blocks.
TEST(GpuConvert, Movmatrix) {
  for (int64_t warps : {1, 4}) {
    std::vector<int64_t> shape = {64, 8 * warps};
    LinearLayout src = flat(mmaAccumulator(shape, {{1, warps}})),
                 dst = flat(mmaOperandB(shape, {{1, warps}}, 2));
    ASSERT_EQ(planned(kinds[3], src, dst), ConversionKind::Movmatrix);
    expectArrives(kinds[3], src, dst, "movmatrix");
  }
}

// What a dot wants, from what a load gives: ldmatrix, no bank conflicts.
TEST(GpuConvert, OperandsByLdmatrix) {
  int matrices = 0;
  for (int64_t rows : {16, 32, 64, 128})
    for (int64_t columns : {16, 64, 128}) {
      std::vector<int64_t> shape = {rows, columns};
      int64_t lanes = std::min<int64_t>(columns / 8, 32);
      LinearLayout staged =
          blocked(shape, {{1, 8}, {32 / lanes, lanes}, {4, 1}, {}});
      for (bool first : {true, false}) {
        LinearLayout operand = first ? mmaOperandA(shape, {{2, 2}}, 2)
                                     : mmaOperandB(shape, {{2, 2}}, 2);
        codegen::gpu::GpuOptions options;
        options.target = GpuTarget::parse("sm_80");
        auto plan =
            codegen::gpu::planOf(flat(staged), flat(operand), 2, options);
        // Shuffles are cheaper if each warp holds a complete small tile.
        if (plan->kind == ConversionKind::Shuffle && rows * columns < 1024)
          continue;
        ASSERT_EQ(plan->kind, ConversionKind::Shared) << rows << "x" << columns;
        GpuKernelOptions how;
        how.assignLayouts = false;
        GpuKernel kernel(kernelText(kinds[3], flat(staged), flat(operand)),
                         how);
        // ldmatrix is not needed if a lane stores complete vectors that another
        // lane loads.
        auto load = plan->shared->load.kind;
        EXPECT_EQ(kernel.ptx.find("ldmatrix.sync.aligned.m8n8.") !=
                      std::string::npos,
                  load != AccessKind::Vector)
            << rows << "x" << columns << "\n"
            << kernel.ptx;
        EXPECT_EQ(kernel.ptx.find(".trans.shared") != std::string::npos,
                  load == AccessKind::LdmatrixTrans)
            << rows << "x" << columns;
        matrices += load != AccessKind::Vector;
        sim::Report report =
            expectArrives(kinds[3], flat(staged), flat(operand), "ldmatrix");
        // The number of bank passes equals the plan's, which has no conflict.
        EXPECT_EQ(plan->shared->store.ways, 1);
        EXPECT_EQ(plan->shared->load.ways, 1);
        EXPECT_LE(report.counters.sharedWays,
                  4u * unsigned(plan->shared->wavefronts()));
      }
    }
  EXPECT_GT(matrices, 8);
}

// Planning takes milliseconds, and scratch and lowering both ask: the second
// answer is the first one's object, and another question has its own.
TEST(GpuConvert, PlansAreRemembered) {
  const LinearLayout rows = blocked({64, 32}, {{1, 4}, {4, 8}, {4, 1}, {}}),
                     columns = blocked({64, 32}, {{4, 1}, {16, 2}, {1, 4}, {}});
  const codegen::gpu::GpuOptions options;
  const auto plan = codegen::gpu::planOf(rows, columns, 4, options);
  EXPECT_EQ(codegen::gpu::planOf(rows, columns, 4, options), plan);
  EXPECT_NE(codegen::gpu::planOf(columns, rows, 4, options), plan);
  EXPECT_NE(codegen::gpu::planOf(rows, columns, 2, options), plan);
  const auto trip = codegen::gpu::tripOf(rows, columns, 4);
  EXPECT_EQ(codegen::gpu::tripOf(rows, columns, 4), trip);
  EXPECT_NE(codegen::gpu::tripOf(rows, columns, 2), trip);
}

} // namespace
