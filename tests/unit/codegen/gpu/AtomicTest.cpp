// tests/unit/codegen/gpu/AtomicTest.cpp - atomics against plain loops.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "support/Error.h"
#include "tests/unit/codegen/gpu/GpuKernel.h"
#include "tests/unit/codegen/gpu/GpuLayouts.h"

#include "llvm/ADT/APFloat.h"

#include <gtest/gtest.h>

#include <cmath>

using namespace tessera;

namespace {

std::string fill(std::string text,
                 const std::vector<std::pair<std::string, std::string>> &map) {
  for (const auto &[key, value] : map)
    for (size_t at; (at = text.find("$" + key)) != std::string::npos;)
      text.replace(at, key.size() + 1, value);
  return text;
}

// Elements of a named type as bits.
struct ElementType {
  std::string name;
  size_t bytes;
  const llvm::fltSemantics *semantics; // null: integers

  bool isFloat() const { return semantics; }
  uint64_t encode(double value) const {
    if (!isFloat())
      return uint64_t(int64_t(value)) & mask();
    llvm::APFloat number(value);
    bool loses;
    number.convert(*semantics, llvm::APFloat::rmNearestTiesToEven, &loses);
    return number.bitcastToAPInt().getZExtValue();
  }
  double decode(uint64_t bits) const {
    if (!isFloat()) {
      unsigned shift = unsigned(64 - 8 * bytes);
      return double(int64_t(bits << shift) >> shift);
    }
    llvm::APFloat number(*semantics, llvm::APInt(unsigned(8 * bytes), bits));
    bool loses;
    number.convert(llvm::APFloat::IEEEdouble(),
                   llvm::APFloat::rmNearestTiesToEven, &loses);
    return number.convertToDouble();
  }
  uint64_t mask() const { return ~uint64_t(0) >> (64 - 8 * bytes); }
};

const std::vector<ElementType> &types() {
  static const std::vector<ElementType> all = {
      {"i32", 4, nullptr},
      {"i64", 8, nullptr},
      {"f32", 4, &llvm::APFloat::IEEEsingle()},
      {"f64", 8, &llvm::APFloat::IEEEdouble()},
      {"f16", 2, &llvm::APFloat::IEEEhalf()},
      {"bf16", 2, &llvm::APFloat::BFloat()},
      {"i16", 2, nullptr}};
  return all;
}

// Memory of elements of one type.
struct Elements {
  const ElementType &type;
  std::vector<uint8_t> bytes;

  Elements(const ElementType &type, size_t count)
      : type(type), bytes(count * type.bytes) {}
  uint64_t operator[](size_t i) const {
    uint64_t bits = 0;
    std::memcpy(&bits, &bytes[i * type.bytes], type.bytes);
    return bits;
  }
  void set(size_t i, uint64_t bits) {
    std::memcpy(&bytes[i * type.bytes], &bits, type.bytes);
  }
};

uint64_t combine(const std::string &kind, const ElementType &type, uint64_t a,
                 uint64_t b) {
  if (kind == "xchg")
    return b;
  if (kind == "add")
    return (a + b) & type.mask();
  if (kind == "umax" || kind == "umin")
    return (kind == "umax") == (a > b) ? a : b;
  if (kind == "and")
    return a & b;
  if (kind == "or")
    return a | b;
  if (kind == "xor")
    return a ^ b;
  double x = type.decode(a), y = type.decode(b);
  if (kind == "fadd")
    return type.encode(x + y);
  if (std::isnan(x) || std::isnan(y))
    return std::isnan(x) ? b : a;
  return (kind.find("max") != std::string::npos) == (x > y) ? a : b;
}

std::vector<std::string> kindsOf(const ElementType &type) {
  if (type.isFloat())
    return {"fadd", "fmax", "fmin", "xchg"};
  return {"add", "max", "min", "umax", "umin", "and", "or", "xor", "xchg"};
}

const char *rmwKernel = R"(
#l = $LAYOUT
func.func @rmw(%t: !tile.ptr<$T>, %at: !tile.ptr<i32>, %v: !tile.ptr<$T>,
               %m: !tile.ptr<i1>, %o: !tile.ptr<$T>) {
  %i = tile.range 0, $N : tensor<$Nxi32, #l>
  %as = tile.splat %at : !tile.ptr<i32> -> tensor<$Nx!tile.ptr<i32>, #l>
  %ap = tile.addptr %as, %i : tensor<$Nx!tile.ptr<i32>, #l>, tensor<$Nxi32, #l>
  %a = tile.load %ap : tensor<$Nx!tile.ptr<i32>, #l>
  %ts = tile.splat %t : !tile.ptr<$T> -> tensor<$Nx!tile.ptr<$T>, #l>
  %tp = tile.addptr %ts, %a : tensor<$Nx!tile.ptr<$T>, #l>, tensor<$Nxi32, #l>
  %vs = tile.splat %v : !tile.ptr<$T> -> tensor<$Nx!tile.ptr<$T>, #l>
  %vp = tile.addptr %vs, %i : tensor<$Nx!tile.ptr<$T>, #l>, tensor<$Nxi32, #l>
  %x = tile.load %vp : tensor<$Nx!tile.ptr<$T>, #l>
  %ms = tile.splat %m : !tile.ptr<i1> -> tensor<$Nx!tile.ptr<i1>, #l>
  %mp = tile.addptr %ms, %i : tensor<$Nx!tile.ptr<i1>, #l>, tensor<$Nxi32, #l>
  %k = tile.load %mp : tensor<$Nx!tile.ptr<i1>, #l>
  %old = $ATOMIC : tensor<$Nx!tile.ptr<$T>, #l>, tensor<$Nx$T, #l>
  $STORE
  return
}
)";
const char *storeOld = R"(
  %os = tile.splat %o : !tile.ptr<$T> -> tensor<$Nx!tile.ptr<$T>, #l>
  %op = tile.addptr %os, %i : tensor<$Nx!tile.ptr<$T>, #l>, tensor<$Nxi32, #l>
  tile.store %op, %old : tensor<$Nx!tile.ptr<$T>, #l>, tensor<$Nx$T, #l>)";

