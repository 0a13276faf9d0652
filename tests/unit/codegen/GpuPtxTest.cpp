// tests/unit/codegen/GpuPtxTest.cpp - LLVM IR to PTX, PTX to a cubin, and all
// that ptxas can do wrong.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "codegen/gpu/emit/Ptx.h"
#include "codegen/gpu/emit/Target.h"
#include "ptx/Listing.h"
#include "ptx/Ptxas.h"
#include "support/CudaTools.h"
#include "support/Diagnostics.h"
#include "support/Error.h"
#include "support/File.h"
#include "tests/unit/codegen/GpuKernels.h"
#include "tests/unit/support/TemporaryFolder.h"

#include "llvm/AsmParser/Parser.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/SourceMgr.h"
#include "llvm/Target/TargetMachine.h"
#include "gtest/gtest.h"

#include <cstdlib>
#include <filesystem>
#include <thread>

using namespace tessera;
using namespace tessera::codegen::gpu;
using namespace tessera::ptx;

namespace {

namespace fs = std::filesystem;

PtxOptions optionsFor(const std::string &target = "sm_80") {
  PtxOptions options;
  options.target = GpuTarget::parse(target);
  options.entry = "axpy";
  return options;
}

PtxOutput emit(const std::string &text, PtxOptions options = optionsFor()) {
  llvm::LLVMContext context;
  llvm::SMDiagnostic error;
  auto module = llvm::parseAssemblyString(text, error, context);
  if (!module) {
    ADD_FAILURE() << error.getMessage().str();
    return {};
  }
  return emitPtx(*module, options);
}

std::string messageOf(const std::function<void()> &run) {
  try {
    run();
  } catch (const Error &error) {
    return std::string(error.what());
  }
  return "";
}

bool has(const std::string &text, const std::string &part) {
  return text.find(part) != std::string::npos;
}

// Linking the code of a CPU resets LLVM's options between two targets.
TEST(GpuTargetMachine, HasShortPointersAfterAReset) {
  for (const char *name : {"sm_80", "sm_90"}) {
    const std::string layout = gpuTargetMachine(GpuTarget::parse(name))
                                   .createDataLayout()
                                   .getStringRepresentation();
    EXPECT_NE(layout.find("p3:32:32"), std::string::npos) << layout;
    llvm::cl::ResetAllOptionOccurrences();
  }
}

TEST(GpuPtx, Text) {
  for (const std::string &target : GpuTarget::names()) {
    const std::string ptx = emit(test::llvmKernel(), optionsFor(target)).ptx;
    EXPECT_TRUE(has(ptx, ".version 8.7\n.target " + target)) << ptx;
    EXPECT_TRUE(has(ptx, ".reqntid 128")) << ptx;
    EXPECT_TRUE(has(ptx, "ex2.approx.f32")) << ptx;
    // An address in shared memory takes 32 bits and offsets are folded.
    EXPECT_TRUE(has(ptx, "[tessera_shared+64]")) << ptx;
    EXPECT_TRUE(has(ptx, ".loc\t1 5 9")) << ptx;
    EXPECT_TRUE(has(ptx, ".file\t1 \"k.py\"")) << ptx;
    EXPECT_FALSE(has(ptx, "/some")) << ptx;
  }
}

TEST(GpuPtx, SameTextOnEveryThreadAndInEveryFolder) {
  PtxOptions options = optionsFor();
  options.keepLlvm = true;
  const PtxOutput first = emit(test::llvmKernel(), options);
  EXPECT_TRUE(has(first.llvmText, "filename: \"k.py\", directory: \"\""));
  for (const char *folder : {"/else", "/some/where", "a"}) {
    PtxOutput other;
    std::thread([&] {
      other = emit(test::llvmKernel("", "", folder), options);
    }).join();
    EXPECT_EQ(other.ptx, first.ptx);
    EXPECT_EQ(other.llvmText, first.llvmText);
  }
}

// What would end the process in instruction selection is an error before.
TEST(GpuPtx, WhatNvptxCannotSelect) {
  const struct {
    const char *body, *more, *message;
  } rows[] = {
      {"%w = call float @llvm.exp.f32(float %v)\n"
       "store float %w, ptr addrspace(1) %p",
       "declare float @llvm.exp.f32(float)", "no instruction for llvm.exp.f32"},
      {"%w = call float @llvm.log2.f32(float %v), !dbg !8\n"
       "store float %w, ptr addrspace(1) %p",
       "declare float @llvm.log2.f32(float)", "llvm.log2.f32 (line 5)"},
      {"%w = call float @llvm.sin.f32(float %v)\n"
       "store float %w, ptr addrspace(1) %p",
       "declare float @llvm.sin.f32(float)", "llvm.sin.f32"},
      {"%w = call float @expf(float %v)\nstore float %w, ptr addrspace(1) %p",
       "declare float @expf(float)", "calls @expf, which no device has"}};
  for (const auto &row : rows) {
    const std::string said =
        messageOf([&] { emit(test::llvmKernel(row.body, row.more)); });
    EXPECT_TRUE(has(said, row.message)) << said;
    EXPECT_TRUE(has(said, "HINT")) << said;
  }
  // With leave to approximate there is one.
  EXPECT_TRUE(
      has(emit(test::llvmKernel("%w = call afn float @llvm.sin.f32(float %v)\n"
                                "store float %w, ptr addrspace(1) %p",
                                "declare float @llvm.sin.f32(float)"))
              .ptx,
          "sin.approx"));
  PtxOptions options = optionsFor();
  options.entry = "other";
  EXPECT_TRUE(has(messageOf([&] { emit(test::llvmKernel(), options); }),
                  "no kernel @other"));
}

TEST(GpuPtx, FusedOnlyWhereAllowed) {
  const auto body = [](const std::string &flags) {
    return "%m = fmul " + flags + " float %v, %v\n%w = fadd " + flags +
           " float %m, 1.0\nstore float %w, ptr addrspace(1) %p";
  };
  EXPECT_TRUE(has(emit(test::llvmKernel(body("contract"))).ptx, "fma.rn.f32"));
  const std::string apart = emit(test::llvmKernel(body(""))).ptx;
  EXPECT_FALSE(has(apart, "fma")) << apart;
  // Or ptxas would fuse them.
  EXPECT_TRUE(has(apart, "mul.rn.f32")) << apart;
}

// Both comparisons of a condition need only one select. A test of the simulator
// executes the same code.
TEST(GpuPtx, WholeConditions) {
  for (const char *type : {"float", "i32"}) {
    const bool real = std::string(type) == "float";
    const std::string body =
        "%xb = bitcast float %v to i32\n"
        "%xlow = icmp sgt i32 %xb, 5\n%xhigh = icmp slt i32 %tid, 9\n"
        "%xin = and i1 %xlow, %xhigh\n" +
        (real ? std::string("%xc = select i1 %xin, float %v, float 0.0\n"
                            "store float %xc, ptr addrspace(1) %p")
              : "%xd = mul i32 %xb, 3\n%xe = add i32 %xb, 77\n"
                "%xc = select i1 %xin, i32 %xd, i32 %xe\n"
                "store i32 %xc, ptr addrspace(1) %p");
    const std::string ptx = emit(test::llvmKernel(body)).ptx;
    size_t selects = 0;
    for (size_t at = 0; (at = ptx.find("selp", at)) != ptx.npos; ++at)
      ++selects;
    EXPECT_EQ(selects, 1u) << ptx;
    EXPECT_TRUE(has(ptx, "and.pred")) << ptx;
  }
}

TEST(GpuPtx, EditedLlvm) {
  llvm::LLVMContext context;
  PtxOptions options = optionsFor();
  auto module =
      parseGpuLlvm(context, "03-llvm.ll", test::llvmKernel(), options);
  options.optimize = false;
  EXPECT_TRUE(has(emitPtx(*module, options).ptx, ".entry axpy"));
  const std::pair<const char *, const char *> rows[] = {
      {"define void @axpy( {", "03-llvm.ll:1:21"},
      {"define void @axpy() { ret void }", "no kernel @axpy"},
      {"declare float @expf(float)\ndefine ptx_kernel void @axpy(ptr %p) {\n"
       "%w = call float @expf(float 1.0)\nstore float %w, ptr %p\nret void }",
       "@expf"}};
  for (const auto &[text, part] : rows) {
    const std::string said =
        messageOf([&] { parseGpuLlvm(context, "03-llvm.ll", text, options); });
    EXPECT_TRUE(has(said, part)) << said;
    EXPECT_TRUE(has(said, "TESSERA_OVERRIDE")) << said;
  }
}

// Uses a shell script instead of ptxas.
class FakePtxas : public testing::Test {
protected:
  fs::path script(const std::string &text) {
    const fs::path path = folder.path() / "ptxas";
    writeFile(path, "#!/bin/sh\n" + text);
    fs::permissions(path, fs::perms::owner_all);
    return path;
  }
  std::string assembled(const std::string &text, int milliseconds = 20000,
                        const std::string &ptx = test::loopsPtx) {
    AssembleOptions options;
    options.ptxas = script(text);
    options.target = GpuTarget::parse("sm_80");
    options.kernel = "loops";
    options.timeout = std::chrono::milliseconds(milliseconds);
    return messageOf([&] { assemble(ptx, options); });
  }
  TemporaryFolder folder;
};

TEST_F(FakePtxas, FailuresAreErrorsWithAReason) {
  const struct {
    const char *script;
    std::vector<const char *> parts;
  } rows[] = {
      {"exit 3", {"exit status 3", "TESSERA_PTXAS"}},
      {"kill -SEGV $$", {"died of signal 11", "HINT"}},
      {"exit 0", {"gave no code"}},
      {"echo \"ptxas fatal   : Unsupported .version 8.7; current version is "
       "'7.4'\" >&2; exit 255",
       {"reads PTX up to 7.4; this is PTX 8.7", "CUDA 12.8"}},
      {"echo \"ptxas fatal   : Value 'sm_80' is not defined for option "
       "'gpu-name'\" >&2; exit 255",
       {"does not know sm_80", "CUDA 12.8"}},
      {"echo \"ptxas /dev/fd/3, line 41; error   : Unknown symbol 'x'\" >&2; "
       "echo 'ptxas fatal   : Ptx assembly aborted due to errors' >&2; exit "
       "255",
       {"Unknown symbol 'x' in line 41 of the PTX", "line 15 of the kernel",
        "mma.sync", "report it"}},
      {"echo \"ptxas error   : Entry function 'loops' uses too much shared "
       "data "
       "(0x40000 bytes, 0x27c00 max)\" >&2; exit 255",
       {"too much shared data", "smaller blocks"}}};
  for (const auto &row : rows) {
    const std::string said = assembled(row.script);
    for (const char *part : row.parts)
      EXPECT_TRUE(has(said, part)) << part << "\n" << said;
  }
}

TEST_F(FakePtxas, HangingIsStopped) {
  // Its children go with it.
  const fs::path mark = folder.path() / "child";
  const std::string said =
      assembled("sleep 1000 & echo $! > " + mark.string() + "; wait", 300);
  EXPECT_TRUE(has(said, "did not end within")) << said;
  EXPECT_TRUE(has(said, "TESSERA_PTXAS_TIMEOUT")) << said;
  const std::string pid = readFile(mark);
  const fs::path process = "/proc/" + pid.substr(0, pid.find('\n'));
  // It dies at its next turn on a processor; the test hangs if it does not.
  // What is dead may not be reaped yet.
  for (;;) {
    const auto state = tryReadFile(process / "stat");
    if (!state || has(*state, ") Z"))
      break;
    std::this_thread::yield();
  }
}

TEST_F(FakePtxas, EditedPtxIsNamedWithItsLine) {
  AssembleOptions options;
  options.ptxas = script(
      "echo \"ptxas /dev/fd/3, line 2; error   : Parsing error near 'x'\" >&2; "
      "exit 255");
  options.target = GpuTarget::parse("sm_80");
  options.edited =
      std::make_shared<SourceFile>("04-kernel.ptx", ".version 8.7\nx\n");
  const std::string said =
      messageOf([&] { assemble(".version 8.7\nx\n", options); });
  EXPECT_TRUE(has(said, "04-kernel.ptx:2:1")) << said;
  EXPECT_TRUE(has(said, "Parsing error near 'x'")) << said;
}

// The variable names one, and it is used or refused; nothing else is looked at.
TEST_F(FakePtxas, FoundByVariable) {
  const auto found = [&](const std::string &text) {
    ::setenv("TESSERA_PTXAS", script(text).c_str(), 1);
    std::string result;
    const std::string said = messageOf([&] { result = findPtxas()->version; });
    ::unsetenv("TESSERA_PTXAS");
    return result + said;
  };
  const std::string banner = "echo 'ptxas: NVIDIA (R) Ptx optimizing "
                             "assembler'; echo 'Cuda compilation tools, "
                             "release ";
  EXPECT_EQ(found(banner + "12.8, V12.8.93'"), "12.8.93");
  EXPECT_EQ(found(banner + "13.0, V13.0.88'"), "13.0.88");
  EXPECT_TRUE(has(found(banner + "11.4, V11.4.152'"),
                  "11.4.152, which reads PTX up to 7.4; kernels are PTX 8.7"));
  EXPECT_TRUE(has(found(banner + "12.6, V12.6.20'"), "PTX up to 8.5"));
  EXPECT_TRUE(has(found("exit 1"), "is not a ptxas"));
  EXPECT_TRUE(has(found("echo hello"), "is not a ptxas"));
  ::setenv("TESSERA_PTXAS", "none", 1);
  std::string why;
  EXPECT_FALSE(findPtxas({}, &why));
  EXPECT_TRUE(has(why, "TESSERA_PTXAS=none"));
  ::setenv("TESSERA_PTXAS", "/nonexistent/ptxas", 1);
  EXPECT_TRUE(has(messageOf([] { findPtxas(); }), "is not a program"));
  ::unsetenv("TESSERA_PTXAS");
}

TEST_F(FakePtxas, VersionIsRememberedUntilTheFileChanges) {
  const fs::path versions = folder.path() / "versions.json",
                 asked = folder.path() / "asked";
  const auto version = [&] {
    ::setenv("TESSERA_PTXAS", (folder.path() / "ptxas").c_str(), 1);
    const std::string result = findPtxas(versions)->version;
    ::unsetenv("TESSERA_PTXAS");
    return result;
  };
  const std::string count = "echo x >> " + asked.string() + "; ";
  script(count + "echo 'ptxas, V12.8.93'");
  EXPECT_EQ(version(), "12.8.93");
  EXPECT_EQ(version(), "12.8.93");
  EXPECT_EQ(readFile(asked), "x\n");
  script(count + "echo 'ptxas of CUDA 13, V13.0.88'");
  EXPECT_EQ(version(), "13.0.88");
  EXPECT_EQ(readFile(asked), "x\nx\n");
  EXPECT_EQ(knownPtxasVersions(versions),
            (std::vector<std::string>{"13.0.88", "12.8.93"}));
  // A broken file costs a question, no more.
  writeFile(versions, "{\"a\": ");
  EXPECT_EQ(version(), "13.0.88");
}

class RealPtxas : public testing::Test {
protected:
  void SetUp() override {
    std::string why;
    ptxas = findPtxas({}, &why);
    // `make test` installs ptxas: without it nothing would have been tested.
    if (!ptxas && std::getenv("TEST_COMPLETE"))
      FAIL() << why;
    if (!ptxas)
      GTEST_SKIP() << why;
  }
  std::optional<Ptxas> ptxas;
};

TEST_F(RealPtxas, CubinResourcesAndLines) {
  AssembleOptions options;
  options.ptxas = ptxas->path;
  options.target = GpuTarget::parse("sm_80");
  options.kernel = "axpy";
  const std::string ptx = emit(test::llvmKernel()).ptx;
  const Cubin cubin = assemble(ptx, options);
  EXPECT_EQ(cubin.bytes.substr(0, 4), "\x7f"
                                      "ELF");
  EXPECT_TRUE(cubin.resources.known) << cubin.log;
  EXPECT_GT(cubin.resources.registers, 4u);
  EXPECT_EQ(cubin.resources.spillStores, 0u);
  EXPECT_EQ(assemble(ptx, options).bytes, cubin.bytes);
  const auto nvdisasm = findDisassembler(ptxas->path);
  if (!nvdisasm && std::getenv("TEST_COMPLETE"))
    FAIL() << "no nvdisasm";
  if (!nvdisasm)
    GTEST_SKIP() << "no nvdisasm";
  const Listing sass = readSass(disassemble(cubin.bytes, *nvdisasm), "axpy");
  EXPECT_EQ(sass.counts[InstructionClass::LoadGlobal], 1u);
  EXPECT_EQ(sass.counts[InstructionClass::StoreGlobal], 1u);
  EXPECT_EQ(sass.counts[InstructionClass::StoreShared], 1u);
  EXPECT_EQ(sass.files, std::vector<std::string>{"k.py"});
  for (const ListedInstruction &instruction : sass.code)
    if (instruction.kind == InstructionClass::StoreShared) {
      EXPECT_EQ(instruction.place.line, 6u);
    }
  EXPECT_TRUE(has(messageOf([&] { disassemble("no cubin", *nvdisasm); }),
                  "nvdisasm cannot read"));
  const std::string said = messageOf([&] {
    const size_t at = ptx.find("ex2.approx");
    assemble(ptx.substr(0, at) + "nonsense.f32 %r1;" + ptx.substr(at), options);
  });
  EXPECT_TRUE(has(said, "line 6 of the kernel's file: `nonsense.f32")) << said;
}

} // namespace
