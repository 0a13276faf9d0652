// tests/unit/ptx/ReportTest.cpp - listings of PTX and SASS, the report.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "ptx/Ptxas.h"
#include "ptx/ResourceReport.h"
#include "support/Error.h"
#include "tests/unit/codegen/GpuKernels.h"

#include <gtest/gtest.h>

using namespace tessera;
using namespace tessera::ptx;
using C = InstructionClass;

TEST(GpuReport, Ptx) {
  const Listing listing = readPtx(test::loopsPtx);
  EXPECT_EQ(listing.kernel, "loops");
  EXPECT_EQ(listing.target, "sm_80");
  EXPECT_EQ(listing.version, "8.7");
  EXPECT_EQ(listing.threads, 128u);
  EXPECT_EQ(listing.staticShared, 48u);
  EXPECT_EQ(listing.virtualRegisters, 32u + 1u + 2 * 2u);
  EXPECT_EQ(listing.asyncWait, 2u);
  // What the text above has, counted by hand; the helper is not the kernel.
  const std::pair<C, uint32_t> wanted[] = {
      {C::Mma, 2},        {C::LoadMatrix, 1},  {C::AsyncCopy, 1},
      {C::LoadGlobal, 0}, {C::StoreGlobal, 1}, {C::LoadLocal, 1},
      {C::Barrier, 2},    {C::Move, 1},        {C::Branch, 4},
      {C::Other, 1},      {C::Alu, 2},         {C::StoreLocal, 0}};
  uint32_t total = 0;
  for (const auto &[kind, count] : wanted) {
    EXPECT_EQ(listing.counts[kind], count) << instructionClassName(kind);
    total += count;
  }
  EXPECT_EQ(listing.counts.total(), total);
}

TEST(GpuReport, Loops) {
  const Listing listing = readPtx(test::loopsPtx, "loops");
  ASSERT_EQ(listing.loops.size(), 2u);
  const ListedLoop &outer = listing.loops[0], &inner = listing.loops[1];
  EXPECT_FALSE(outer.innermost);
  EXPECT_EQ(outer.depth, 1u);
  EXPECT_EQ(outer.counts.total(), 11u);
  EXPECT_EQ(outer.firstLine, 11u);
  EXPECT_EQ(outer.lastLine, 16u);
  EXPECT_TRUE(inner.innermost);
  EXPECT_EQ(inner.depth, 2u);
  EXPECT_EQ(inner.counts.total(), 7u);
  EXPECT_EQ(inner.counts[C::Mma], 2u);
  // The call of the helper is in line 13.
  EXPECT_EQ(inner.firstLine, 13u);
  EXPECT_EQ(inner.lastLine, 15u);
  EXPECT_DOUBLE_EQ(loopNonTensorPerTensor(listing), 2.5);
}