struct Case {
  std::string kind;
  bool masked = false, used = false, collide = false;
  std::string words = "";
};

void checkRmw(const RowLayout &row, const ElementType &type, const Case &how,
              const std::string &target = "sm_80") {
  SCOPED_TRACE(row.name + " " + type.name + " " + how.kind + " masked " +
               std::to_string(how.masked) + " used " +
               std::to_string(how.used));
  size_t n = size_t(row.size());
  std::string text = fill(
      rmwKernel, {{"STORE", how.used ? storeOld : ""},
                  {"ATOMIC", "tile.atomic_rmw " + how.kind + " %tp, %x " +
                                 (how.masked ? "mask %k " : "") + how.words},
                  {"LAYOUT", row.text()},
                  {"N", std::to_string(n)},
                  {"T", type.name}});
  GpuKernelOptions options;
  options.assignLayouts = false;
  options.target = target;
  GpuKernel kernel(text, options);

  std::mt19937 random(unsigned(n) + unsigned(type.bytes));
  Elements table(type, n), values(type, n), old(type, n);
  std::vector<int32_t> at(n);
  std::vector<uint8_t> mask(n);
  for (size_t i = 0; i < n; ++i) {
    // Small enough for exact sums in every order.
    auto number = [&] { return double(int(random() % 15) - 7); };
    table.set(i, type.encode(number()));
    values.set(i, type.encode(number()));
    at[i] = int32_t(how.collide ? random() % std::max<size_t>(n / 8, 1) : i);
    mask[i] = random() % 3 != 0;
  }
  if (!how.collide)
    std::shuffle(at.begin(), at.end(), random);
  if (how.masked)
    for (size_t i = 0; i < n; ++i)
      at[i] = mask[i] ? at[i] : -1 << 20; // touching it is an error
  Elements expected = table, expectedOld(type, n);
  for (size_t i = 0; i < n; ++i)
    if (!how.masked || mask[i]) {
      size_t place = size_t(at[i]);
      expectedOld.set(i, expected[place]);
      expected.set(place, combine(how.kind, type, expected[place], values[i]));
    }
  kernel.run({1}, {table.bytes, at, values.bytes, mask, old.bytes});
  for (size_t i = 0; i < n; ++i) {
    ASSERT_EQ(type.decode(table[i]), type.decode(expected[i]))
        << "element " << i << "\n"
        << kernel.ptx;
    if (how.used) {
      ASSERT_EQ(type.decode(old[i]), type.decode(expectedOld[i]))
          << "old element " << i << "\n"
          << kernel.ptx;
    }
  }
}

