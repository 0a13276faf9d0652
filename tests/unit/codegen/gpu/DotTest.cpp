// tests/unit/codegen/gpu/DotTest.cpp - matrix products on the simulator.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
//
// Operands are small multiples of 1/4 where every way to sum is exact, so that
// results are compared bit by bit with plain loops. Rounding has its own test.
#include "dialect/layout/RegisterLayouts.h"
#include "dialect/layout/ShapeOps.h"
#include "tests/unit/codegen/gpu/GpuKernel.h"
#include "tests/unit/codegen/gpu/LayoutText.h"
#include "tests/unit/dialect/layout/Random.h"

#include <gtest/gtest.h>

#include <cmath>

using namespace tessera;
using namespace tessera::layout;

namespace {

struct Problem {
  std::string type = "f16", sum = "f32", precision = "tf32";
  LinearLayout a, b, acc;
  int warps = 1;
};

std::string kernelText(const Problem &problem) {
  std::string text = R"(
func.func @dot(%a: !tile.ptr<$T>, %b: !tile.ptr<$T>, %c: !tile.ptr<$S>) {
)";
  auto load = [&](const std::string &name, const LinearLayout &layout,
                  const std::string &element) {
    int64_t size = int64_t(1) << layout.outBits();
    std::string part = R"(
  %$Xr = tile.range 0, $N : $FLAT
  %$Xi = tile.reshape %$Xr : $FLAT -> $INT
  %$Xs = tile.splat %$X : !tile.ptr<$E> -> $PTR
  %$Xp = tile.addptr %$Xs, %$Xi : $PTR, $INT
  %$Xv = tile.load %$Xp : $PTR
)";
    for (auto [from, to] :
         {std::pair<std::string, std::string>{"$X", name},
          {"$N", std::to_string(size)},
          {"$E", element},
          {"$FLAT", tensorText(reshape(layout, {size}), "i32")},
          {"$INT", tensorText(layout, "i32")},
          {"$PTR", tensorText(layout, "!tile.ptr<" + element + ">")}})
      part = replaced(part, from, to);
    text += part;
  };
  load("a", problem.a, problem.type);
  load("b", problem.b, problem.type);
  load("c", problem.acc, problem.sum);
  text += "  %d = tile.dot %av, %bv, %cv $P : $A, $B -> $C\n"
          "  tile.store %cp, %d : $Q, $C\n  return\n}\n";
  for (auto [from, to] :
       {std::pair<std::string, std::string>{"$P", problem.precision},
        {"$A", tensorText(problem.a, problem.type)},
        {"$B", tensorText(problem.b, problem.type)},
        {"$C", tensorText(problem.acc, problem.sum)},
        {"$Q", tensorText(problem.acc, "!tile.ptr<" + problem.sum + ">")},
        {"$T", problem.type},
        {"$S", problem.sum}})
    text = replaced(text, from, to);
  return text;
}

uint16_t bfloat(double x) {
  float value = float(x);
  uint32_t bits;
  std::memcpy(&bits, &value, 4);
  return uint16_t(bits >> 16);
}
_Float16 half(double x) { return static_cast<_Float16>(x); }

// The kernel's result and the plain sum, for operands made by `random`.
struct Outcome {
  std::vector<double> got, expected, magnitude;
  sim::Report report;
  std::string ptx;
};

template <typename T, typename S, typename Make>
Outcome execute(const Problem &problem, Make make,
                const std::function<double()> &random) {
  auto size = [](const LinearLayout &layout, int fromEnd) {
    const Extents &outs = layout.outs();
    return size_t(1) << outs[outs.size() - size_t(fromEnd)].bits;
  };
  size_t m = size(problem.acc, 2), n = size(problem.acc, 1),
         k = size(problem.a, 1),
         batch = (size_t(1) << problem.acc.outBits()) / (m * n);
  std::vector<double> x(batch * m * k), y(batch * k * n), z(batch * m * n);
  for (std::vector<double> *list : {&x, &y, &z})
    for (double &value : *list)
      value = random();
  std::vector<T> a, b;
  std::vector<S> c(z.begin(), z.end());
  for (double value : x)
    a.push_back(make(value));
  for (double value : y)
    b.push_back(make(value));
  GpuKernelOptions how;
  how.assignLayouts = false;
  how.numWarps = problem.warps;
  GpuKernel kernel(kernelText(problem), how);
  Outcome outcome;
  outcome.report = kernel.run({1}, {a, b, c});
  outcome.ptx = kernel.ptx;
  outcome.got.assign(c.begin(), c.end());
  for (size_t h = 0; h < batch; ++h)
    for (size_t i = 0; i < m; ++i)
      for (size_t j = 0; j < n; ++j) {
        double sum = S(z[(h * m + i) * n + j]), large = std::abs(sum);
        for (size_t p = 0; p < k; ++p) {
          double product = x[(h * m + i) * k + p] * y[(h * k + p) * n + j];
          sum += product;
          large += std::abs(product);
        }
        outcome.expected.push_back(sum);
        outcome.magnitude.push_back(large);
      }
  return outcome;
}

