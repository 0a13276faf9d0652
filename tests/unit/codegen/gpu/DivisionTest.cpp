// tests/unit/codegen/gpu/DivisionTest.cpp - quotients that do not exist,
// indices outside of a tile, on sim.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "tests/unit/codegen/gpu/GpuKernel.h"

#include <gtest/gtest.h>

using namespace tessera;

namespace {

// %v: 64 elements of an argument.
std::string loadOf(const std::string &argument) {
  return "  %" + argument + "s = tile.splat %" + argument +
         " : !tile.ptr<i32> -> tensor<64x!tile.ptr<i32>>\n  %" + argument +
         "p = tile.addptr %" + argument +
         "s, %i : tensor<64x!tile.ptr<i32>>, tensor<64xi32>\n  %" + argument +
         "v = tile.load %" + argument + "p : tensor<64x!tile.ptr<i32>>\n";
}

std::string storeOf(const std::string &argument, const std::string &value) {
  return "  %" + argument + "s = tile.splat %" + argument +
         " : !tile.ptr<i32> -> tensor<64x!tile.ptr<i32>>\n  %" + argument +
         "p = tile.addptr %" + argument +
         "s, %i : tensor<64x!tile.ptr<i32>>, tensor<64xi32>\n  tile.store %" +
         argument + "p, " + value +
         " : tensor<64x!tile.ptr<i32>>, tensor<64xi32>\n";
}

// The kernel tests the divisor after the division. The compiler must not
// conclude from the division that the divisor is not zero.
TEST(GpuDivision, AZeroDivisorIsStillZero) {
  for (const char *op : {"divsi", "divui", "remsi", "remui"}) {
    GpuKernel kernel(
        "func.func @k(%x: !tile.ptr<i32>, %y: !tile.ptr<i32>, "
        "%o: !tile.ptr<i32>, %e: !tile.ptr<i32>, %n: i32) {\n"
        "  %i = tile.range 0, 64 : tensor<64xi32>\n" +
        loadOf("x") + loadOf("y") + "  %q = arith." + op +
        " %xv, %yv : tensor<64xi32>\n"
        "  %zero = arith.constant dense<0> : tensor<64xi32>\n"
        "  %other = arith.constant dense<77> : tensor<64xi32>\n"
        "  %none = arith.cmpi eq, %yv, %zero : tensor<64xi32>\n"
        "  %r = arith.select %none, %other, %q : tensor<64xi1>, "
        "tensor<64xi32>\n" +
        storeOf("o", "%r") +
        "  %c100 = arith.constant 100 : i32\n  %c0 = arith.constant 0 : i32\n"
        "  %c5 = arith.constant 5 : i32\n  %s = arith." +
        op +
        " %c100, %n : i32\n  %isZero = arith.cmpi eq, %n, %c0 : i32\n"
        "  %t = arith.select %isZero, %c5, %s : i32\n"
        "  tile.store %e, %t : !tile.ptr<i32>, i32\n  return\n}\n");
    std::vector<int32_t> x(64), y(64), o(64), e(1);
    for (int i = 0; i < 64; ++i) {
      x[i] = 1000 - 31 * i;
      y[i] = i % 5 == 0 ? 0 : i - 20;
    }
    x[7] = INT32_MIN, y[7] = -1;
    kernel.run({1}, {x, y, o, e, 0});
    EXPECT_EQ(e[0], 5) << op;
    for (int i = 0; i < 64; ++i)
      if (y[i] == 0) {
        EXPECT_EQ(o[i], 77) << op << " " << i;
      } else if (i != 7) {
        const uint32_t a = uint32_t(x[i]), b = uint32_t(y[i]);
        const std::string name = op;
        const int32_t wanted = name == "divsi"   ? x[i] / y[i]
                               : name == "remsi" ? x[i] % y[i]
                               : name == "divui" ? int32_t(a / b)
                                                 : int32_t(a % b);
        EXPECT_EQ(o[i], wanted) << op << " " << i;
      }
    kernel.run({1}, {x, y, o, e, 30});
    EXPECT_EQ(e[0], std::string(op).substr(0, 3) == "div" ? 3 : 10) << op;
  }
}

// gcd(a, b) = gcd(b, a % b). A loop carries the divisor, whose values LLVM does
// not know before the loop is complete.
TEST(GpuDivision, AZeroDivisorThatALoopCarriesIsStillZero) {
  const std::string step = "    %rest = arith.remsi %a, %b : i32\n"
                           "    %live = arith.cmpi ne, %b, %c0 : i32\n"
                           "    %t = arith.select %live, %rest, %c0 : i32\n"
                           "    %s = arith.select %live, %b, %a : i32\n";
  const std::string loops[] = {
      "  %g:2 = scf.for %i = %c0 to %c40 step %c1 iter_args(%a = %x, %b = %y) "
      "-> (i32, i32) : i32 {\n" +
          step + "    scf.yield %s, %t : i32, i32\n  }\n",
      "  %g:2 = scf.while (%a = %x, %b = %y) : (i32, i32) -> (i32, i32) {\n"
      "    %more = arith.cmpi ne, %b, %c0 : i32\n"
      "    scf.condition(%more) %a, %b : i32, i32\n  } do {\n"
      "  ^bb0(%a: i32, %b: i32):\n" +
          step + "    scf.yield %s, %t : i32, i32\n  }\n",
      // The divisor is an expression of the carried value.
      "  %g:2 = scf.for %i = %c0 to %c40 step %c1 iter_args(%a = %x, %h = %y) "
      "-> (i32, i32) : i32 {\n    %b = arith.ori %h, %h : i32\n" +
          step + "    scf.yield %s, %t : i32, i32\n  }\n"};
  for (const std::string &loop : loops) {
    GpuKernel kernel("func.func @k(%o: !tile.ptr<i32>, %x: i32, %y: i32) {\n"
                     "  %c0 = arith.constant 0 : i32\n"
                     "  %c1 = arith.constant 1 : i32\n"
                     "  %c40 = arith.constant 40 : i32\n" +
                     loop +
                     "  tile.store %o, %g#0 : !tile.ptr<i32>, i32\n"
                     "  return\n}\n");
    std::vector<int32_t> o(1);
    kernel.run({1}, {o, 252, 105});
    EXPECT_EQ(o[0], 21) << loop;
    kernel.run({1}, {o, 17, 0});
    EXPECT_EQ(o[0], 17) << loop;
  }
}

// The counter of a loop begins with zero.
TEST(GpuDivision, ALoopCounterIsZeroFirst) {
  GpuKernel kernel(
      "func.func @k(%o: !tile.ptr<i32>, %x: i32, %m: i32) {\n"
      "  %c0 = arith.constant 0 : i32\n  %c1 = arith.constant 1 : i32\n"
      "  %c7 = arith.constant 7 : i32\n"
      "  %s = scf.for %i = %c0 to %m step %c1 iter_args(%sum = %c0) -> (i32) "
      ": i32 {\n"
      "    %q = arith.divsi %x, %i : i32\n"
      "    %first = arith.cmpi eq, %i, %c0 : i32\n"
      "    %t = arith.select %first, %c7, %q : i32\n"
      "    %next = arith.addi %sum, %t : i32\n"
      "    scf.yield %next : i32\n  }\n"
      "  tile.store %o, %s : !tile.ptr<i32>, i32\n  return\n}\n");
  std::vector<int32_t> o(1);
  kernel.run({1}, {o, 100, 5});
  EXPECT_EQ(o[0], 7 + 100 + 50 + 33 + 25);
}

// By the constant zero: what follows happens all the same.
TEST(GpuDivision, AConstantZero) {
  for (const char *op : {"divsi", "divui", "remsi", "remui"}) {
    GpuKernel kernel("func.func @k(%x: !tile.ptr<i32>, %o: !tile.ptr<i32>, "
                     "%e: !tile.ptr<i32>, %n: i32) {\n"
                     "  %i = tile.range 0, 64 : tensor<64xi32>\n" +
                     loadOf("x") +
                     "  %c0 = arith.constant 0 : i32\n  %q = arith." + op +
                     " %n, %c0 : i32\n  %more = arith.cmpi sgt, %n, %c0 : i32\n"
                     "  %r = arith.select %more, %n, %q : i32\n"
                     "  tile.store %e, %r : !tile.ptr<i32>, i32\n" +
                     storeOf("o", "%xv") + "  return\n}\n");
    std::vector<int32_t> x(64, 9), o(64), e(1);
    kernel.run({1}, {x, o, e, 3});
    EXPECT_EQ(o, std::vector<int32_t>(64, 9)) << op;
    EXPECT_EQ(e[0], 3) << op;
  }
}

// What a division by zero gives differs between targets: the simulator reports
// where it is stored, and where it decides.
TEST(GpuDivision, AQuotientByZeroThatIsUsedIsReported) {
  for (const char *type : {"i8", "i16", "i32", "i64"})
    for (const char *op : {"divsi", "divui", "remsi", "remui"})
      for (bool decides : {false, true}) {
        const std::string t = type;
        GpuKernel kernel(
            "func.func @k(%o: !tile.ptr<" + t + ">, %a: i32, %b: i32) {\n" +
            (t == "i32" ? "  %zero = arith.constant 0 : i32\n"
                          "  %x = arith.addi %a, %zero : i32\n"
                          "  %y = arith.addi %b, %zero : i32\n"
             : t == "i64"
                 ? "  %x = arith.extsi %a : i32 to i64\n"
                   "  %y = arith.extsi %b : i32 to i64\n"
                 : "  %x = arith.trunci %a : i32 to " + t +
                       "\n  %y = arith.trunci %b : i32 to " + t + "\n") +
            "  %q = arith." + op + " %x, %y : " + t + "\n" +
            (decides
                 ? "  %more = arith.cmpi sgt, %q, %x : " + t +
                       "\n  scf.if %more {\n    tile.store %o, %x : "
                       "!tile.ptr<" +
                       t + ">, " + t + "\n  }\n"
                 : "  tile.store %o, %q : !tile.ptr<" + t + ">, " + t + "\n") +
            "  return\n}\n");
        SCOPED_TRACE(t + " " + op + (decides ? " decides" : " is stored"));
        std::vector<int32_t> o(2);
        kernel.run({1}, {o, 100, 7});
        const sim::Report report = kernel.tryRun({1}, {o, 100, 0});
        ASSERT_EQ(report.findings.size(), 1u);
        EXPECT_EQ(report.findings[0].check, sim::Check::DivisionByZero)
            << report.findings[0].message;
      }
}

TEST(GpuDivision, AGatherStaysInItsTile) {
  GpuKernel kernel("func.func @k(%x: !tile.ptr<i32>, %y: !tile.ptr<i32>, "
                   "%o: !tile.ptr<i32>) {\n"
                   "  %i = tile.range 0, 64 : tensor<64xi32>\n" +
                   loadOf("x") + loadOf("y") +
                   "  %g = tile.gather %xv, %yv, 0 : tensor<64xi32>, "
                   "tensor<64xi32> -> tensor<64xi32>\n" +
                   storeOf("o", "%g") + "  return\n}\n");
  std::vector<int32_t> x(64), y(64), o(64);
  const int32_t special[] = {64, -1, INT32_MIN, INT32_MAX, 1 << 20, -64, 63};
  for (int i = 0; i < 64; ++i) {
    x[i] = 1000 + i;
    y[i] = i % 3 == 0 ? 63 - i : special[i % 7];
  }
  kernel.run({1}, {x, y, o});
  for (int i = 0; i < 64; ++i)
    EXPECT_EQ(o[i], 1000 + (y[i] & 63)) << i;
}

} // namespace
