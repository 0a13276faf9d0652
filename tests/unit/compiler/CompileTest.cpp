// tests/unit/compiler/CompileTest.cpp - compile() from text to running code.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "compiler/Compile.h"
#include "compiler/Pipeline.h"
#include "support/CpuTarget.h"
#include "tests/unit/codegen/LoadedKernel.h"
#include "tests/unit/compiler/Requests.h"

#include "gtest/gtest.h"

#include <bit>
#include <cmath>
#include <thread>

using namespace tessera;
using compiler::compile;
using language::CompileRequest;
using language::CompileResult;

namespace {

TEST(Compile, FromTextToRunningCode) {
  CompileResult result = compile(scaledExpRequest());
  ASSERT_TRUE(result.ok) << result.rendered;
  EXPECT_EQ(result.meta.symbol, "tessera_entry");
  ASSERT_EQ(result.meta.params.size(), 4u);
  EXPECT_EQ(result.meta.params[0].kind, "pointer");
  EXPECT_EQ(result.meta.params[0].type, "*fp32:16");
  EXPECT_EQ(result.meta.params[2].name, "s");
  EXPECT_EQ(result.meta.params[2].kind, "scalar");
  for (const char *phase :
       {"parse", "semantics", "tile", "loops", "llvm-dialect", "translate",
        "optimize", "emit", "link", "total"})
    EXPECT_TRUE(result.timings.count(phase)) << phase;
  EXPECT_TRUE(result.stages.empty());

  LoadedKernel kernel(result.artifact);
  alignas(64) float x[64], y[64];
  for (int i = 0; i < 64; ++i) {
    x[i] = float(i) / 8;
    y[i] = -1;
  }
  std::vector<char> scratch(result.meta.scratchBytes + 64);
  auto aligned = (reinterpret_cast<uintptr_t>(scratch.data()) + 63) / 64 * 64;
  uint64_t args[] = {reinterpret_cast<uint64_t>(x),
                     reinterpret_cast<uint64_t>(y),
                     std::bit_cast<uint32_t>(3.0f), 50};
  kernel.run(args, reinterpret_cast<void *>(aligned));
  for (int i = 0; i < 64; ++i) {
    if (i >= 50) {
      EXPECT_EQ(y[i], -1.0f) << i;
      continue;
    }
    double want = 3 * std::exp(double(x[i]));
    EXPECT_NEAR(y[i], want, want * 3e-7) << i;
  }
}

TEST(Compile, SameRequestSameBytes) {
  // The context is kept between requests: what came before must not show.
  std::string first = compile(scaledExpRequest()).artifact;
  ASSERT_FALSE(first.empty());
  ASSERT_TRUE(compile(requestWithLine("x = x * 2.0")).ok);
  EXPECT_EQ(compile(scaledExpRequest()).artifact, first);
  std::string elsewhere;
  std::thread([&] { elsewhere = compile(scaledExpRequest()).artifact; }).join();
  EXPECT_EQ(elsewhere, first);
}

TEST(Compile, ManyRequestsOutliveAContext) {
  std::string first = compile(scaledExpRequest()).artifact;
  for (int i = 0; i < 70; ++i)
    ASSERT_EQ(compile(scaledExpRequest()).artifact, first) << i;
}

TEST(Compile, StagesOnRequest) {
  CompileRequest request = scaledExpRequest();
  request.emit = {"asm", "llvm", "loops", "tile"};
  CompileResult result = compile(request);
  ASSERT_TRUE(result.ok) << result.rendered;
  EXPECT_EQ(result.stages.size(), 4u);
  EXPECT_NE(result.stages["tile"].find("tile.load"), std::string::npos);
  EXPECT_NE(result.stages["tile"].find("math.exp"), std::string::npos);
  EXPECT_EQ(result.stages["loops"].find("tile.load"), std::string::npos);
  EXPECT_NE(result.stages["llvm"].find("@tessera_entry"), std::string::npos);
  EXPECT_NE(result.stages["asm"].find("tessera_entry:"), std::string::npos);
  // Asking for text changes nothing in the code.
  EXPECT_EQ(result.artifact, compile(scaledExpRequest()).artifact);
  request.emit = {"ptx"};
  result = compile(request);
  EXPECT_FALSE(result.ok);
  EXPECT_NE(result.rendered.find("no stage `ptx`"), std::string::npos);
}

TEST(Compile, TargetsMatter) {
  CompileRequest request = scaledExpRequest();
  request.emit = {"asm"};
  EXPECT_EQ(compile(request).stages["asm"].find("%zmm"), std::string::npos);
  request.target = "cpu:x86-64-v4:001f";
  CompileResult wide = compile(request);
  ASSERT_TRUE(wide.ok) << wide.rendered;
  EXPECT_NE(wide.stages["asm"].find("%zmm"), std::string::npos);
  request.target = "cpu:pentium:0000";
  CompileResult result = compile(request);
  EXPECT_FALSE(result.ok);
  EXPECT_NE(result.rendered.find("HINT: "), std::string::npos);
}

TEST(Compile, ErrorsOfTheKernelPointIntoIt) {
  CompileRequest request = requestWithLine("y = x + nowhere");
  CompileResult result = compile(request);
  EXPECT_FALSE(result.ok);
  EXPECT_TRUE(result.artifact.empty());
  ASSERT_EQ(result.diagnostics.size(), 1u);
  EXPECT_EQ(result.diagnostics[0].id, "UnknownName");
  EXPECT_EQ(result.diagnostics[0].file, request.file);
  EXPECT_EQ(result.diagnostics[0].line, 9u);
  EXPECT_NE(result.rendered.find("y = x + nowhere"), std::string::npos);

  request = scaledExpRequest();
  request.text += "    tl.store(Y + i, x\n";
  result = compile(request);
  EXPECT_FALSE(result.ok);
  EXPECT_FALSE(result.diagnostics.empty());

  request = scaledExpRequest();
  request.kernel = "no_such_kernel";
  result = compile(request);
  EXPECT_FALSE(result.ok);
  EXPECT_NE(result.rendered.find("no_such_kernel"), std::string::npos);

  request = scaledExpRequest();
  request.args.pop_back();
  EXPECT_FALSE(compile(request).ok);
}

TEST(Compile, ErrorsOfTheBackEndPointIntoTheKernel) {
  // Rounding to zero from f64 is not on cpu: found only after the front end.
  CompileRequest request = requestWithLine(
      "x = x.to(tl.float64).to(tl.float16, fp_downcast_rounding='rtz')"
      ".to(tl.float32)");
  CompileResult result = compile(request);
  ASSERT_FALSE(result.ok);
  ASSERT_FALSE(result.diagnostics.empty()) << result.rendered;
  EXPECT_EQ(result.diagnostics[0].id, "CodegenFailed");
  EXPECT_EQ(result.diagnostics[0].line, 9u) << result.rendered;
  EXPECT_NE(result.rendered.find("rounding towards zero"), std::string::npos)
      << result.rendered;
}

// An edited stage shows it: the back end never writes such an access.
TEST(Compile, ReportsAccessThroughNullBase) {
  CompileRequest request = scaledExpRequest();
  request.overrides = {{"loops", "02-loops.mlir", R"(module {
  llvm.func @tessera_entry(%a: !llvm.ptr, %b: !llvm.ptr, %c: !llvm.ptr, %d: !llvm.ptr) {
    %null = llvm.mlir.zero : !llvm.ptr
    %x = llvm.load %null : !llvm.ptr -> f32
    llvm.store %x, %d : f32, !llvm.ptr
    llvm.return
  }
})"}};
  CompileResult result = compile(request);
  ASSERT_FALSE(result.ok);
  EXPECT_TRUE(result.defect);
  EXPECT_NE(result.rendered.find("internal error: the base address of "
                                 "`llvm.load` is a constant null pointer"),
            std::string::npos)
      << result.rendered;
}

TEST(Pipeline, PrintsAsText) {
  std::string text = compiler::cpuPipelineText(CpuTarget());
  EXPECT_NE(text.find("tile: builtin.module(canonicalize"), std::string::npos)
      << text;
  EXPECT_NE(text.find("tessera-rewrite-math"), std::string::npos);
  EXPECT_NE(text.find("tessera-expand-bf16"), std::string::npos);
  auto wide = CpuTarget::parse("cpu:x86-64-v4:005f");
  EXPECT_EQ(compiler::cpuPipelineText(*wide).find("tessera-expand-bf16"),
            std::string::npos);
}

} // namespace