Outcome execute(const Problem &problem, const std::function<double()> &random) {
  auto same = [](double x) { return x; };
  if (problem.type == "f16")
    return execute<_Float16, float>(problem, half, random);
  if (problem.type == "bf16")
    return execute<uint16_t, float>(problem, bfloat, random);
  if (problem.type == "i8")
    return execute<int8_t, int32_t>(problem, same, random);
  if (problem.type == "f64")
    return execute<double, double>(problem, same, random);
  return execute<float, float>(problem, same, random);
}

Outcome expectExact(const Problem &problem, const std::string &what) {
  std::mt19937 engine(5);
  double unit = problem.type == "i8" ? 1 : 0.25;
  Outcome outcome =
      execute(problem, [&] { return unit * (int(engine() % 17) - 8); });
  for (size_t i = 0; i < outcome.got.size(); ++i)
    if (outcome.got[i] != outcome.expected[i]) {
      ADD_FAILURE() << what << " " << problem.type << " element " << i << ": "
                    << outcome.got[i] << ", not " << outcome.expected[i]
                    << "\na " << problem.a.str() << "b " << problem.b.str()
                    << "acc " << problem.acc.str();
      break;
    }
  return outcome;
}

size_t count(const std::string &text, const std::string &part) {
  size_t n = 0;
  for (size_t at = 0; (at = text.find(part, at)) != std::string::npos; ++at)
    ++n;
  return n;
}

struct TensorType {
  std::string type, sum;
  int m, k, kWidth;
};
const TensorType tensorTypes[] = {{"f16", "f32", 16, 16, 2},
                                  {"bf16", "f32", 16, 16, 2},
                                  {"f32", "f32", 16, 8, 1},
                                  {"i8", "i32", 16, 32, 4},
                                  {"f64", "f64", 8, 4, 1}};

Problem onTensorCores(const TensorType &type, std::vector<int64_t> shape,
                      int64_t k, std::vector<int64_t> warps, int wider) {
  Problem problem;
  problem.type = type.type;
  problem.sum = type.sum;
  MmaTile tile{warps, type.m};
  std::vector<int64_t> a = shape, b = shape;
  a[shape.size() - 1] = k;
  b[shape.size() - 2] = k;
  problem.a = mmaOperandA(a, tile, type.kWidth * wider);
  problem.b = mmaOperandB(b, tile, type.kWidth * wider);
  problem.acc = mmaAccumulator(shape, tile);
  for (int64_t n : warps)
    problem.warps *= int(n);
  return problem;
}

// Every type, tiles from one instruction on, warps in rows and columns, more
// rows, columns and warps than the tile has, K renumbered.
TEST(GpuDot, TensorCores) {
  struct Case {
    std::vector<int64_t> shape;
    int k; // instructions
    std::vector<int64_t> warps;
    int wider;
  };
  const Case cases[] = {
      {{16, 8}, 1, {1, 1}, 1},        {{32, 32}, 2, {1, 1}, 1},
      {{64, 32}, 2, {4, 1}, 1},       {{32, 64}, 4, {1, 4}, 1},
      {{64, 64}, 2, {2, 2}, 2},       {{16, 16}, 2, {2, 2}, 1},
      {{8, 64}, 1, {1, 2}, 1},        {{1, 16}, 2, {1, 1}, 1},
      {{16, 1}, 2, {4, 1}, 1},        {{2, 16, 32}, 1, {1, 1, 2}, 1},
      {{2, 16, 16}, 2, {2, 1, 1}, 1}, {{32, 16}, 4, {2, 1}, 4}};
  for (const TensorType &type : tensorTypes)
    for (const Case &item : cases) {
      Problem problem =
          onTensorCores(type, item.shape, int64_t(item.k) * type.k, item.warps,
                        std::min(item.wider, item.k));
      std::string what = type.type + " [" +
                         std::to_string(item.shape[item.shape.size() - 2]) +
                         ", " + std::to_string(item.shape.back()) + "] warps " +
                         std::to_string(item.warps[0]);
      Outcome outcome = expectExact(problem, what);
      EXPECT_GT(outcome.report.counters.tensorInstructions, 0u) << what;
      EXPECT_EQ(outcome.report.counters.sharedRequests, 0u) << what;
      if (testing::Test::HasFailure())
        return;
    }
}

