// tests/unit/tools/StallsTest.cpp - estimated stalls, against cycles counted by
// hand.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "tools/inspect/Stalls.h"

#include <gtest/gtest.h>

#include <map>

using namespace tessera;

namespace {

// "opcode": cycles and reason of each instruction that waits, by its line from
// 1 within the body. An A100: global memory 290 cycles, 1024 multiply-adds of
// an SM's four tensor cores a cycle.
using Waits = std::map<int, std::pair<double, std::string>>;

Waits waitsOf(const std::string &body, const std::string &target = "sm_80") {
  const std::string text = ".version 8.0\n.target sm_80\n.address_size 64\n"
                           ".visible .entry k(.param .u64 p)\n{\n" +
                           body + "}\n";
  const ptx::Listing ptx = ptx::readPtx(text);
  const std::vector<tools::Stall> stalls = tools::estimateStalls(ptx, target);
  EXPECT_EQ(stalls.size(), ptx.code.size());
  Waits waits;
  for (size_t i = 0; i < stalls.size(); ++i)
    if (stalls[i].cycles > 0)
      waits[int(ptx.code[i].textLine) - 5] = {stalls[i].cycles,
                                              stalls[i].reason};
    else
      EXPECT_STREQ(stalls[i].reason, "");
  return waits;
}

} // namespace

// The load is issued at 0, its result there at 290; at 1 there is nothing else.
TEST(Stalls, ALoadIsWaitedFor) {
  const std::string body = "ld.global.b32 %r1, [%rd1];\n"
                           "add.s32 %r2, %r1, 1;\n"
                           "st.global.b32 [%rd1], %r2;\n"
                           "ret;\n";
  EXPECT_EQ(waitsOf(body), (Waits{{2, {289, "global memory"}},
                                  // At 290 + 4, where 291 is next.
                                  {3, {3, "arithmetic"}}}));
  EXPECT_EQ(waitsOf(body, "sm_90")[2],
            (std::pair{477.0, std::string("global "
                                          "memory")}));
}

TEST(Stalls, LoadsSideBySideAreWaitedForOnce) {
  EXPECT_EQ(waitsOf("ld.global.b32 %r1, [%rd1];\n"
                    "add.s32 %r3, %r1, 1;\n"
                    "ld.global.b32 %r2, [%rd2];\n" // issued at 1
                    "add.s32 %r4, %r2, 1;\n"       // there at 291
                    "ret;\n"),
            (Waits{{2, {288, "global memory"}}}));
}

TEST(Stalls, OtherWorkGoesFirstAsFarAsItMay) {
  // Line 3 needs nothing of the load; line 4 overwrites what line 2 reads.
  EXPECT_EQ(waitsOf("ld.global.b32 %r1, [%rd1];\n"
                    "add.s32 %r2, %r1, %r5;\n"
                    "add.s32 %r3, %r4, 1;\n"
                    "mov.b32 %r5, 7;\n"
                    "ret;\n"),
            (Waits{{2, {288, "global memory"}}}));
  // A store waits for its value, and no access goes before it.
  EXPECT_EQ(waitsOf("ld.global.b32 %r1, [%rd1];\n"
                    "st.shared.b32 [%r9], %r1;\n"
                    "ld.shared.b32 %r2, [%r9];\n"
                    "add.s32 %r3, %r2, 1;\n"
                    "ret;\n"),
            (Waits{{2, {289, "global memory"}}, {4, {22, "shared memory"}}}));
  // A guard is read as well.
  EXPECT_EQ(waitsOf("ld.shared.b32 %r1, [%r9];\n"
                    "setp.eq.s32 %p1, %r1, 0;\n"
                    "@%p1 ex2.approx.f32 %f1, %f2;\n"
                    "add.f32 %f3, %f1, %f1;\n"
                    "ret;\n"),
            (Waits{{2, {22, "shared memory"}},
                   {3, {3, "arithmetic"}},
                   {4, {19, "special function"}}}));
}

// 16 x 8 x 16 products at 256 a cycle take the tensor core eight cycles; a
// chain waits for the result, 33.
TEST(Stalls, TensorCores) {
  const auto mma = [](const char *to, const char *sum) {
    return "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32\n{%f" +
           std::string(to) + "},\n{%r1, %r2, %r3, %r4},\n{%r5, %r6},\n{%f" +
           sum + "};\n";
  };
  EXPECT_EQ(waitsOf(mma("1", "2") + mma("3", "4") + "ret;\n"),
            (Waits{{6, {7, "tensor core busy"}}}));
  EXPECT_EQ(waitsOf(mma("1", "1") + mma("1", "1") + "ret;\n"),
            (Waits{{6, {32, "tensor core result"}}}));
}

// Two groups, committed at 1 and 3: the wait for all but one at 4 is for the
// first.
TEST(Stalls, AsynchronousCopies) {
  const std::string copies = "cp.async.cg.shared.global [%r1], [%rd1], 16;\n"
                             "cp.async.commit_group;\n"
                             "cp.async.cg.shared.global [%r2], [%rd2], 16;\n"
                             "cp.async.commit_group;\n";
  EXPECT_EQ(waitsOf(copies + "cp.async.wait_group 1;\nret;\n"),
            (Waits{{5, {287, "asynchronous copies"}}}));
  EXPECT_EQ(waitsOf(copies + "cp.async.wait_group 0;\nret;\n"),
            (Waits{{5, {289, "asynchronous copies"}}}));
  EXPECT_EQ(waitsOf(copies + "cp.async.wait_group 2;\nret;\n"), Waits());
}

// What the round before has loaded is waited for, and not what came before.
TEST(Stalls, ALoopWaitsForItsLastRound) {
  EXPECT_EQ(waitsOf("mov.b32 %r1, 0;\n"
                    "$L: add.s32 %r2, %r1, 1;\n"
                    "ld.global.b32 %r1, [%rd1];\n"
                    "@%p1 bra $L;\n" // issued one after the load
                    "ret;\n"),
            (Waits{{2, {288, "global memory"}}}));
}
