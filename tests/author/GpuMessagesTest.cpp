// tests/author/GpuMessagesTest.cpp - the complete message of every error for a
// GPU kernel.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "tests/author/Author.h"
#include "tests/author/Matmul.h"

#include <regex>

using namespace tessera;
namespace fs = std::filesystem;

namespace {

// Line 11 is the function, 17 the loads, 19 the dot.
const std::string kernels = R"(import triton
import triton.language as tl

# tessera: instance fine(A="*fp16:16", B="*fp16:16", C="*fp32:16", K="i32:16", BM=32, BN=32, BK=32)
# tessera: instance large(A="*fp16:16", B="*fp16:16", C="*fp32:16", K="i32:16", BM=128, BN=128, BK=256, num_stages=4)
# tessera: instance odd(A="*fp16:16", B="*fp16:16", C="*fp32:16", K="i32:16", BM=96, BN=32, BK=32)
# tessera: instance fp8(A="*fp16:16", B="*fp16:16", C="*fp32:16", K="fp8e4nv", BM=32, BN=32, BK=32)
)" + matmulConfigs + matmulKernel +
                            R"(
# tessera: instance small(X="*i16:16", BLOCK=128)
@triton.jit
def count(X, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    tl.atomic_add(X + at, tl.load(X + at))
)";

class GpuMessages : public Author {
protected:
  GpuMessages() { file = write("k.py", kernels); }

  // The error output with the folder as DIR; the program must have failed.
  std::string said(std::vector<std::string> arguments,
                   std::vector<std::string> environment = {}) {
    // A busy machine adds lines of progress.
    environment.push_back("TESSERA_LOG=warning");
    arguments.insert(arguments.begin(), {"compile", file});
    arguments.insert(arguments.end(), {"-o", path("out")});
    const CommandResult result = run(arguments, environment);
    EXPECT_EQ(result.status.code, 1) << result.output;
    EXPECT_EQ(result.output, "");
    EXPECT_FALSE(fs::exists(path("out/fine.ptx")));
    std::string text = result.errors;
    for (const std::string folderName = folder.path().string();;) {
      const size_t at = text.find(folderName);
      if (at == std::string::npos)
        return text;
      text.replace(at, folderName.size(), "DIR");
    }
  }
  std::string ofInstance(const std::string &name,
                         const std::string &target = "sm_80") {
    return said({"-i", name, "--target", target});
  }
  // Compiles with a shell script instead of ptxas, which first prints its
  // version.
  std::string withPtxas(const std::string &script,
                        const std::string &version = "12.8, V12.8.93") {
    const std::string fake =
        write("ptxas", "#!/bin/sh\nif [ \"$1\" = --version ]; then\n"
                       "echo 'ptxas, release " +
                           version + "'; exit 0; fi\n" + script + "\n");
    fs::permissions(fake, fs::perms::owner_all);
    return said({"-i", "fine", "--target", "sm_80"},
                {"TESSERA_PTXAS=" + fake, "TESSERA_PTXAS_TIMEOUT=1"});
  }
  std::string file;
};

TEST_F(GpuMessages, Targets) {
  EXPECT_EQ(ofInstance("fine", "sm_75"),
            "tessera: error: `sm_75` is not a GPU target\n"
            "HINT: known: sm_80, sm_86, sm_89, sm_90\n");
  EXPECT_EQ(ofInstance("fine", "sm_90a"),
            "tessera: error: no code for sm_90a yet\n"
            "HINT: sm_90 runs on the same devices; known: sm_80, sm_86, sm_89, "
            "sm_90\n");
}

TEST_F(GpuMessages, Shapes) {
  EXPECT_EQ(ofInstance("odd"),
            "DIR/k.py:12:9: error: block dimensions must be powers of two, got "
            "[96] [BlockShape]\n"
            "      i = tl.arange(0, BM)\n"
            "          ^~~~~~~~~~~~~~~~\n"
            "HINT: use 128 and a mask for the elements past 96\n");
}