// (b^T a^T)^T: rows of the instruction are columns of the result.
TEST(GpuDot, SwappedOperands) {
  for (const TensorType &type : tensorTypes)
    for (std::vector<int64_t> warps : {std::vector<int64_t>{1, 1}, {2, 2}}) {
      Problem turned = onTensorCores(type, {32, 16}, 2 * type.k, warps, 1);
      Problem problem = turned;
      problem.a = transpose(turned.b, {1, 0});
      problem.b = transpose(turned.a, {1, 0});
      problem.acc = transpose(turned.acc, {1, 0});
      Outcome outcome = expectExact(problem, "swapped");
      // As many instructions as the transposed problem needs.
      Outcome straight = expectExact(turned, "straight");
      EXPECT_EQ(outcome.report.counters.tensorInstructions,
                straight.report.counters.tensorInstructions);
      EXPECT_GT(outcome.report.counters.tensorInstructions, 0u);
      EXPECT_EQ(outcome.report.counters.sharedRequests, 0u);
    }
}

// No more instructions than the tile has.
TEST(GpuDot, InstructionsOfATile) {
  Outcome outcome = expectExact(
      onTensorCores(tensorTypes[0], {64, 64}, 32, {2, 2}, 1), "64x64x32");
  // A warp: 2 x 4 fragments, 2 steps of K.
  EXPECT_EQ(count(outcome.ptx, "mma.sync.aligned.m16n8k16"), 16u);
  EXPECT_EQ(outcome.report.counters.tensorInstructions, 64u);
}

LinearLayout blockedOf(Random &random, std::vector<int64_t> shape, int warps) {
  size_t rank = shape.size();
  Blocked how;
  how.perThread.assign(rank, 1);
  how.lanes.assign(rank, 1);
  how.warps.assign(rank, 1);
  how.perThread[rank - 1] = int64_t(1) << random.below(3);
  int64_t lanes = int64_t(1) << random.below(6);
  how.lanes[rank - 1] = lanes;
  how.lanes[rank - 2] = 32 / lanes;
  how.warps[size_t(random.below(int(rank)))] = warps;
  return blocked(shape, how);
}

// Any layouts at all: operands go through shared memory where they must.
TEST(GpuDot, MultiplyAddsOfAnyLayouts) {
  Random random(11);
  const char *types[][2] = {{"f32", "f32"},
                            {"f64", "f64"},
                            {"i8", "i32"},
                            {"f16", "f32"},
                            {"bf16", "f32"}};
  for (int trial = 0; trial < 40; ++trial) {
    Problem problem;
    problem.type = types[trial % 5][0];
    problem.sum = types[trial % 5][1];
    problem.precision = "ieee";
    problem.warps = 1 << random.below(4);
    auto size = [&] { return int64_t(1) << random.below(7); };
    int64_t m = size(), n = size(), k = size();
    std::vector<int64_t> batch;
    if (trial % 7 == 0)
      batch = {2};
    auto shape = [&](int64_t rows, int64_t columns) {
      std::vector<int64_t> all = batch;
      all.push_back(rows);
      all.push_back(columns);
      return all;
    };
    problem.a = blockedOf(random, shape(m, k), problem.warps);
    problem.b = blockedOf(random, shape(k, n), problem.warps);
    problem.acc = blockedOf(random, shape(m, n), problem.warps);
    Outcome outcome = expectExact(problem, std::to_string(trial));
    EXPECT_EQ(outcome.report.counters.tensorInstructions, 0u);
    if (testing::Test::HasFailure())
      return;
  }
}