TEST(GpuAtomic, EveryKindOfEveryType) {
  std::vector<RowLayout> rows = rowLayouts();
  size_t turn = 0;
  for (const ElementType &type : types())
    for (const std::string &kind : kindsOf(type))
      for (bool used : {false, true}) {
        Case how{kind, turn % 2 == 0, used, !used && kind != "xchg"};
        checkRmw(rows[turn++ % 2 ? 1 : 0], type, how);
      }
}

TEST(GpuAtomic, EveryLayout) {
  for (const RowLayout &row : rowLayouts()) {
    // A sum counts how often each element was added.
    checkRmw(row, types()[0], {"add", true, true, false});
    checkRmw(row, types()[2], {"fadd", false, false, true});
    checkRmw(row, types()[5], {"fadd", true, true, false});
  }
}

TEST(GpuAtomic, OrderAndScope) {
  RowLayout row = rowLayouts()[0];
  for (std::string sem : {"relaxed", "acquire", "release", "acq_rel"})
    for (std::string scope : {"cta", "gpu", "sys"})
      for (bool used : {false, true})
        checkRmw(row, types()[0],
                 {"add", false, used, !used,
                  "{sem = \"" + sem + "\", scope = \"" + scope + "\"}"});
}

TEST(GpuAtomic, Bf16OfTheNextGeneration) {
  for (bool used : {false, true})
    checkRmw(rowLayouts()[1], types()[5], {"fadd", true, used, !used}, "sm_90");
}

// Neighbours that one lane holds are added by one instruction, where their
// address is that of a word and one mask serves both.
TEST(GpuAtomic, PairsOfNeighbours) {
  const char *text = R"(
func.func @pairs(%t: !tile.ptr<$T> {tile.divisibility = $ALIGNED : i32},
                 %v: !tile.ptr<$T> {tile.divisibility = 16 : i32},
                 %o: !tile.ptr<$T> {tile.divisibility = 16 : i32},
                 %n: i32 {tile.divisibility = 2 : i32}) {
  %i = tile.range 0, 512 : tensor<512xi32>
  %ns = tile.splat %n : i32 -> tensor<512xi32>
  %k = arith.cmpi slt, %i, %ns : tensor<512xi32>
  %vs = tile.splat %v : !tile.ptr<$T> -> tensor<512x!tile.ptr<$T>>
  %vp = tile.addptr %vs, %i : tensor<512x!tile.ptr<$T>>, tensor<512xi32>
  %x = tile.load %vp : tensor<512x!tile.ptr<$T>>
  %ts = tile.splat %t : !tile.ptr<$T> -> tensor<512x!tile.ptr<$T>>
  %tp = tile.addptr %ts, %i : tensor<512x!tile.ptr<$T>>, tensor<512xi32>
  %old = tile.atomic_rmw fadd %tp, %x mask %k : tensor<512x!tile.ptr<$T>>, tensor<512x$T>
  $STORE
  return
}
)";
  const char *store = R"(
  %os = tile.splat %o : !tile.ptr<$T> -> tensor<512x!tile.ptr<$T>>
  %op = tile.addptr %os, %i : tensor<512x!tile.ptr<$T>>, tensor<512xi32>
  tile.store %op, %old : tensor<512x!tile.ptr<$T>>, tensor<512x$T>)";
  for (const ElementType &type : types())
    for (std::string target : {"sm_80", "sm_90"})
      for (bool used : {false, true})
        for (bool isAligned : {true, false}) {
          if (!type.isFloat() || type.bytes != 2)
            continue;
          SCOPED_TRACE(type.name + " " + target + (used ? " used" : "") +
                       (isAligned ? " aligned" : ""));
          GpuKernelOptions options;
          options.target = target;
          GpuKernel kernel(fill(text, {{"STORE", used ? store : ""},
                                       {"ALIGNED", isAligned ? "16" : "2"},
                                       {"T", type.name}}),
                           options);
          bool hasAdd = type.name == "f16" || target == "sm_90";
          std::string word = "add.noftz." + type.name + "x2 ";
          EXPECT_EQ(kernel.ptx.find(word) != std::string::npos,
                    isAligned && hasAdd)
              << kernel.ptx;
          size_t n = 512, live = 390;
          Elements table(type, n), values(type, n), old(type, n);
          for (size_t i = 0; i < n; ++i) {
            table.set(i, type.encode(double(i % 13) - 6));
            values.set(i, type.encode(double(i % 7) - 3));
          }
          // Each element once.
          kernel.run({1}, {table.bytes, values.bytes, old.bytes,
                           GpuArg(int64_t(live))});
          for (size_t i = 0; i < n; ++i) {
            double before = double(i % 13) - 6, added = double(i % 7) - 3;
            ASSERT_EQ(type.decode(table[i]), i < live ? before + added : before)
                << i << "\n"
                << kernel.ptx;
            if (used && i < live) {
              ASSERT_EQ(type.decode(old[i]), before) << i;
            }
          }
        }
}

