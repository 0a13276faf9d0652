// tests/unit/ptx/ListingTest.cpp - listings of PTX that other compilers and
// people write.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "ptx/Listing.h"
#include "support/Error.h"
#include "support/File.h"

#include <gtest/gtest.h>

using namespace tessera;
using namespace tessera::ptx;
using C = InstructionClass;

namespace {

std::string kernel(const std::string &body, const std::string &before = "") {
  return ".version 8.4\n.target sm_90a\n" + before +
         ".visible .entry k(.param .u64 p)\n{\n" + body + "}\n";
}

std::vector<size_t> targetsOf(const Listing &listing, size_t index) {
  return listing.code.at(index).targets;
}

std::string errorOf(const std::string &text) {
  try {
    readPtx(text, {}, "k.ptx");
  } catch (const Error &error) {
    return error.message;
  }
  return "";
}

} // namespace

TEST(Listing, BranchTablesMakeLoops) {
  const Listing listing = readPtx(kernel("$head:\n"
                                         "table: .branchtargets $head, $end;\n"
                                         "add.s32 %r1, %r1, 1;\n"
                                         "brx.idx %r1, table;\n"
                                         "mov.b32 %r2, 0;\n"
                                         "$end:\n"
                                         "ret;\n"));
  EXPECT_EQ(targetsOf(listing, 1), (std::vector<size_t>{0, 3}));
  EXPECT_FALSE(listing.code[1].fallsThrough);
  ASSERT_EQ(listing.loops.size(), 1u);
  EXPECT_EQ(listing.loops[0].body, (std::vector<size_t>{0, 1}));
}

// Two copies of one inline assembly have labels of one name.
TEST(Listing, LabelsBelongToTheirBlock) {
  const std::string block = "{\n.reg .pred p;\n"
                            "again:\n"
                            "setp.ne.s32 p, %r1, 0;\n"
                            "@p bra again;\n}\n";
  const Listing listing = readPtx(kernel(block + block + "ret;\n"));
  EXPECT_EQ(targetsOf(listing, 1), std::vector<size_t>{0});
  EXPECT_EQ(targetsOf(listing, 3), std::vector<size_t>{2});
  EXPECT_EQ(listing.loops.size(), 2u);
}

// The loop's text begins before its head, as after a rotation.
TEST(Listing, TheBodyOfALoopBeginsAtItsHead) {
  const Listing listing = readPtx(kernel("bra $head;\n"
                                         "$early:\n"
                                         "add.s32 %r1, %r1, 1;\n"
                                         "$head:\n"
                                         "setp.lt.s32 %p1, %r1, 9;\n"
                                         "@%p1 bra $early;\n"
                                         "ret;\n"));
  ASSERT_EQ(listing.loops.size(), 1u);
  EXPECT_EQ(listing.loops[0].textLine, 9u);
  EXPECT_EQ(listing.loops[0].body, (std::vector<size_t>{2, 3, 1}));
}

TEST(Listing, AnInstructionMayTakeSeveralLines) {
  const Listing listing = readPtx(kernel("@!%p1\n"
                                         "  ld.global.b32 %r1, /* ; */\n"
                                         "  [%rd1];\n"
                                         "ret;\n"));
  ASSERT_EQ(listing.code.size(), 2u);
  EXPECT_EQ(listing.code[0].kind, C::LoadGlobal);
  EXPECT_EQ(listing.code[0].textLine, 6u);
  EXPECT_EQ(listing.code[0].lastLine, 7u);
  EXPECT_EQ(listing.function.body[0].guard, "%p1");
  EXPECT_EQ(listing.function.line, 3u);
  EXPECT_EQ(listing.function.lastLine, 9u);
  EXPECT_FALSE(listing.code[1].fallsThrough);
}

TEST(Listing, RegistersCountInUnitsOf32Bits) {
  // Compilers do not use number 0 of a range.
  const std::string declared = ".reg .pred %p<9>;\n"  // none
                               ".reg .b16 %rs<3>;\n"  // 2
                               ".reg .f32 %f<5>;\n"   // 4
                               ".reg .b64 %rd<3>;\n"  // 2 * 2
                               ".reg .b128 %rq<2>;\n" // 4
                               ".reg .b32 a, b;\n";   // 2
  EXPECT_EQ(readPtx(kernel(declared + "ret;\n")).virtualRegisters, 16u);
}

TEST(Listing, SharedMemoryOfModuleAndKernel) {
  const Listing listing =
      readPtx(kernel(".shared .align 8 .b64 one;\nret;\n",
                     ".extern .shared .align 16 .b8 dynamic[];\n"
                     ".shared .align 4 .v4 .f32 tile[3];\n"
                     ".global .align 4 .b32 counter[100];\n"));
  EXPECT_EQ(listing.staticShared, 8u + 48u);
}