// An iteration copies and multiplies, but masks only where it must: the way
// around the masks counts, the one around the copies does not.
TEST(GpuReport, ARoundWithoutWhatIsSkipped) {
  const Listing listing = readSass(R"sass(
        .headerflags    @"EF_CUDA_64BIT_ADDRESS EF_CUDA_SM80 EF_CUDA_VIRTUAL_SM(EF_CUDA_SM80)"
        .section        .text.guarded,"ax",@progbits
        .global         guarded
guarded:
.text.guarded:
.L_x_1:
        /*0010*/               @P1 BRA `(.L_x_2) ;
        /*0020*/                   IADD3 R2, R2, R3, RZ ;
        /*0030*/                   LDGSTS.E.BYPASS.128 [R9], [R2.64] ;
.L_x_2:
        /*0040*/                   HMMA.16816.F32.BF16 R12, R4, R8, R12 ;
        /*0050*/               @P2 BRA `(.L_x_3) ;
        /*0060*/                   FSEL R12, R12, -INF , P3 ;
        /*0070*/                   FSEL R13, R13, -INF , P4 ;
        /*0080*/                   FSEL R14, R14, -INF , P5 ;
.L_x_3:
        /*0090*/                   MUFU.EX2 R12, R12 ;
        /*00a0*/              @!P0 BRA `(.L_x_1) ;
        /*00b0*/                   EXIT ;
)sass",
                                   "guarded");
  ASSERT_EQ(listing.loops.size(), 1u);
  const ListedLoop &loop = listing.loops[0];
  EXPECT_EQ(loop.counts.total(), 10u);
  EXPECT_EQ(loop.iteration.total(), 7u);
  EXPECT_EQ(loop.iteration[C::AsyncCopy], 1u);
  EXPECT_EQ(loop.iteration[C::Mma], 1u);
  EXPECT_DOUBLE_EQ(loopNonTensorPerTensor(listing), 6);
}

// A block ends before a label, after a branch and after an EXIT of some
// threads. Lines of the kernel's own file are not PTX lines.
TEST(GpuReport, BlocksHaveTheLinesOfThePtx) {
  ReportInput input;
  input.target = GpuTarget::parse("sm_80");
  input.ptx = test::loopsPtx;
  input.sassOfPtx = R"sass(
        .section        .text.loops,"ax",@progbits
loops:
.text.loops:
        //## File ".nv_debug_ptx_txt.7", line 21
        /*0000*/                   LDG.E R4, [R2.64] ;
        /*0010*/               @P1 EXIT ;
        //## File "loops.py", line 12
        /*0020*/                   IADD3 R2, R2, R3, RZ ;
.L_x_1:
        //## File ".nv_debug_ptx_txt", line 30
        /*0030*/                   HMMA.16816.F32.BF16 R12, R4, R8, R12 ;
        /*0040*/              @!P0 BRA `(.L_x_1) ;
        /*0050*/                   EXIT ;
.L_x_2:
        /*0060*/                   BRA `(.L_x_2);
        /*0070*/                   NOP;
)sass";
  const Json report = makeReport(input);
  EXPECT_EQ(report.at("sass_blocks"),
            Json::parse(R"([[[21, "LDG"], [21, "EXIT"]], [[0, "IADD3"]],
                            [[30, "HMMA"], [30, "BRA"]], [[30, "EXIT"]]])"));
  input.sassOfPtx.clear();
  EXPECT_FALSE(makeReport(input).contains("sass_blocks"));
}

TEST(GpuReport, KernelsByName) {
  EXPECT_THROW(readPtx("nothing"), Error);
  EXPECT_THROW(readPtx(test::loopsPtx, "other"), Error);
  EXPECT_THROW(readSass("nothing"), Error);
  // A text that ends anywhere is read without harm.
  const std::string whole = test::loopsPtx;
  for (size_t size = 0; size < whole.size(); size += 7) {
    try {
      readPtx(std::string_view(whole).substr(0, size));
    } catch (const Error &) {
    }
  }
}

const char *const sassText = R"sass(
        .headerflags    @"EF_CUDA_64BIT_ADDRESS EF_CUDA_SM80 EF_CUDA_VIRTUAL_SM(EF_CUDA_SM80)"
        .section        .text.loops,"ax",@progbits
        .global         loops
loops:
.text.loops:
        //## File "/home/me/loops.py", line 10
        /*0000*/                   IMAD.MOV.U32 R1, RZ, RZ, c[0x0][0x28] ;
        //## File "loops.py", line 12
.L_x_1:
        /*0010*/                   LDSM.16.M88.4 R4, [R9] ;
        /*0020*/                   LDGSTS.E.BYPASS.128 [R9], [R2.64] ;
        /*0030*/                   HMMA.16816.F32.BF16 R12, R4, R8, R12 ;
        /*0040*/                   HMMA.16816.F32.BF16 R12, R4, R8, R12 ;
        /*0050*/              @!P0 BRA `(.L_x_1) ;
        //## File "loops.py", line 14
        /*0060*/               @P1 EXIT ;
        /*0070*/                   STL.64 [R1+0x8], R4 ;
        /*0080*/                   STG.E.128 [R2.64], R12 ;
        /*0090*/                   EXIT ;
.L_x_2:
        /*00a0*/                   BRA `(.L_x_2);
        /*00b0*/                   NOP;
.L_x_3:
)sass";

TEST(GpuReport, Sass) {
  const Listing listing = readSass(sassText, "loops");
  EXPECT_EQ(listing.target, "sm_80");
  ASSERT_EQ(listing.loops.size(), 1u);
  EXPECT_EQ(listing.loops[0].counts.total(), 5u);
  EXPECT_EQ(listing.loops[0].counts[C::Mma], 2u);
  EXPECT_EQ(listing.loops[0].counts[C::LoadMatrix], 1u);
  EXPECT_EQ(listing.loops[0].counts[C::AsyncCopy], 1u);
  EXPECT_EQ(listing.loops[0].firstLine, 12u);
  EXPECT_EQ(listing.counts[C::StoreLocal], 1u);
  EXPECT_EQ(listing.counts.total(), 10u);
  EXPECT_DOUBLE_EQ(loopNonTensorPerTensor(listing), 1.5);
}

TEST(GpuReport, Json) {
  Resources resources;
  resources.known = true;
  resources.registers = 168;
  resources.spillStores = 12;
  ReportInput input;
  input.target = GpuTarget::parse("sm_80");
  input.ptx = test::loopsPtx;
  input.resources = &resources;
  input.ptxasVersion = "12.8.93";
  input.sass = sassText;
  input.sharedBytes = 40000;
  input.buffers = {{"stages of K", 0, 32768, 14}, {"scratch", 32768, 7232, 0}};
  const Json report = makeReport(input);
  EXPECT_EQ(report["shared"], 40048);
  EXPECT_EQ(report["threads"], 128);
  EXPECT_EQ(report["blocks_per_sm"], 3);
  EXPECT_EQ(report["limited_by"], "registers");
  EXPECT_EQ(report["async_stages"], 3);
  EXPECT_EQ(report["spill_stores"], 12);
  EXPECT_EQ(report["loop_non_tensor_per_tensor"], 1.5);
  EXPECT_EQ(report["ptx"]["loop_non_tensor_per_tensor"], 2.5);
  EXPECT_EQ(report["ptx"]["loops"][1]["lines"], Json({13, 15}));
  EXPECT_EQ(report["shared_buffers"][0]["line"], 14);
  EXPECT_EQ(report.dump(), makeReport(input).dump());
  const std::string text = reportText(report);
  for (const char *part : {"168", "32768 at 0  stages of K (line 14)",
                           "limited by registers", "1.50 others per mma"})
    EXPECT_NE(text.find(part), std::string::npos) << part << "\n" << text;
  // Without ptxas what it would say is null, not zero.
  input.resources = nullptr;
  EXPECT_TRUE(makeReport(input)["registers"].is_null());
  EXPECT_TRUE(makeReport(input)["blocks_per_sm"].is_null());
}

TEST(GpuReport, Annotations) {
  std::string source;
  for (int i = 1; i <= 18; ++i)
    source += "    line " + std::to_string(i) + "\n";
  const std::string text =
      annotate(test::loopsPtx, readPtx(test::loopsPtx), {{"loops.py", source}});
  EXPECT_NE(text.find("// loops.py:10: line 10\n\tld.param.b64"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("// helpers.py:99: \n\tldmatrix"), std::string::npos);
  EXPECT_EQ(text.find("line 12"), std::string::npos);
  // Nothing else changes.
  std::string plain;
  for (std::string_view rest = text; !rest.empty();) {
    const size_t end = rest.find('\n');
    if (!rest.starts_with("// loops.py") && !rest.starts_with("// helpers.py"))
      plain += std::string(rest.substr(0, end)) + "\n";
    rest.remove_prefix(end + 1);
  }
  EXPECT_EQ(plain, test::loopsPtx);
}

TEST(GpuReport, ResourcesOfTheLog) {
  const char *const log =
      "ptxas info    : 11 bytes gmem, 8 bytes cmem[4]\n"
      "ptxas info    : Compiling entry function 'other' for 'sm_80'\n"
      "ptxas info    : Function properties for other\n"
      "    8 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads\n"
      "ptxas info    : Used 10 registers, used 0 barriers\n"
      "ptxas info    : Compiling entry function 'loops' for 'sm_80'\n"
      "ptxas info    : Function properties for loops\n"
      "    520 bytes stack frame, 516 bytes spill stores, 1032 bytes spill "
      "loads\n"
      "ptxas info    : Used 255 registers, used 1 barriers, 520 bytes "
      "cumulative stack size, 4096 bytes smem, 456 bytes cmem[0]\n";
  const Resources r = parseResources(log, "loops");
  EXPECT_TRUE(r.known);
  EXPECT_EQ(r.registers, 255u);
  EXPECT_EQ(r.stack, 520u);
  EXPECT_EQ(r.spillStores, 516u);
  EXPECT_EQ(r.spillLoads, 1032u);
  EXPECT_EQ(r.staticShared, 4096u);
  EXPECT_EQ(r.barriers, 1u);
  EXPECT_FALSE(parseResources(log, "loop").known);
}