// docs/numerics.md: a NaN loses against a number.
TEST(GpuAtomic, ExtremesOfSpecialNumbers) {
  RowLayout row = rowLayouts()[0];
  const double infinity = INFINITY, nan = NAN;
  const std::vector<double> numbers = {-infinity, -2.5, -0x1p-24, -0.0, 0.0,
                                       0x1p-24,   1,    infinity, nan,  -nan};
  for (const ElementType &type : types()) {
    if (!type.isFloat())
      continue;
    for (std::string kind : {"fmax", "fmin"}) {
      SCOPED_TRACE(type.name + " " + kind);
      size_t n = size_t(row.size());
      std::string text =
          fill(rmwKernel, {{"STORE", ""},
                           {"ATOMIC", "tile.atomic_rmw " + kind + " %tp, %x"},
                           {"LAYOUT", row.text()},
                           {"N", std::to_string(n)},
                           {"T", type.name}});
      GpuKernelOptions options;
      options.assignLayouts = false;
      GpuKernel kernel(text, options);
      Elements table(type, n), values(type, n), old(type, n);
      std::vector<int32_t> at(n);
      std::vector<uint8_t> mask(n, 1);
      for (size_t i = 0; i < n; ++i) {
        at[i] = int32_t(i);
        table.set(i, type.encode(numbers[i / 10 % 10]));
        values.set(i, type.encode(numbers[i % 10]));
      }
      Elements before = table;
      kernel.run({1}, {table.bytes, at, values.bytes, mask, old.bytes});
      for (size_t i = 0; i < n; ++i) {
        double a = type.decode(before[i]), b = type.decode(values[i]);
        double expected = kind == "fmax" ? std::fmax(a, b) : std::fmin(a, b);
        double found = type.decode(table[i]);
        if (std::isnan(expected))
          EXPECT_TRUE(std::isnan(found)) << a << " " << b << " " << found;
        else
          EXPECT_EQ(found, expected) << a << " " << b; // -0 is 0
      }
    }
  }
}