// The tile of a plain matrix product: a loop over K, no conflicts of banks.
TEST(GpuDot, StagedTilesHaveNoConflicts) {
  Problem problem;
  problem.type = "f32";
  problem.precision = "ieee";
  problem.warps = 4;
  problem.a = blocked({64, 32}, {{1, 4}, {4, 8}, {4, 1}, {}});
  problem.b = blocked({32, 64}, {{1, 4}, {2, 16}, {4, 1}, {}});
  problem.acc = blocked({64, 64}, {{4, 4}, {4, 8}, {2, 2}, {}});
  Outcome outcome = expectExact(problem, "staged");
  for (const sim::InstructionCount &each : outcome.report.counters.instructions)
    if (each.requests && each.opcode.find("shared") != std::string::npos) {
      EXPECT_LE(each.ways, 4 * each.requests) << each.opcode;
    }
  EXPECT_LT(outcome.ptx.size(), 40000u) << "a loop, not all of K";
}

// A row and column that each thread has: no shared memory.
TEST(GpuDot, SmallTilesInRegisters) {
  Problem problem;
  problem.type = "f32";
  problem.precision = "ieee";
  problem.warps = 1;
  problem.acc = blocked({8, 8}, {{1, 2}, {8, 4}, {1, 1}, {}});
  problem.a = broadcast(blocked({8, 1}, {{1, 1}, {8, 4}, {1, 1}, {}}), 1, 16);
  problem.b = broadcast(blocked({1, 8}, {{1, 2}, {8, 4}, {1, 1}, {}}), 0, 16);
  Outcome outcome = expectExact(problem, "registers");
  EXPECT_EQ(outcome.report.counters.sharedRequests, 0u);
}

// The same with so many products that all of them would be thousands of
// instructions.
TEST(GpuDot, ManyProductsInRegistersAreALoop) {
  Problem problem;
  problem.type = "f32";
  problem.precision = "ieee";
  problem.warps = 1;
  problem.acc = blocked({64, 32}, {{8, 8}, {8, 4}, {1, 1}, {}});
  problem.a = broadcast(blocked({64, 1}, {{8, 1}, {8, 4}, {1, 1}, {}}), 1, 32);
  problem.b = broadcast(blocked({1, 32}, {{1, 8}, {8, 4}, {1, 1}, {}}), 0, 32);
  Outcome outcome = expectExact(problem, "loop");
  EXPECT_LT(count(outcome.ptx, "fma.rn.f32"), 64u * 32u);
}

