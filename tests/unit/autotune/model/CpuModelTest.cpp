// tests/unit/autotune/model/CpuModelTest.cpp - the cost model of the cpu on
// texts whose work is counted by hand.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "autotune/model/CpuModel.h"
#include "autotune/search/Trials.h"

#include "support/Error.h"

#include <gtest/gtest.h>

using namespace tessera;
using namespace tessera::tune;

namespace {

// A kernel with this body; %arg0 are the slots, %arg1 the program, %arg3 the
// scratch.
std::string kernelOf(const std::string &body) {
  return "#alias = #llvm.alias_scope<id = distinct[1]<>, description = "
         "\"slot0\">\n"
         "module attributes {tessera.scratch_bytes = 65536 : i64} {\n"
         "  llvm.func @tessera_entry(%arg0: !llvm.ptr {llvm.readonly}, %arg1: "
         "!llvm.ptr {llvm.readonly}, %arg2: !llvm.ptr {llvm.readonly}, %arg3: "
         "!llvm.ptr {llvm.align = 64 : i64, llvm.noalias}) {\n" +
         body + "    llvm.return\n  }\n}\n";
}

// A loop over as many elements as the argument says for the program: 6
// operations on numbers, then for 16 elements two moves, one multiply-add, one
// addition.
const std::string sums = kernelOf(R"(
    %0 = llvm.load %arg0 invariant {alignment = 8 : i64} : !llvm.ptr -> !llvm.ptr
    %1 = llvm.load %arg1 {alignment = 4 : i64} : !llvm.ptr -> i32
    %2 = arith.extsi %1 : i32 to i64
    %3 = llvm.getelementptr %0[%2] : (!llvm.ptr, i64) -> !llvm.ptr, i32
    %4 = llvm.load %3 {alignment = 4 : i64} : !llvm.ptr -> i32
    %5 = arith.extsi %4 : i32 to i64
    %c0_i64 = arith.constant 0 : i64
    %c16_i64 = arith.constant 16 : i64
    scf.for %arg4 = %c0_i64 to %5 step %c16_i64  : i64 {
      %6 = llvm.load %arg3 {alias_scopes = [#alias], alignment = 4 : i64} : !llvm.ptr -> vector<16xf32>
      %7 = llvm.intr.fma(%6, %6, %6)  : (vector<16xf32>, vector<16xf32>, vector<16xf32>) -> vector<16xf32>
      %8 = arith.addf %7, %6 : vector<16xf32>
      llvm.store %8, %arg3 {alignment = 4 : i64} : vector<16xf32>, !llvm.ptr
    }
)");

CpuWork workOfProgram(const std::string &text, uint32_t program = 0,
                      unsigned vectorBits = 512,
                      const std::vector<int32_t> &argument = {}) {
  const CpuWorkCounter counter(readLoops(text), vectorBits);
  const int64_t slots[] = {
      int64_t(reinterpret_cast<uintptr_t>(argument.data()))};
  const ReadableMemory memory[] = {
      {argument.data(), argument.size() * sizeof(int32_t)}};
  return counter.of({program, 0, 0}, {2, 1, 1}, slots, memory);
}

} // namespace

TEST(CpuModel, WorkIsCountedInVectorsOfTheMachine) {
  // 32 elements are two iterations, 40 are three.
  EXPECT_EQ(workOfProgram(sums, 0, 512, {32, 40}), (CpuWork{.products = 2,
                                                            .arithmetic = 2,
                                                            .moves = 4,
                                                            .scalars = 6,
                                                            .iterations = 2}));
  EXPECT_EQ(workOfProgram(sums, 1, 256, {32, 40}), (CpuWork{.products = 6,
                                                            .arithmetic = 6,
                                                            .moves = 12,
                                                            .scalars = 6,
                                                            .iterations = 3}));
  EXPECT_EQ(workOfProgram(sums, 0, 512, {-1, 40}).iterations, 0);
}

TEST(CpuModel, ABoundThatIsNotKnownHasAFixedNumberOfTrips) {
  // The memory ends before the program's element.
  const CpuWork work = workOfProgram(sums, 1, 512, {32});
  EXPECT_EQ(work.iterations, CpuWorkCounter::unknownTrips);
  EXPECT_EQ(work.products, CpuWorkCounter::unknownTrips);
}

// A known branch is taken; of one that depends on an element both ways count
// half: 12 divisions' worth and 2.
TEST(CpuModel, Branches) {
  const std::string text = kernelOf(R"(
    %c1_i32 = arith.constant 1 : i32
    %0 = llvm.load %arg1 {alignment = 4 : i64} : !llvm.ptr -> i32
    %1 = arith.cmpi eq, %0, %c1_i32 : i32
    %2 = llvm.load %arg3 {alignment = 1 : i64} : !llvm.ptr -> i1
    %3 = scf.if %1 -> (i32) {
      %4 = arith.divsi %0, %c1_i32 : i32
      scf.yield %4 : i32
    } else {
      %4 = arith.addi %0, %c1_i32 : i32
      %5 = arith.addi %4, %c1_i32 : i32
      scf.yield %5 : i32
    }
    scf.if %2 {
      %4 = llvm.load %arg3 {alignment = 4 : i64} : !llvm.ptr -> vector<64xf32>
    }
    %c0_i32 = arith.constant 0 : i32
    scf.for %arg4 = %c0_i32 to %3 step %c1_i32  : i32 {
      %4 = arith.addi %arg4, %arg4 : i32
    }
)");
  // Program 1: 1 / 1 trips; 3 + 6 + 1 numbers, half of 4 vectors.
  EXPECT_EQ(workOfProgram(text, 1),
            (CpuWork{.moves = 2, .scalars = 10, .iterations = 1}));
  // Program 0: 0 + 1 + 1 trips; 3 + 2 + 2 numbers.
  EXPECT_EQ(workOfProgram(text, 0),
            (CpuWork{.moves = 2, .scalars = 7, .iterations = 2}));
}

// What loops carry is followed, a search among sums as kernels have it too.
TEST(CpuModel, NumbersThatLoopsCarry) {
  const std::string text = kernelOf(R"(
    %c0_i32 = arith.constant 0 : i32
    %c1_i32 = arith.constant 1 : i32
    %c3_i32 = arith.constant 3 : i32
    %c41_i32 = arith.constant 41 : i32
    %0 = scf.for %arg4 = %c0_i32 to %c3_i32 step %c1_i32 iter_args(%arg5 = %c1_i32) -> (i32)  : i32 {
      %5 = arith.addi %arg5, %arg5 : i32
      scf.if %arg5 {
      }
      scf.yield %5 : i32
    }
    %1:2 = scf.while (%arg4 = %c41_i32, %arg5 = %c0_i32) : (i32, i32) -> (i32, i32) {
      %5 = arith.cmpi slt, %arg5, %arg4 : i32
      scf.condition(%5) %arg4, %arg5 : i32, i32
    } do {
    ^bb0(%arg4: i32, %arg5: i32):
      %5 = arith.addi %arg5, %0 : i32
      scf.yield %arg4, %5 : i32, i32
    }
    scf.for %arg4 = %c0_i32 to %1#1 step %c1_i32  : i32 {
      %5 = llvm.load %arg3 {alignment = 4 : i64} : !llvm.ptr -> vector<16xf32>
    }
)");
  // 1 doubled three times is 8; 41 in steps of 8 are 6 trips and 7 questions
  // and end at 48, which is where the last loop ends.
  EXPECT_EQ(
      workOfProgram(text),
      (CpuWork{.moves = 48, .scalars = 3 + 6 + 7, .iterations = 3 + 6 + 48}));
}

// Four times three loads of 20 floats: two vectors of 16, or three of 8. Of an
// exponential twelve, and an i32 that overflows is negative: no trips.
TEST(CpuModel, NestsWithConstantBounds) {
  const std::string text = kernelOf(R"(
    %c0_i32 = arith.constant 0 : i32
    %c1_i32 = arith.constant 1 : i32
    %c3_i32 = arith.constant 3 : i32
    %c7_i32 = arith.constant 7 : i32
    %c2_i32 = arith.constant 2 : i32
    scf.for %arg4 = %c0_i32 to %c7_i32 step %c2_i32  : i32 {
      scf.for %arg5 = %c0_i32 to %c3_i32 step %c1_i32  : i32 {
        %1 = llvm.load %arg3 {alignment = 4 : i64} : !llvm.ptr -> vector<20xf32>
      }
      %0 = math.exp2 %arg3 : vector<16xf32>
    }
    %big = arith.constant 2147483647 : i32
    %0 = arith.addi %big, %c1_i32 : i32
    scf.for %arg4 = %c0_i32 to %0 step %c1_i32  : i32 {
    }
)");
  EXPECT_EQ(workOfProgram(text), (CpuWork{.arithmetic = 4 * 12,
                                          .moves = 24,
                                          .scalars = 1,
                                          .iterations = 4 + 12}));
  EXPECT_EQ(workOfProgram(text, 0, 256).moves, 36);
}

TEST(CpuModel, TextsThatAreNone) {
  for (const char *text :
       {"", "llvm.func @f(%arg0: !llvm.ptr) {",
        "llvm.func @f(%arg0: !llvm.ptr) {\n  %0 = arith.addi %1, %1 : i32\n}",
        "llvm.func @f(%arg0: !llvm.ptr) {\n  scf.for %arg4 = %arg0 {\n  }\n}"})
    EXPECT_THROW(readLoops(text), Error) << text;
  try {
    readLoops("llvm.func @f(%arg0: !llvm.ptr) {\n  %0 = a.b %1 : i32\n}");
  } catch (const Error &error) {
    EXPECT_EQ(error.message, "loops:2: there is no value %1");
  }
}

// All programs from samples, the largest of them, and the time.
TEST(CpuModel, TimeOfALaunch) {
  const std::vector<int32_t> lengths = {32, 48};
  const int64_t slots[] = {
      int64_t(reinterpret_cast<uintptr_t>(lengths.data()))};
  const ReadableMemory memory[] = {{lengths.data(), 8}};
  const LaunchWork work = launchWork(CpuWorkCounter(readLoops(sums), 512),
                                     {2, 1, 1}, slots, memory);
  EXPECT_EQ(work.all.products, 5);
  EXPECT_EQ(work.all.scalars, 12);
  EXPECT_EQ(work.largest.products, 3);
  EXPECT_EQ(work.programs, 2);
  const CpuConstants constants = {
      .nanoseconds = 2, .product = 3, .scalar = 0.5, .program = 100};
  const double all = 5 * 3 + 5 + 6 + 200, largest = 3 * 3 + 3 + 3 + 100;
  EXPECT_DOUBLE_EQ(predictedSeconds(work, 1, constants), all * 2e-9);
  EXPECT_DOUBLE_EQ(predictedSeconds(work, 8, constants), largest * 2e-9);
}

// 100 programs of which 32 are looked at: as many as there are.
TEST(CpuModel, ALaunchIsSampled) {
  const std::vector<int32_t> lengths(100, 32);
  const int64_t slots[] = {
      int64_t(reinterpret_cast<uintptr_t>(lengths.data()))};
  const ReadableMemory memory[] = {{lengths.data(), 400}};
  const LaunchWork work = launchWork(CpuWorkCounter(readLoops(sums), 512),
                                     {100, 1, 1}, slots, memory);
  EXPECT_DOUBLE_EQ(work.all.products, 200);
  EXPECT_EQ(work.programs, 100);
}

TEST(CpuModel, CandidatesAreCheckedInTheOrderOfTheirTimes) {
  std::vector<Trial> trials(6);
  for (Trial &trial : trials)
    trial.state = Trial::State::Compiled;
  const double seconds[] = {9e-6, 3e-6, 0, 1e-6, 2e-6, 5e-6};
  for (size_t i = 0; i < trials.size(); ++i)
    trials[i].predicted = seconds[i];
  trials[4].state = Trial::State::Excluded;
  EXPECT_EQ(compiledOnes(trials), (std::vector<size_t>{0, 3, 1, 5, 2}));
}