TEST(GpuAtomic, CompareAndSwap) {
  std::vector<RowLayout> rows = rowLayouts();
  for (const RowLayout &row : {rows[1], rows[10], rows[11], rows[13], rows[15]})
    for (const ElementType &type : types()) {
      SCOPED_TRACE(row.name + " " + type.name);
      size_t n = size_t(row.size());
      std::string text = rmwKernel;
      text = fill(text, {{"STORE", R"(
  %os = tile.splat %o : !tile.ptr<$T> -> tensor<$Nx!tile.ptr<$T>, #l>
  %op = tile.addptr %os, %i : tensor<$Nx!tile.ptr<$T>, #l>, tensor<$Nxi32, #l>
  %e = tile.load %op : tensor<$Nx!tile.ptr<$T>, #l>
  %was = tile.atomic_cas %tp, %e, %x : tensor<$Nx!tile.ptr<$T>, #l>, tensor<$Nx$T, #l>
  tile.store %op, %was : tensor<$Nx!tile.ptr<$T>, #l>, tensor<$Nx$T, #l>)"},
                         {"ATOMIC", "tile.atomic_rmw xchg %tp, %x mask %k"},
                         {"LAYOUT", row.text()},
                         {"N", std::to_string(n)},
                         {"T", type.name}});
      GpuKernelOptions options;
      options.assignLayouts = false;
      GpuKernel kernel(text, options);
      std::mt19937 random{unsigned(n)};
      Elements table(type, n), values(type, n), expected(type, n);
      std::vector<int32_t> at(n);
      std::vector<uint8_t> mask(n, 0); // the exchange does nothing
      for (size_t i = 0; i < n; ++i) {
        at[i] = int32_t(n - 1 - i);
        table.set(n - 1 - i, type.encode(double(random() % 3)));
        values.set(i, type.encode(double(random() % 5) + 10));
        expected.set(i, type.encode(double(random() % 3)));
      }
      Elements before = table, comparand = expected;
      kernel.run({1}, {table.bytes, at, values.bytes, mask, expected.bytes});
      for (size_t i = 0; i < n; ++i) {
        size_t place = n - 1 - i;
        EXPECT_EQ(expected[i], before[place]) << i;
        EXPECT_EQ(table[place],
                  before[place] == comparand[i] ? values[i] : before[place])
            << i;
      }
    }
}

// Every program takes a ticket; all threads of a program agree on it.
TEST(GpuAtomic, ScalarsReachEveryThread) {
  for (int warps : {1, 4}) {
    GpuKernelOptions options;
    options.numWarps = warps;
    GpuKernel kernel(R"(
func.func @ticket(%counter: !tile.ptr<i32>, %lock: !tile.ptr<i64>, %y: !tile.ptr<i32>) {
  %one = arith.constant 1 : i32
  %c256 = arith.constant 256 : i32
  %wide = arith.constant 5 : i64
  %next = arith.constant 6 : i64
  %no = arith.constant false
  %mine = tile.atomic_rmw add %counter, %one : !tile.ptr<i32>, i32
  %nothing = tile.atomic_rmw add %counter, %one mask %no : !tile.ptr<i32>, i32
  %lost = tile.atomic_cas %lock, %wide, %next : !tile.ptr<i64>, i64
  %i = tile.range 0, 256 : tensor<256xi32>
  %start = arith.muli %mine, %c256 : i32
  %base = tile.addptr %y, %start : !tile.ptr<i32>, i32
  %ys = tile.splat %base : !tile.ptr<i32> -> tensor<256x!tile.ptr<i32>>
  %yp = tile.addptr %ys, %i : tensor<256x!tile.ptr<i32>>, tensor<256xi32>
  %sum = arith.addi %mine, %nothing : i32
  %low = arith.trunci %lost : i64 to i32
  %all = arith.addi %sum, %low : i32
  %v = tile.splat %all : i32 -> tensor<256xi32>
  tile.store %yp, %v : tensor<256x!tile.ptr<i32>>, tensor<256xi32>
  return
}
)",
                     options);
    std::vector<int32_t> counter(1), y(4 * 256, -1);
    std::vector<int64_t> lock(1, 5);
    kernel.run({4}, {counter, lock, y});
    EXPECT_EQ(counter[0], 4);
    EXPECT_EQ(lock[0], 6);
    int fives = 0;
    for (int program = 0; program < 4; ++program) {
      int32_t first = y[size_t(program) * 256];
      for (int i = 0; i < 256; ++i)
        ASSERT_EQ(y[size_t(program) * 256 + size_t(i)], first);
      EXPECT_TRUE(first == program + 5 || first == program + 6) << first;
      fives += first == program + 5;
    }
    EXPECT_EQ(fives, 1) << "one program found the lock open";
  }
}

// The tests above see replicas that act too.
TEST(GpuAtomic, WithoutPredicatesReplicasAddAgain) {
  GpuKernel kernel(R"(
#l = #tile.linear<32, register = [], lane = [[1], [2], [4], [8], [16]], warp = [[0], [0]]>
func.func @sum(%x: !tile.ptr<i32>) {
  %i = tile.range 0, 32 : tensor<32xi32, #l>
  %s = tile.splat %x : !tile.ptr<i32> -> tensor<32x!tile.ptr<i32>, #l>
  %p = tile.addptr %s, %i : tensor<32x!tile.ptr<i32>, #l>, tensor<32xi32, #l>
  %o = tile.atomic_rmw add %p, %i : tensor<32x!tile.ptr<i32>, #l>, tensor<32xi32, #l>
  return
}
)",
                   [] {
                     GpuKernelOptions how;
                     how.assignLayouts = false;
                     return how;
                   }());
  std::vector<int32_t> x(32);
  kernel.run({1}, {x});
  EXPECT_EQ(x[3], 3);
  size_t at = kernel.ptx.find("@%p", kernel.ptx.find("inline asm"));
  ASSERT_NE(at, std::string::npos) << kernel.ptx;
  kernel.ptx.erase(at, kernel.ptx.find(' ', at) - at);
  std::fill(x.begin(), x.end(), 0);
  kernel.run({1}, {x});
  EXPECT_EQ(x[3], 12);
}

TEST(GpuAtomic, BytesAreRefused) {
  EXPECT_THROW(GpuKernel(R"(
func.func @bytes(%p: !tile.ptr<i8>, %v: i8) {
  %o = tile.atomic_rmw add %p, %v : !tile.ptr<i8>, i8
  return
}
)"),
               Error);
}

} // namespace