// O = (A B) V: what the first dot leaves in registers is the operand of the
// second, with all warps along rows. K and V come from shared memory, a slice
// at a time.
TEST(GpuDot, ChainedDotsKeepTheirRegisters) {
  for (int64_t warps : {1, 2, 4}) {
    MmaTile tile{{warps, 1}};
    int64_t rows = 16 * warps;
    LinearLayout a = mmaOperandA({rows, 32}, tile, 2),
                 b = mmaOperandB({32, 64}, tile, 2),
                 s = mmaAccumulator({rows, 64}, tile),
                 p = mmaOperandA({rows, 64}, tile, 2),
                 v = mmaOperandB({64, 32}, tile, 2),
                 o = mmaAccumulator({rows, 32}, tile);
    Problem problem; // for its loads
    problem.a = a;
    problem.b = v;
    problem.acc = o;
    std::string text = kernelText(problem);
    size_t dot = text.find("  %d = tile.dot");
    std::string middle = R"(
  %kr = tile.range 0, 2048 : $FLAT
  %ki = tile.reshape %kr : $FLAT -> $BINT
  %kg = tile.splat %k : !tile.ptr<f16> -> $BPTR
  %kp = tile.addptr %kg, %ki : $BPTR, $BINT
  %kl = tile.load %kp : $BPTR
  %m = tile.smem_alloc : $MEM
  %zero32 = arith.constant 0 : i32
  %m0 = tile.smem_index %m[%zero32] : $MEM
  tile.smem_store %kl, %m0 : $BTYPE -> $MEM
  tile.barrier
  %kv = tile.smem_load %m0 : $MEM -> $BTYPE
  %z = arith.constant dense<0.0> : $STYPE
  %s = tile.dot %av, %kv, %z tf32 : $ATYPE, $BTYPE -> $STYPE
  %h = arith.truncf %s : $STYPE to $SHALF
  %p = tile.convert_layout %h : $SHALF -> $PTYPE
  %d = tile.dot %p, %bv, %cv tf32 : $PTYPE, $VTYPE -> $OTYPE
)";
    std::string memory = "#tile.shared<32x64, offset = [";
    for (int bit = 0; bit < 11; ++bit) // rows of 128 bytes, swizzled
      memory +=
          std::string(bit ? ", [" : "[") +
          std::to_string(bit < 6 ? 0 : 1 << (bit - 6)) + ", " +
          std::to_string(bit < 6 ? 1 << bit : (bit < 9 ? 8 << (bit - 6) : 0)) +
          "]";
    memory = "!tile.smem<1 x 32x64xf16, " + memory + "]>>";
    for (auto [from, to] : {std::pair<std::string, std::string>{
                                "$FLAT", tensorText(reshape(b, {2048}), "i32")},
                            {"$BINT", tensorText(b, "i32")},
                            {"$BPTR", tensorText(b, "!tile.ptr<f16>")},
                            {"$BTYPE", tensorText(b, "f16")},
                            {"$ATYPE", tensorText(a, "f16")},
                            {"$STYPE", tensorText(s, "f32")},
                            {"$SHALF", tensorText(s, "f16")},
                            {"$PTYPE", tensorText(p, "f16")},
                            {"$VTYPE", tensorText(v, "f16")},
                            {"$OTYPE", tensorText(o, "f32")},
                            {"$MEM", memory}})
      middle = replaced(middle, from, to);
    text =
        text.substr(0, dot) + middle + text.substr(text.find("  tile.store"));
    text = replaced(text, "%c: !tile.ptr<f32>",
                    "%c: !tile.ptr<f32>, %k: !tile.ptr<f16>");
    GpuKernelOptions how;
    how.assignLayouts = false;
    how.numWarps = int(warps);
    GpuKernel kernel(text, how);
    std::mt19937 engine(9);
    auto fill = [&](size_t n) {
      std::vector<_Float16> list;
      for (size_t i = 0; i < n; ++i)
        list.push_back(half(0.25 * (int(engine() % 5) - 2)));
      return list;
    };
    std::vector<_Float16> x = fill(size_t(rows) * 32), w = fill(64 * 32),
                          y = fill(32 * 64);
    std::vector<float> c(size_t(rows) * 32, 0.5f);
    sim::Report report = kernel.run({1}, {x, w, c, y});
    for (size_t i = 0; i < size_t(rows); ++i)
      for (size_t j = 0; j < 32; ++j) {
        double sum = 0.5;
        for (size_t t = 0; t < 64; ++t) {
          double inner = 0;
          for (size_t q = 0; q < 32; ++q)
            inner += double(x[i * 32 + q]) * double(y[q * 64 + t]);
          sum += inner * double(w[t * 32 + j]);
        }
        ASSERT_EQ(c[i * 32 + j], float(sum)) << i << " " << j;
      }
    // One trip of K through shared memory and nothing of S or P.
    EXPECT_EQ(count(kernel.ptx, warps == 1 ? "bar.warp.sync" : "bar.sync"), 1u)
        << kernel.ptx;
    EXPECT_EQ(count(kernel.ptx, "shfl"), 0u);
    EXPECT_EQ(count(kernel.ptx, "ldmatrix"), 8u);
    EXPECT_LT(kernel.ptx.find("mma.sync"), kernel.ptx.rfind("ldmatrix"))
        << "all of K is loaded before the first product";
  }
}

// Any numbers: fp32 keeps 2^-23 of the largest partial sum, tf32 2^-10 of each
// product, three tf32 products all but 2^-21.
TEST(GpuDot, Rounding) {
  std::mt19937 engine(3);
  std::normal_distribution<float> normal;
  for (auto [precision, bound] :
       {std::pair{"ieee", 1e-6}, {"tf32", 2e-3}, {"tf32x3", 2e-6}}) {
    Problem problem = onTensorCores(tensorTypes[2], {32, 32}, 64, {2, 1}, 1);
    problem.precision = precision;
    Outcome outcome = execute(problem, [&] { return double(normal(engine)); });
    double worst = 0;
    for (size_t i = 0; i < outcome.got.size(); ++i)
      worst = std::max(worst, std::abs(outcome.got[i] - outcome.expected[i]) /
                                  outcome.magnitude[i]);
    EXPECT_LT(worst, bound) << precision;
    EXPECT_EQ(count(outcome.ptx, "cvt.rna.tf32") > 0,
              std::string(precision) == "tf32x3");
    if (std::string(precision) == "tf32") {
      EXPECT_GT(worst, 1e-5) << "not tf32 at all?";
    }
  }
}

} // namespace