TEST_F(GpuMessages, WhatTheTargetHasNoInstructionsFor) {
  EXPECT_EQ(
      ofInstance("fp8"),
      "DIR/k.py:11:21: error: argument `K` has the type `fp8e4nv`, which "
      "kernels cannot compute with [BadSignature]\n"
      "  def matmul(A, B, C, K, BM: tl.constexpr, BN: tl.constexpr, BK: "
      "tl.constexpr):\n"
      "                      ^\n"
      "HINT: 8-bit floats lie in memory: pass a pointer to them, or the number "
      "as fp32\n");
  EXPECT_EQ(ofInstance("small"),
            "DIR/k.py:26:19: error: tl.atomic_add does not support int16 "
            "[NotSupported]\n"
            "      tl.atomic_add(X + at, tl.load(X + at))\n"
            "                    ^~~~~~\n"
            "HINT: use memory of int32 or int64\n");
}

// Every buffer with its line, and what would fit. How much each takes is the
// pipeline's affair, but for the tiles: 2 bytes x 128 x 256 x a number of
// stages.
TEST_F(GpuMessages, SharedMemory) {
  const std::string text = ofInstance("large");
  static const std::regex whole(
      R"(DIR/k\.py:1[78]:13: error: the kernel needs (\d+) bytes of shared memory; )"
      R"(a block on sm_80 has 166912: )"
      R"((\d+) for the buffer of (\d) x (256x128|128x256)xf16 \(line 1[78]\), )"
      R"((\d+) for the buffer of (\d) x (256x128|128x256)xf16 \(line 1[78]\))"
      R"([^\n]* \[CodegenFailed\]\n)"
      R"( +[ab] = tl\.load\([^\n]*\n +\^\n)"
      R"(HINT: with num_stages=(\d) it needs (\d+); of the decorator's )"
      R"(configurations the largest that fits is BM=64, BN=64, BK=64, )"
      R"(num_warps=4, num_stages=3 \((\d+) bytes\)\n)");
  std::smatch match;
  ASSERT_TRUE(std::regex_match(text, match, whole)) << text;
  const auto number = [&](size_t i) { return std::stoul(match[i]); };
  EXPECT_GT(number(1), 166912u);
  EXPECT_EQ(number(2), number(3) * 128 * 256 * 2);
  EXPECT_EQ(number(5), number(6) * 128 * 256 * 2);
  EXPECT_LT(number(8), 4u);
  EXPECT_LE(number(9), 166912u);
  EXPECT_LE(number(10), 166912u);
}

TEST_F(GpuMessages, PtxasIsMissingOrTooOld) {
  EXPECT_EQ(
      said({"-i", "fine", "--target", "sm_80", "--emit", "cubin"},
           {"TESSERA_PTXAS=none"}),
      "tessera: warning: TESSERA_PTXAS=none: kernels for GPUs are PTX without "
      "machine code\n"
      "tessera: error: no ptxas to make a cubin with\n"
      "HINT: install CUDA 12.8 or newer or the triton wheel (scripts/setup "
      "full), set TESSERA_PTXAS, or leave cubin out\n");
  EXPECT_EQ(
      said({"-i", "fine", "--target", "sm_80"},
           {"TESSERA_PTXAS=/nonexistent/ptxas"}),
      "tessera: error: TESSERA_PTXAS=/nonexistent/ptxas is not a program\n"
      "HINT: install CUDA 12.8 or newer, or the wheels with "
      "scripts/setup full (triton has a ptxas), or set TESSERA_PTXAS to "
      "one\n");
  EXPECT_EQ(withPtxas("exit 1", "11.4, V11.4.152"),
            "tessera: error: TESSERA_PTXAS=DIR/ptxas is version 11.4.152, "
            "which reads PTX up to 7.4; kernels are PTX 8.7\n"
            "HINT: install CUDA 12.8 or newer, or the wheels with "
            "scripts/setup full (triton has a ptxas), or set TESSERA_PTXAS to "
            "one\n");
}