// The simulator refuses what its tables do not have; a listing keeps it.
TEST(Listing, KeepsNamesThatAreNotDeclared) {
  for (const char *body :
       {"mov.u32 %r1, %pm0;\nret;\n", "add.s32 %undeclared, %r1, 1;\nret;\n",
        "prototype: .callprototype (.param .b32 _) _ (.param .b64 _);\n"
        "call (%r1), %rd1, (%rd2), prototype;\nret;\n",
        "@%undeclared bra $end;\n$end:\nret;\n"}) {
    const std::string text =
        kernel(std::string(".reg .b32 %r<3>;\n.reg .b64 %rd<3>;\n") + body);
    const Listing listing = readPtx(text);
    EXPECT_EQ(listing.code.size(), 2u) << body;
    EXPECT_EQ(listing.code[0].fallsThrough, true) << body;
    EXPECT_THROW(parsePtx(text, "k.ptx"), Error) << body;
  }
}

TEST(Listing, OldVersionsAndNewInstructions) {
  const std::string old = ".version 6.5\n.target sm_70\n.entry k()\n{\n"
                          "tex.2d.v4.f32.f32 {%f1, %f2, %f3, %f4}, "
                          "[image, {%f5, %f6}];\nret;\n}\n";
  EXPECT_EQ(readPtx(old).version, "6.5");
  EXPECT_THROW(parsePtx(old, "k.ptx"), Error);
  const Listing listing = readPtx(
      kernel("wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16 {%f1, %f2, "
             "%f3, %f4}, %rd1, %rd2, %p1, 1, 1, 0, 0;\n"
             "wgmma.wait_group.sync.aligned 0;\n"
             "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::"
             "complete_tx::bytes [%r1], [%rd3, {%r2, %r3}], [%r4];\n"
             "cp.async.wait_all;\n"
             "cp.async.wait_group 3;\n"
             "ret;\n"));
  EXPECT_EQ(listing.counts[C::Mma], 1u);
  EXPECT_EQ(listing.counts[C::AsyncCopy], 1u);
  EXPECT_EQ(listing.counts[C::Barrier], 3u);
  EXPECT_EQ(listing.asyncWait, 3u);
  EXPECT_EQ(asyncGroupsLeft(listing.function.body[1]), None);
  EXPECT_EQ(asyncGroupsLeft(listing.function.body[3]), 0u);
}

TEST(Listing, ErrorsNameTheTextAndTheLine) {
  EXPECT_EQ(errorOf(kernel("add.s32 %r1, ;\n")),
            "k.ptx:5: expected an operand, found ';'");
  EXPECT_EQ(errorOf(kernel("bra $nowhere;\n")), "k.ptx:7: no label $nowhere");
  EXPECT_NE(errorOf("nothing").find("k.ptx:1: PTX text starts with .version"),
            std::string::npos);
  EXPECT_EQ(errorOf(".version 8.0\n.target sm_80\n.extern .entry k();\n"),
            "the PTX has no kernel");
}

// PTX that Triton made; the numbers are those of grep.
TEST(Listing, TritonsPtx) {
  const Listing listing =
      readPtx(readFile(TESSERA_TRITON_PTX "/matmul_fp16.ptx"), "matmul");
  EXPECT_EQ(listing.target, "sm_80");
  EXPECT_EQ(listing.threads, 128u);
  EXPECT_EQ(listing.virtualRegisters, 32u + 237 + 2 * 69);
  EXPECT_EQ(listing.counts[C::Mma], 16u);
  EXPECT_EQ(listing.counts[C::LoadMatrix], 8u);
  EXPECT_EQ(listing.counts[C::AsyncCopy], 12u);
  EXPECT_EQ(listing.counts[C::StoreGlobal], 32u);
  EXPECT_EQ(listing.counts[C::StoreShared], 8u);
  EXPECT_EQ(listing.counts[C::LoadShared], 8u);
  EXPECT_EQ(listing.asyncWait, 2u);
  ASSERT_EQ(listing.loops.size(), 1u);
  const ListedLoop &loop = listing.loops[0];
  EXPECT_EQ(listing.code[loop.body.front()].textLine, loop.textLine);
  EXPECT_GT(loop.textLine, 241u); // the line of the label
  EXPECT_EQ(listing.code[loop.body.back()].textLine, 324u);
  EXPECT_EQ(listing.function.body.size(), listing.code.size());
}
