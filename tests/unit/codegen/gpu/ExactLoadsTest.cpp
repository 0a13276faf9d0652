// tests/unit/codegen/gpu/ExactLoadsTest.cpp - joined loads never read past a
// tensor's end.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "tests/unit/codegen/gpu/GpuKernel.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

using namespace tessera;

namespace {

// q[0] = sum of (i + 1) * p[i] over the given i, each loaded as a scalar.
std::string sumKernel(const std::vector<int> &places, const std::string &type) {
  std::string text = "func.func @sum(%p: !tile.ptr<" + type +
                     "> {tile.divisibility = 16 : i32}, %q: !tile.ptr<" + type +
                     ">) {\n  %s0 = arith.constant 0 : " + type + "\n";
  int n = 0;
  for (int place : places) {
    const std::string i = std::to_string(n), at = std::to_string(place);
    text += "  %o" + i + " = arith.constant " + at + " : i32\n  %f" + i +
            " = arith.constant " + std::to_string(place + 1) + " : " + type +
            "\n  %a" + i + " = tile.addptr %p, %o" + i + " : !tile.ptr<" +
            type + ">, i32\n  %x" + i + " = tile.load %a" + i +
            " : !tile.ptr<" + type + ">\n  %y" + i + " = arith.muli %x" + i +
            ", %f" + i + " : " + type + "\n  %s" + std::to_string(n + 1) +
            " = arith.addi %s" + i + ", %y" + i + " : " + type + "\n";
    ++n;
  }
  return text + "  tile.store %q, %s" + std::to_string(n) + " : !tile.ptr<" +
         type + ">, " + type + "\n  return\n}\n";
}

// The simulator knows where the memory of an argument ends; that a load takes
// no more than the kernel asks for shows in what it counts.
template <typename T>
void checkSum(const std::string &type, const std::vector<int> &places) {
  SCOPED_TRACE(type + ", " + std::to_string(places.size()) + " loads");
  GpuKernelOptions how;
  how.numWarps = 1;
  GpuKernel kernel(sumKernel(places, type), how);
  std::vector<T> p(size_t(places.back()) + 1), q(1);
  std::iota(p.begin(), p.end(), T(3));
  // The allocation has the alignment that the attribute states.
  alignas(16) static T memory[16];
  std::copy(p.begin(), p.end(), memory);
  GpuArg in(p), out(q);
  in.address = memory;
  kernel.run({1}, {in, out});
  T expected = 0;
  for (int place : places)
    expected = T(expected + T(place + 1) * p[size_t(place)]);
  EXPECT_EQ(q[0], expected);
  // Words of a vector: as many as there are loads.
  size_t words = 0;
  std::string line;
  for (char c : kernel.ptx) {
    if (c != '\n') {
      line += c;
      continue;
    }
    if (line.find("ld.global") != line.npos)
      words += size_t(std::count(line.begin(), line.end(), '%')) - 1;
    line.clear();
  }
  EXPECT_EQ(words, places.size()) << kernel.ptx;
}

TEST(ExactLoads, NothingPastTheEnd) {
  for (int count : {1, 2, 3, 4, 5, 6, 7, 8}) {
    std::vector<int> places(static_cast<size_t>(count));
    std::iota(places.begin(), places.end(), 0);
    checkSum<int32_t>("i32", places);
    checkSum<int64_t>("i64", places);
  }
}

TEST(ExactLoads, NothingInGaps) {
  checkSum<int32_t>("i32", {0, 1, 3});
  checkSum<int32_t>("i32", {0, 2, 3});
  checkSum<int32_t>("i32", {0, 3});
  checkSum<int64_t>("i64", {0, 2});
}

// Four stay one instruction, and three are two.
TEST(ExactLoads, StillJoined) {
  const std::string four = GpuKernel(sumKernel({0, 1, 2, 3}, "i32")).ptx;
  EXPECT_NE(four.find("ld.global.v4.b32"), four.npos) << four;
  const std::string three = GpuKernel(sumKernel({0, 1, 2}, "i32")).ptx;
  EXPECT_NE(three.find("ld.global.v2.b32"), three.npos) << three;
}

} // namespace