TEST_F(GpuMessages, PtxasFailsDiesOrHangs) {
  EXPECT_EQ(withPtxas("exec sleep 1000"),
            "DIR/k.py: error: in kernel `matmul`: ptxas did not end within 1 "
            "s and was stopped (DIR/ptxas)\n"
            "HINT: use a smaller configuration, or give it more time: "
            "TESSERA_PTXAS_TIMEOUT=600\n");
  EXPECT_EQ(withPtxas("kill -SEGV $$"),
            "DIR/k.py: error: in kernel `matmul`: ptxas died of signal 11 "
            "(Segmentation fault) (DIR/ptxas)\n"
            "HINT: use another configuration, or another ptxas with "
            "TESSERA_PTXAS\n");
}

// Code that ptxas does not accept is our fault: the request is kept, and gives
// the same answer.
TEST_F(GpuMessages, AFaultOfOursHasAReproducer) {
  std::string text = withPtxas(
      "number=$(grep -n 'mma.sync' /dev/fd/3 | head -n 1 | cut -d: -f1)\n"
      "echo \"ptxas /dev/fd/3, line $number; error   : Unknown symbol x\" >&2; "
      "exit 255");
  static const std::regex whole(
      R"(DIR/k\.py: error: in kernel `matmul`: internal error: ptxas does not )"
      R"(accept the code: Unknown symbol x in line \d+ of the PTX, which is for )"
      R"(line 19 of the kernel's file: `mma\.sync[^\n]*`\n)"
      R"(HINT: this is a defect of tessera, not of the kernel; please report it )"
      R"(with the kernel\n)"
      R"(reproducer: tessera compile --request DIR(/cache/reproducers/[^\n]*)\n)");
  std::smatch match;
  ASSERT_TRUE(std::regex_match(text, match, whole)) << text;
  const CommandResult again =
      run({"compile", "--request", folder.path().string() + match[1].str(),
           "-o", path("again")},
          {"TESSERA_PTXAS=" + path("ptxas")});
  expectRefused(again, "Unknown symbol x in line ");
}

// The assertion fails while the kernel runs. The error has the location and the
// first program that stopped.
TEST_F(GpuMessages, AnAssertionThatFails) {
  const std::string add = write("add.py", R"(import triton
import triton.language as tl


# tessera: grid(cdiv(N, BLOCK))
# tessera: check(N=[200], X=[N], Y=[N])
# tessera: instance small(X="*fp32:16", Y="*fp32:16", N="i32", BLOCK=64)
@triton.jit
def add(X, Y, N, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(X + i, mask=i < N)
    tl.device_assert(i < 150, "row out of range")
    tl.store(Y + i, x + 1.0, mask=i < N)


# tessera: grid(1)
@triton.jit
def add_ref(X, Y, N):
    for i in range(N):
        tl.store(Y + i, tl.load(X + i) + 1.0)
)");
  const CommandResult result = run({"check", add, "--device", "sim:sm_80"},
                                   {"TESSERA_DEBUG=1", "TESSERA_LOG=warning"});
  EXPECT_EQ(result.status.code, 1);
  // Elements of 64 in a block: 150 is the 22nd of the third.
  static const std::regex whole(
      R"(tessera: error: sim:sm_80: add: assertion: assertion failed: row out )"
      R"(of range \(add\.py:12, add\)\n)"
      R"(  at    add\.py:12:5, PTX line \d+: call[^\n]*__assertfail[^\n]*\n)"
      R"(  by    block \(2, 0, 0\), thread \(22, 0, 0\), warp 0, lane 22\n)"
      R"(HINT: the launch was stopped; what other blocks wrote stays\n)");
  EXPECT_TRUE(std::regex_match(result.errors, whole)) << result.errors;
  // Without debugging nothing is asserted.
  expectFine(run({"check", add, "--device", "sim:sm_80"}));
}

} // namespace
