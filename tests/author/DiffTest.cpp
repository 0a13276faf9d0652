// tests/author/DiffTest.cpp - tessera diff, run, doctor; differences of lines.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "tests/author/Author.h"

#include "tools/diff/Assembly.h"
#include "tools/diff/LineDiff.h"
#include "tools/diff/PairLoops.h"

#include <cstdlib>
#include <random>
#include <regex>
#include <sstream>

using namespace tessera;
using namespace tessera::tools;
namespace fs = std::filesystem;

namespace {

const char *const axpy = R"(import triton
import triton.language as tl


# tessera: instance small(X="*fp32:16", Y="*fp32:16", N="i32", s="fp32", BLOCK=64)
# tessera: instance other(X="*fp32:16", Y="*fp32:16", N="i32", s="fp32", BLOCK=256)
# tessera: check(N=[100], X=[N], Y=[N], s=2.0)
# tessera: grid(cdiv(N, BLOCK))
@triton.jit
def axpy(X, Y, N, s, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    y = tl.load(Y + i, mask=i < N)
    tl.store(Y + i, y + tl.load(X + i, mask=i < N) * s, mask=i < N)
)";

std::string join(const std::vector<std::string> &lines) {
  std::string text;
  for (const std::string &line : lines)
    text += line + "\n";
  return text;
}

// Length of the longest common subsequence, by the textbook table.
size_t commonLength(const std::vector<std::string> &a,
                    const std::vector<std::string> &b) {
  std::vector<std::vector<size_t>> table(a.size() + 1,
                                         std::vector<size_t>(b.size() + 1));
  for (size_t i = 1; i <= a.size(); ++i)
    for (size_t j = 1; j <= b.size(); ++j)
      table[i][j] = a[i - 1] == b[j - 1]
                        ? table[i - 1][j - 1] + 1
                        : std::max(table[i - 1][j], table[i][j - 1]);
  return table[a.size()][b.size()];
}

TEST(LineDiff, GivesBothTextsAndIsShortest) {
  std::mt19937 random(7);
  for (int round = 0; round < 300; ++round) {
    std::vector<std::string> sides[2];
    for (auto &side : sides) {
      const size_t count = random() % 14;
      for (size_t i = 0; i < count; ++i)
        side.push_back(std::string(1, char('a' + random() % 4)));
    }
    const LineDiff diff = diffLines(join(sides[0]), join(sides[1]));
    std::vector<std::string> a, b;
    for (const LineEdit &edit : diff.lines) {
      if (edit.kind != LineEdit::Kind::Added)
        a.push_back(edit.line);
      if (edit.kind != LineEdit::Kind::Removed)
        b.push_back(edit.line);
    }
    ASSERT_EQ(a, sides[0]);
    ASSERT_EQ(b, sides[1]);
    const size_t common = commonLength(a, b);
    ASSERT_EQ(diff.removed, a.size() - common);
    ASSERT_EQ(diff.added, b.size() - common);
  }
}

TEST(LineDiff, NumberedNamesDoNotCount) {
  EXPECT_TRUE(diffLines("%12 = arith.addi %3, %c4_i32\n",
                        "%9 = arith.addi %1, %c8_i32\n")
                  .same());
  EXPECT_TRUE(diffLines("\tjne\t.LBB0_12\n", "\tjne\t.LBB0_7\n").same());
  EXPECT_FALSE(diffLines("\taddl\t$4, %eax\n", "\taddl\t$8, %eax\n").same());
  EXPECT_FALSE(
      diffLines("%1 = tile.range 0, 32\n", "%1 = tile.range 0, 64\n").same());
  const std::string text =
      renderDiff(diffLines("a\nb\nc\nd\ne\n", "a\nb\nx\nd\ne\n"), 1, 0);
  EXPECT_EQ(text, "  b\n- c\n+ x\n  d\n");
}

TEST(Assembly, Classes) {
  const std::pair<const char *, const char *> rows[] = {
      {"\tvfmadd231ps\t(%rax), %zmm1, %zmm2", "fma and dot products"},
      {"\tvaddps\t%zmm1, %zmm2, %zmm3", "vector and float arithmetic"},
      {"\tvmovups\t(%rdi,%rax,4), %zmm0", "loads"},
      {"\tvmovups\t%zmm0, 64(%rdi)", "stores"},
      {"\tvmovups\t%zmm0, (%rdi) {%k1}", "stores"},
      {"\tvmovups\t(%rdi), %zmm0 {%k1} {z}", "loads"},
      {"\tmovq\t%rax, -8(%rsp)                 # 8-byte Spill", "stores"},
      {"\tmovq\t%rax, %rbx", "integer and addresses"},
      {"\tvbroadcastss\t(%rax), %zmm0", "loads"},
      {"\tvpermilps\t$1, %zmm0, %zmm1", "shuffles and broadcasts"},
      {"\tvcvtps2pd\t%ymm0, %zmm1", "conversions"},
      {"\tvcmpltps\t%zmm0, %zmm1, %k1", "compares and masks"},
      {"\tjne\t.LBB0_3", "branches and calls"},
      {"\tleaq\t8(%rax), %rcx", "integer and addresses"},
      {"\t.p2align\t4", ""},
      {".LBB0_3:", ""},
      {"\t# %bb.1:", ""}};
  for (const auto &[line, name] : rows)
    EXPECT_EQ(instructionClass(line), name) << line;
}

Json loop(int first, int last, Json counts) {
  int64_t total = 0;
  for (const auto &[name, count] : counts.items())
    total += count.get<int64_t>();
  counts["total"] = total;
  return {{"lines", {first, last}}, {"instructions", counts}};
}

// "0=1 -=0": pairs of numbers, - for none.
std::string paired(const std::vector<Json> &a, const std::vector<Json> &b) {
  std::string text;
  const auto number = [](const std::optional<size_t> &n) {
    return n ? std::to_string(*n) : std::string("-");
  };
  for (const LoopPair &pair : pairLoops(a, b))
    text += number(pair.a) + "=" + number(pair.b) + " ";
  return text;
}

TEST(PairLoops, TheMainLoopIsTheOneWithTheTensorInstructions) {
  const Json search = loop(47, 50, {{"alu", 10}, {"mov", 2}, {"ld.global", 1}});
  const Json main =
      loop(46, 69, {{"alu", 232}, {"mma", 40}, {"ldmatrix", 24}, {"mov", 22}});
  Json larger = main;
  larger["instructions"]["mma"] = 400;
  EXPECT_EQ(mainLoop({search, main}), 1u);
  EXPECT_FALSE(mainLoop({search}));
  EXPECT_FALSE(mainLoop({}));
  EXPECT_EQ(paired({search, main}, {main}), "0=- 1=0 ");
  EXPECT_EQ(paired({main}, {search, main}), "-=0 0=1 ");
  // Whatever else they are.
  EXPECT_EQ(paired({search, main}, {larger, search}), "0=- 1=0 -=1 ");
}

TEST(PairLoops, OthersByLinesMixAndSize) {
  const Json copy = loop(10, 12, {{"ld.global", 8}, {"st.shared", 8}});
  const Json sum = loop(20, 24, {{"fma", 30}, {"ld.shared", 10}});
  const Json wide = loop(20, 24, {{"fma", 60}, {"ld.shared", 20}});
  const Json huge = loop(20, 25, {{"fma", 600}, {"ld.shared", 200}});
  const Json unrolled = loop(20, 24, {{"fma", 600}, {"ld.shared", 200}});
  EXPECT_EQ(paired({}, {}), "");
  EXPECT_EQ(paired({copy, sum}, {copy, sum}), "0=0 1=1 ");
  EXPECT_EQ(paired({copy, sum}, {wide}), "0=- 1=0 ");
  EXPECT_EQ(paired({sum}, {copy, wide}), "-=0 0=1 ");
  EXPECT_EQ(paired({copy, sum}, {sum, copy}).size(), 12u); // in order
  // Too large, unless it is of the very same lines.
  EXPECT_EQ(paired({sum}, {huge}), "0=- -=0 ");
  EXPECT_EQ(paired({sum}, {unrolled}), "0=0 ");
  // Reports without lines.
  Json bare = sum;
  bare.erase("lines");
  EXPECT_EQ(paired({copy, sum}, {bare}), "0=- 1=0 ");
}

class Tools : public Author {
protected:
  Tools() { file = write("axpy.py", axpy); }
  std::string file;
};

TEST_F(Tools, DiffOfTwoSetsOfOptions) {
  CommandResult result =
      run({"diff", file, "-i", "small", "--a", "BLOCK=32", "--b", "BLOCK=64"});
  expectFine(result);
  for (const char *part :
       {"A: small BLOCK=32", "B: small BLOCK=64", "code, bytes",
        "scratch a thread", "fma and dot products", "tile IR: ", "-     %",
        "+     %", "tensor<32xi32>", "tensor<64xi32>"})
    expectHas(result.output, part);
  // The instance also has BLOCK=64.
  result = run({"diff", file, "-i", "small", "--a", "BLOCK=64"});
  expectFine(result);
  expectHas(result.output, "byte-identical: both are the same ");
  expectHasNot(result.output, "tile IR");
}

TEST_F(Tools, DiffOfFoldersAndInstances) {
  expectFine(run({"compile", file, "--emit", "all", "-o", path("a")}));
  edit(file, "* s, mask", "* s + 1.0, mask");
  expectFine(run({"compile", file, "--emit", "all", "-o", path("b")}));
  CommandResult result = run({"diff", path("a"), path("b")});
  expectFine(result);
  expectHas(result.output, "a/small");
  expectHas(result.output, "a/other");
  expectHas(result.output, "dense<1.000000e+00>");
  // The product before the new sum is an unchanged line.
  const std::string product = "    %14 = arith.mulf";
  expectHas(result.output, product);
  expectHasNot(run({"diff", path("a"), path("b"), "--context", "1"}).output,
               product);
  result = run({"diff", path("a"), path("a"), "--summary"});
  expectFine(result);
  expectHas(result.output, "byte-identical");
  result = run({"diff", file + ":small", file + ":other", "--summary"});
  expectFine(result);
  expectHas(result.output, "A: small");
  expectHas(result.output, "lines of A");

  expectRefused(run({"diff", path("a"), path("nowhere")}), "no file or folder");
  fs::create_directories(path("empty"));
  expectRefused(run({"diff", path("a"), path("empty")}), "holds no stages");
  expectRefused(run({"diff", file}), "nothing to compare");
  expectRefused(run({"diff", file, "--a", "BLOCK=2"}), "which instance");
  expectRefused(run({"diff", file, "-i", "smal", "--a", "BLOCK=2"}),
                "did you mean `small`?");
}

TEST_F(Tools, DiffOfCudaKernels) {
  const std::string cuda = write(
      "scale.cu", "// a comment\nextern \"C\" __global__ void scale(float *x, "
                  "int n) {\n  int i = blockIdx.x * blockDim.x + "
                  "threadIdx.x;\n  if (i < n)\n    x[i] *= FACTOR;\n}\n");
  CommandResult result = run(
      {"diff", cuda + ":scale", "--a", "FACTOR=2.0f", "--b", "FACTOR=x[0]"});
  if (result.errors.find("libnvrtc.so cannot be loaded") != std::string::npos) {
    if (std::getenv("TEST_COMPLETE"))
      FAIL() << result.errors;
    GTEST_SKIP() << result.errors;
  }
  expectFine(result);
  // Two times x is an addition.
  for (const char *part :
       {"A: scale FACTOR=2.0f", "instructions", "PTX: ", "add.f32 1 -> 0",
        "ld.global.f32 1 -> 2", "mul.f32 0 -> 1"})
    expectHas(result.output, part);
  // Comments move the lines that PTX names; that is not a difference.
  const std::string other =
      write("other.cu", "// one\n// two\n" + readFile(cuda));
  result = run({"diff", cuda + ":scale", other + ":scale", "--a", "FACTOR=2.0f",
                "--b", "FACTOR=2.0f"});
  expectFine(result);
  expectHas(result.output, "PTX: the same");
  // Each kernel of a file is compared separately.
  const std::string two =
      write("two.cu", readFile(cuda) + "extern \"C\" __global__ void add(float "
                                       "*x) {\n  x[threadIdx.x] += 3.0f;\n}\n");
  result = run({"diff", two + ":scale", two + ":add", "--a", "FACTOR=2.0f",
                "--b", "FACTOR=2.0f"});
  expectFine(result);
  expectHas(result.output, "setp.ge.s32 1 -> 0");
  result = run({"diff", cuda + ":scale", two + ":scale", "--a", "FACTOR=2.0f",
                "--b", "FACTOR=2.0f"});
  expectFine(result);
  expectHas(result.output, "PTX: the same");
  expectRefused(run({"diff", cuda, "--a", "FACTOR=1"}), "which kernel");
  expectRefused(run({"diff", cuda + ":scael", "--a", "FACTOR=1"}),
                "did you mean `scale`?");
}

// The error for a CUDA C++ file names the commands that accept it.
TEST_F(Tools, CudaFilesAreNoTileKernels) {
  const std::string cuda =
      write("scale.cu", "__global__ void scale(float *x) { *x = 1.0f; }\n");
  for (const char *verb : {"check", "run"}) {
    const CommandResult result = run({verb, cuda});
    expectRefused(result, "scale.cu is CUDA C++");
    expectHas(result.errors, "tessera compile");
    expectHasNot(result.errors, "SyntaxError");
  }
}

TEST(LineDiff, PtxRegistersAreNumbered) {
  const char *const a = "add.s32 %r12, %r4, %r5;\nbra $L__BB0_3;\n",
                    *const b = "add.s32 %r1, %r2, %r3;\nbra $L__BB1_7;\n";
  EXPECT_TRUE(diffLines(a, b, Registers::Numbered).same());
  EXPECT_FALSE(diffLines(a, b).same());
  EXPECT_EQ(countPtx(".version 8.7\n.target sm_80\n.visible .entry k()\n{\n"
                     "\t@%p1 bra \t$L__BB0_4;\n\tld.global.f32 \t%f1, "
                     "[%rd2];\n\t.reg .pred \t%p<3>;\n\tret;\n$L__BB0_4:\n}"),
            (std::map<std::string, int64_t>{
                {"bra", 1}, {"ld.global.f32", 1}, {"ret", 1}}));
}

// Comments, locations and the other kernels of a file are left out.
TEST(PtxText, IsTheCodeOfOneKernel) {
  const std::string head = "\n.version 8.7\n.target sm_80\n";
  const auto entry = [](const std::string &name) {
    return ".visible .entry " + name + "()\n{\n\tret;\n}\n";
  };
  const std::string text = "// made by hand\n" + head + "\t// .globl a\n" +
                           entry("a") + "/* two\n.lines */\n" +
                           ".visible .entry b()\n{\n\t.loc 1 2 3\n\n"
                           "\tbar.sync 0; // all\n\tret;\n}\n" +
                           "\t.file 1 \"k.cu\"\n\t.section .debug_str\n{\n.b8 "
                           "0\n}\n";
  EXPECT_EQ(ptxCode(text, "b"), head.substr(1) +
                                    ".visible .entry b()\n{\n\tbar.sync 0; // "
                                    "all\n\tret;\n}\n");
  EXPECT_EQ(ptxCode(text, "a"), head.substr(1) + entry("a"));
  EXPECT_NE(ptxCode(text, "").find("bar.sync"), std::string::npos);
  EXPECT_NE(ptxCode(text, "").find(".entry a"), std::string::npos);
  EXPECT_THROW(ptxCode(".version 8.7\n.entry k() {", ""), Error);
}

TEST_F(Tools, DiffPairsMainLoopsAcrossTargets) {
  const CommandResult result =
      run({"diff", "kernels/nsa/select_fwd.py", "-i", "select_fwd_paper_bf16",
           "--a", "target=sm_80", "--b", "target=sm_90", "--summary"});
  expectFine(result);
  std::smatch row;
  ASSERT_TRUE(std::regex_search(
      result.output, row,
      std::regex("main loop, lines [^ ]+( / [^ ]+)? +([0-9]+) +([0-9]+)")))
      << result.output;
  const double ratio = std::stod(row[3]) / std::stod(row[2]);
  EXPECT_GT(ratio, 0.5) << result.output;
  EXPECT_LT(ratio, 2) << result.output;
}

// Who tries the examples of the help sees a difference.
TEST_F(Tools, ExamplesOfDiffDiffer) {
  const std::string help = run({"diff", "--help"}).output;
  const std::regex example(
      R"(  tessera diff (kernels/[^\\\n]*(\\\n[^\\\n]*)?))");
  size_t count = 0;
  for (std::sregex_iterator at(help.begin(), help.end(), example), end;
       at != end; ++at, ++count) {
    std::vector<std::string> command = {"diff"};
    std::istringstream words(
        std::regex_replace((*at)[1].str(), std::regex(R"(\\\n)"), " "));
    for (std::string word; words >> word;)
      command.push_back(word);
    command.push_back("--summary");
    const CommandResult result = run(command);
    expectFine(result);
    expectHasNot(result.output, "byte-identical");
  }
  EXPECT_EQ(count, 4u) << help;
}

TEST_F(Tools, RunsOnMadeUpAndGivenTensors) {
  CommandResult result =
      run({"run", file, "--arg", "N=1000", "--output", path("out.st")});
  expectFine(result);
  for (const char *part :
       {"small", "N=1000", " ms (median of 5", "Y: fp32 [1000]"})
    expectHas(result.output, part);
  expectHasNot(result.output, "X: ");
  // What one run wrote is the input of the next.
  result =
      run({"run", file, "--arg", "N=1000", "--arg", "s=-2", "--input",
           path("out.st"), "--output", path("back.st"), "--arg", "BLOCK=128"});
  expectFine(result);
  EXPECT_NE(readFile(path("out.st")), readFile(path("back.st")));
  // A grid of one's own, of no programs.
  result = run({"run", file, "--arg", "N=256", "--grid", "0"});
  expectFine(result);
  expectHas(result.output, "no tensor changed");

  expectRefused(run({"run", file, "--input", path("out.st")}),
                "the launch needs F32 [100]");
  expectRefused(run({"run", file, "-i", "smal"}), "did you mean `small`?");
  expectRefused(run({"run", file, "--arg", "M=3"}), "no argument or size `M`");
  expectRefused(run({"run", file, "--arg", "N"}), "has no value");
}

TEST_F(Tools, OneNumberForASizeIsAShapeToTry) {
  writeFile(path("twice.py"), R"(import triton
import triton.language as tl


# tessera: instance twice(X="*fp32:16", OUT="*fp32:16", n="i32", BLOCK=64)
# tessera: check(n=4, X=[n], OUT=[n])
# tessera: grid(cdiv(n, BLOCK))
@triton.jit
def twice(X, OUT, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(OUT + i, tl.load(X + i, mask=i < n) * 2, mask=i < n)
)");
  const CommandResult result = run({"run", path("twice.py")});
  expectFine(result);
  expectHas(result.output, "OUT: fp32 [4]");
}

// Training is not part of every build: the rest of the report is.
TEST_F(Tools, DoctorReports) {
  const CommandResult result = run({"doctor"});
  for (const char *part :
       {"processor", "compiler", "cache", "kernel files", "training", "NVRTC"})
    expectHas(result.output, part);
  expectHas(result.output, "the result is right");
  EXPECT_EQ(result.status.code,
            result.output.find("BROKEN") == std::string::npos ? 0 : 1)
      << result.output;

  const CommandResult broken =
      run({"doctor"}, {"TESSERA_WORKER=" + path("nothing")});
  EXPECT_EQ(broken.status.code, 1);
  expectHas(broken.output, "BROKEN   compiler");
  expectHas(broken.output, "before CPU training works");
  expectHas(run({"doctor"}, {"TESSERA_CACH_DIR=x"}).output,
            "did you mean TESSERA_CACHE_DIR?");
}

TEST_F(Tools, DoctorStrictNamesEachConditionAndItsRemedy) {
  const std::vector<std::string> quiet = {
      "TESSERA_CACHE_DIR=" + path("cache"), "CUDA_LAUNCH_BLOCKING=",
      "PYTORCH_NO_CUDA_MEMORY_CACHING=",    "NVIDIA_TF32_OVERRIDE=",
      "TORCH_DISTRIBUTED_DEBUG=",           "TESSERA_DEVICE="};
  // The first of two values of a variable is the one that counts.
  const auto with = [&](std::vector<std::string> more) {
    for (const std::string &other : quiet) {
      const std::string name = other.substr(0, other.find('=') + 1);
      if (std::ranges::none_of(
              more, [&](const auto &m) { return m.starts_with(name); }))
        more.push_back(other);
    }
    return more;
  };
  const auto strict = [&](const std::vector<std::string> &more) {
    return run({"doctor", "--strict"}, with(more));
  };
  const CommandResult good = strict({});
  const bool unmet = good.output.find("UNMET") != std::string::npos ||
                     good.output.find("BROKEN") != std::string::npos;
  EXPECT_EQ(good.status.code, unmet ? 1 : 0) << good.output;
  expectHas(good.output, "ok       debug flags");

  writeFile(path("file"), "");
  const struct {
    std::string variable, line, remedy;
  } rows[] = {
      {"CUDA_LAUNCH_BLOCKING=1",
       "CUDA_LAUNCH_BLOCKING=1 waits for every launch",
       "unset CUDA_LAUNCH_BLOCKING"},
      {"NVIDIA_TF32_OVERRIDE=0", "switches TF32 off", "unset NVIDIA_TF32"},
      {"TESSERA_DEVICE=sim:sm_80", "TESSERA_DEVICE=sim:sm_80 checks every",
       "unset TESSERA_DEVICE"},
      {"TESSERA_CACH_DIR=x", "environment", "did you mean TESSERA_CACHE_DIR?"},
      {"TESSERA_CACHE_DIR=" + path("file"), "cache", "compiled anew"},
      {"TESSERA_CACHE_DIR=" + path("file/new"), "cannot create folder",
       "compiled anew"},
      {"TESSERA_DEVICE=cuda", "GPU allocator: torch's defaults",
       "expandable_segments:True"}};
  for (const auto &row : rows) {
    const CommandResult result = strict({row.variable});
    EXPECT_EQ(result.status.code, 1) << row.variable;
    const size_t end = result.output.find("not met: ");
    ASSERT_NE(end, std::string::npos) << result.output;
    expectHas(result.output.substr(0, end), "UNMET");
    expectHas(result.output.substr(end), row.line);
    expectHas(result.output.substr(end), row.remedy);
    // Without --strict it is not a failure.
    expectHasNot(run({"doctor"}, with({row.variable})).output, "UNMET");
  }
  expectHas(strict({"TESSERA_DEVICE=cuda",
                    "PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True"})
                .output,
            "ok       GPU allocator");
  const CommandResult few =
      runCommand({"/bin/sh", "-c", "ulimit -n 200; exec \"$0\" doctor --strict",
                  TESSERA_PROGRAM},
                 std::chrono::seconds(300), quiet);
  expectHas(few.output, "UNMET    open files");
  expectHas(few.output, "ulimit -n 1024");
}

} // namespace
