// tests/unit/simulator/machine/ReaderTest.cpp - the PTX reader and the
// instruction table.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "tests/unit/simulator/machine/Fixture.h"

#include "ptx/Tree.h"
#include "simulator/isa/Table.h"

#include <set>

namespace tessera::sim {
namespace {

std::string problemOf(const std::string &text) {
  try {
    Module::load(text, "t.ptx");
  } catch (const Error &error) {
    return error.what();
  }
  return "none";
}
std::string problemOfBody(const std::string &body) {
  return problemOf(kernelText(".param .u64 X", body));
}

void expectProblem(const std::string &problem, const std::string &part) {
  EXPECT_NE(problem.find(part), std::string::npos) << problem;
  EXPECT_NE(problem.find("t.ptx:"), std::string::npos) << problem;
}

TEST(SimReader, Module) {
  ptx::Module m = ptx::parsePtx(
      ".version 9.0\n.target sm_90a, debug\n.address_size 64\n"
      ".global .align 4 .b8 t[8] = {1, 2, 3, 0xff};\n"
      ".const .f32 c[2] = {1.5, 0f40000000};\n"
      ".global .b64 p = generic(t)+4;\n"
      ".visible .entry k(.param .u64 .ptr .global .align 16 a, .param .align 8 "
      ".b8 s[24])\n.maxntid 256, 1, 1\n.minnctapersm 2\n{\n"
      ".reg .pred %p<3>;\n.reg .b32 %r<7>, %x;\n"
      ".loc 1 5 2\n.loc 2 9 1, function_name $F, inlined_at 1 5 2\n"
      "$top: { .reg .b32 %r<2>; mov.u32 %r1, 7; bra.uni $end; }\n"
      "@!%p1 bra $top;\n$end: ret;\n}\n.file 1 \"/a/b/k.py\"\n"
      ".file 2 \"h.py\"\n.section .debug_info { .b8 1 { } }\n",
      "m.ptx");
  EXPECT_EQ(m.versionMajor, 9u);
  EXPECT_EQ(m.target, "sm_90a");
  ASSERT_EQ(m.variables.size(), 3u);
  EXPECT_EQ(m.variables[0].bytes, 8u);
  EXPECT_EQ(m.variables[0].init, (std::vector<uint8_t>{1, 2, 3, 255}));
  EXPECT_EQ(m.variables[1].init[3], 0x3f);
  EXPECT_EQ(m.variables[2].relocations[0].addend, 4);
  const ptx::Function &k = *m.find("k");
  EXPECT_EQ(k.maxntid[0], 256u);
  EXPECT_EQ(k.variables[1].bytes, 24u);
  ASSERT_EQ(k.body.size(), 4u);
  // The inner %r1 is not the outer one.
  EXPECT_EQ(k.registers[k.body[0].operands[0].index].name, "%r1");
  EXPECT_GE(k.body[0].operands[0].index, 11u);
  EXPECT_EQ(k.labels[k.body[1].operands[0].index].target, 3u);
  EXPECT_TRUE(k.body[2].predicateNegated);
  EXPECT_EQ(m.describe(k.body[0].location), "h.py:9:1, inlined at k.py:5:2");
}

TEST(SimReader, ProblemsNameTheLine) {
  expectProblem(problemOf("hello"), "t.ptx:1: PTX text starts with .version");
  expectProblem(problemOf(".version 6.4\n.target sm_70"), "6.4");
  expectProblem(problemOfBody("frob.b32 %r1;"), "no register %r1");
  expectProblem(problemOfBody(".reg .b32 %r<4>;\nadb.s32 %r1, %r2, %r3;"),
                "t.ptx:7: unknown instruction in 'adb.s32'");
  expectProblem(problemOfBody(".reg .b32 %r<4>;\nadb.s32 %r1, %r2, %r3;"),
                "did you mean");
  expectProblem(problemOfBody(".reg .b32 %r<4>; add.q32 %r1, %r2, %r3;"),
                "unknown instruction");
  expectProblem(problemOfBody(".reg .b32 %r<4>; add.s32 %r1, %r2;"),
                "number of operands");
  expectProblem(problemOfBody(".reg .b32 %r<4>; add.s64 %r1, %r2, %r3;"),
                "32 bits, 64 are needed");
  expectProblem(problemOfBody("bra $nowhere;"), "no label $nowhere");
  expectProblem(problemOfBody(".reg .b32 %r<4>; mov.u32 %r1, %tidx;"),
                "no register %tidx");
  expectProblem(problemOfBody("ret"), "expected an operand");
  expectProblem(problemOf(".version 8.0\n.target sm_80\n.visible .entry k() { "
                          "/* open"),
                "no end");
  expectProblem(problemOfBody(".reg .b32 %r<9999999999>;"), "registers");
  expectProblem(problemOfBody(std::string(200, '{')), "too deeply");
  expectProblem(
      problemOfBody(".reg .b32 %r<4>; mma.sync.aligned.m16n8k16.row."
                    "col.f32.f16.f16.f32 {%r1}, {%r1}, {%r1}, {%r1};"),
      "needs 4 registers");
  for (const char *text :
       {"ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%r1, %r2}, [%r3];",
        "stmatrix.sync.aligned.m8n8.x4.shared.b16 [%r3], {%r1, %r2};",
        "ld.shared.v4.b32 {%r1, %r2}, [%r3];"})
    expectProblem(problemOf(".version 8.7\n.target sm_90\n.visible .entry k() "
                            "{ .reg .b32 %r<4>; " +
                            std::string(text) + " ret; }"),
                  "2 registers where 4 are needed");
  expectProblem(problemOf(".version 8.0\n.target sm_80\n.func f() { call f; }\n"
                          ".visible .entry k() { call f; }"),
                "f");
}

TEST(SimReader, EveryRowOfTheTableIsReachable) {
  // The first alternative of every group of a row finds a row with the same
  // meaning: no earlier row hides it.
  std::set<std::string_view> mnemonics;
  for (const InstructionRow &row : instructionTable()) {
    mnemonics.insert(row.mnemonic);
    std::string opcode(row.mnemonic);
    for (const SuffixGroup &group : row.suffix)
      if (!group.optional)
        opcode += "." + std::string(group.alternatives[0]);
    Match match;
    std::string hint;
    ASSERT_TRUE(matchInstruction(
        opcode, static_cast<unsigned>(row.operands.size()), match, hint))
        << opcode << ": " << hint;
    EXPECT_EQ(match.row->sem, row.sem) << opcode;
  }
  EXPECT_GE(mnemonics.size(), 80u);
}

// What follows a comment at once is read.
TEST(SimReader, CommentsEndWhereTheySay) {
  EXPECT_EQ(problemOfBody("/* a\n * b */ret;"), "none");
  EXPECT_EQ(problemOfBody("/**/ret;"), "none");
  expectProblem(problemOfBody("/* a\n */?"), "t.ptx:");
  EXPECT_NE(problemOfBody("/* no end"), "none");
}

TEST(SimReader, CallsAreInlined) {
  Module module = Module::load(
      ".version 8.7\n.target sm_80\n.address_size 64\n"
      ".func (.param .b32 out) twice(.param .b32 in) { .reg .b32 %r<4>; "
      ".reg .pred %p1; ld.param.u32 %r1, [in]; setp.eq.u32 %p1, %r1, 3; "
      "add.u32 %r2, %r1, %r1; @%p1 mov.u32 %r2, 100; st.param.b32 [out], %r2; "
      "ret; }\n"
      ".visible .entry k(.param .u64 Y) { .reg .b32 %r<4>; .reg .b64 %rd<4>; "
      "ld.param.u64 %rd1, [Y]; mov.u32 %r1, %tid.x; mad.wide.u32 %rd2, %r1, 4, "
      "%rd1; { .param .b32 p; .param .b32 q; st.param.b32 [p], %r1; call.uni "
      "(q), twice, (p); ld.param.b32 %r2, [q]; } st.global.u32 [%rd2], %r2; "
      "ret;"
      " }",
      "call.ptx");
  std::vector<uint32_t> y(32);
  Memory memory;
  memory.add("Y", y.data(), 128);
  module.launch("k", {1, 1, 1}, {32, 1, 1}, 0, {pointer(y.data())}, memory)
      .throwIfBad();
  for (uint32_t t = 0; t < 32; ++t)
    EXPECT_EQ(y[t], t == 3 ? 100 : 2 * t);
}

// Loops and nested branches on the lane, against the same in C++.
TEST(SimReader, DivergenceMeetsAgain) {
  Module module = Module::load(kernelText(".param .u64 Y", R"(
    .reg .pred %p<4>; .reg .b32 %r<10>; .reg .b64 %rd<4>;
    ld.param.u64 %rd1, [Y];
    mov.u32 %r1, %tid.x;
    mad.wide.u32 %rd2, %r1, 4, %rd1;
    mov.u32 %r2, 0;
    mov.u32 %r3, 0;
  $loop:
    setp.ge.u32 %p1, %r3, %r1;
    @%p1 bra $done;
    and.b32 %r4, %r3, 1;
    setp.eq.u32 %p2, %r4, 0;
    @%p2 bra $even;
    add.u32 %r2, %r2, 100;
    bra.uni $next;
  $even:
    add.u32 %r2, %r2, 1;
  $next:
    add.u32 %r3, %r3, 1;
    bra $loop;
  $done:
    activemask.b32 %r5;
    setp.eq.u32 %p3, %r5, 0xffffffff;
    selp.b32 %r6, %r2, 0, %p3;
    st.global.u32 [%rd2], %r6;
    ret;)"),
                               "loop.ptx");
  std::vector<uint32_t> y(32);
  Memory memory;
  memory.add("Y", y.data(), 128);
  module.launch("k", {1, 1, 1}, {32, 1, 1}, 0, {pointer(y.data())}, memory)
      .throwIfBad();
  for (uint32_t t = 0; t < 32; ++t)
    EXPECT_EQ(y[t], (t + 1) / 2 + t / 2 * 100) << t;
}

} // namespace
} // namespace tessera::sim
