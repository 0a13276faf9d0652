// tests/author/GpuTest.cpp - kernels for GPUs from the command line: files,
// mistakes, differences, faults of tools.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "tests/author/Author.h"
#include "tests/author/Matmul.h"

#include "support/CudaTools.h"
#include "support/Json.h"

#include <map>

using namespace tessera;
namespace fs = std::filesystem;

namespace {

// Line 15 is the loop, 18 the dot.
const std::string matmul = R"(import triton
import triton.language as tl


# tessera: instance mm(A="*fp16:16", B="*fp16:16", C="*fp32:16", K="i32:16", BM=32, BN=32, BK=32)
# tessera: instance large(A="*fp16:16", B="*fp16:16", C="*fp32:16", K="i32:16", BM=128, BN=128, BK=256, num_stages=4)
)" + matmulConfigs + matmulKernel;

class Gpu : public Author {
protected:
  Gpu() { file = write("matmul.py", matmul); }

  CommandResult compile(std::vector<std::string> arguments,
                        const std::vector<std::string> &environment = {}) {
    arguments.insert(arguments.begin(), {"compile", file});
    return run(arguments, environment);
  }
  // Files of a folder by name.
  static std::map<std::string, std::string> files(const fs::path &folder) {
    std::map<std::string, std::string> result;
    for (const auto &entry : fs::directory_iterator(folder))
      result[entry.path().filename().string()] = readFile(entry.path());
    return result;
  }
  std::string file;
};

TEST_F(Gpu, EmitsAllStages) {
  expectFine(compile(
      {"-i", "mm", "--target", "sm_80", "--emit", "all", "-o", path("out")}));
  const auto written = files(path("out"));
  for (const char *ending :
       {"tile.mlir", "layout.mlir", "ll", "ptx", "report.json", "h", "json"})
    EXPECT_TRUE(written.count(std::string("mm.") + ending)) << ending;
  const std::string &ptx = written.at("mm.ptx");
  expectHas(ptx, ".target sm_80");
  expectHas(ptx, ".reqntid 128");
  expectHas(ptx, "mma.sync");
  expectHas(ptx, "// matmul.py:18: acc = tl.dot(a, b, acc)\n");
  const Json report = parseJson(written.at("mm.report.json"), "report");
  const Json meta = parseJson(written.at("mm.json"), "meta");
  EXPECT_EQ(report["threads"], 128);
  EXPECT_EQ(meta["threads"], 128);
  EXPECT_EQ(report["shared"], meta["shared_bytes"]);
  EXPECT_FALSE(report["shared_buffers"].empty());
  EXPECT_FALSE(report["ptx"]["loops"].empty());
  expectHas(written.at("mm.h"), "#define mm_THREADS 128\n");
  expectHas(written.at("mm.h"), "CUdeviceptr A, CUdeviceptr B, CUdeviceptr C, "
                                "int32_t K)");
  // The plain text is what the artifact has.
  expectFine(run({"report", path("out/mm.ptx"), "--no-ptxas"}));
  if (!findPtxas())
    return;
  EXPECT_TRUE(written.count("mm.cubin"));
  EXPECT_GT(report["registers"], 8);
  EXPECT_GT(report["blocks_per_sm"], 0);
  if (written.count("mm.sass")) {
    expectHas(written.at("mm.sass"), "// matmul.py:18: acc = tl.dot");
    EXPECT_GT(report["sass"]["instructions"]["mma"], 0);
    EXPECT_GT(report["loop_non_tensor_per_tensor"], 0);
  }
}

// The output does not depend on the folders of files and caches. The remark is
// repeated if the cache has the kernel, and every description contains it.
TEST_F(Gpu, ADotThatMissesTheTensorCoresIsRemarked) {
  const std::string remark =
      "the dot of fp32[32, 32] and fp32[32, 32] runs as multiply-adds, not on "
      "tensor cores: the precision is ieee";
  edit(file, "acc = tl.dot(a, b, acc)",
       "acc = tl.dot(a.to(tl.float32), b.to(tl.float32), acc, "
       "input_precision=\"ieee\")");
  const std::vector<std::string> arguments = {
      "-i", "mm",       "--target", "sm_80", "--emit", "ptx,report,meta",
      "-o", path("out")};
  for (const char *source : {"worker", "cache"}) {
    const CommandResult result = compile(arguments);
    expectFine(result);
    expectHas(result.errors, file + ":18:15: remark: " + remark);
    expectHas(result.errors, "[DotWithoutTensorCores]\nHINT: write "
                             "input_precision=\"tf32x3\"");
    EXPECT_EQ(result.errors.find("remark"), result.errors.rfind("remark"))
        << source << "\n"
        << result.errors;
  }
  // Programs are told where they ask for it.
  expectHas(compile(arguments, {"TESSERA_LOG=debug"}).errors, "debug: " + file);
  const auto written = files(path("out"));
  for (const char *name : {"mm.json", "mm.report.json"})
    expectHas(written.at(name), "matmul.py:18:15");
  expectHasNot(written.at("mm.json"), "\"" + path(""));
  const CommandResult report =
      run({"report", path("out/mm.ptx"), "--no-ptxas"});
  expectFine(report);
  expectHas(report.output, "  matmul.py:18:15: remark: " + remark);
}

TEST_F(Gpu, NoRemarkOnTensorCores) {
  for (const char *target : {"sm_80", "sm_90"}) {
    const CommandResult result =
        compile({"-i", "mm", "--target", target, "--emit", "ptx,report", "-o",
                 path("out")});
    expectFine(result);
    expectHasNot(result.errors, "remark");
    EXPECT_TRUE(parseJson(readFile(path("out/mm.report.json")), "r")["remarks"]
                    .empty());
  }
}

TEST_F(Gpu, ByteIdenticalInEveryCheckout) {
  std::string text = matmul; // with an assertion, which contains its location
  text.insert(text.find("    i = "),
              "    tl.device_assert(K > 0, \"no columns\")\n");
  std::map<std::string, std::string> first;
  for (const char *place : {"one", "two/deeper"}) {
    fs::create_directories(path(place));
    file = write(std::string(place) + "/matmul.py", text);
    fs::remove_all(path("cache"));
    expectFine(compile({"-i", "mm", "--target", "sm_90", "--emit", "all", "-o",
                        path(place) + "/out"},
                       {"TESSERA_DEBUG=1"}));
    const auto written = files(path(place) + "/out");
    expectHas(written.at("mm.ptx"), "__assertfail");
    if (first.empty())
      first = written;
    EXPECT_GE(written.size(), 7u);
    for (const auto &[name, text] : written) {
      EXPECT_TRUE(text == first[name]) << name << " differs";
      EXPECT_EQ(text.find(folder.path().string()), std::string::npos) << name;
    }
  }
}

TEST_F(Gpu, SignatureInTritonsForm) {
  expectFine(compile({"-k", "matmul", "-s",
                      "*fp16:16, *fp16:16, *fp32:16, i32:16, 32, 32, 32",
                      "--target", "sm_80", "--num-stages", "2", "--emit", "ptx",
                      "-o", path("a")}));
  expectFine(compile({"-k", "matmul", "-s",
                      "A=*fp16:16, B=*fp16:16, C=*fp32:16, K=i32:16", "-D",
                      "BM=32", "-D", "BN=32", "-D", "BK=32", "--target",
                      "sm_80", "--emit", "ptx", "-o", path("b")}));
  EXPECT_EQ(readFile(path("a/matmul.ptx")), readFile(path("b/matmul.ptx")));
  expectRefused(compile({"-k", "matmul", "-s", "i32, i32, i32, i32, 1, 2, 3, 4",
                         "--target", "sm_80"}),
                "takes 7");
}

TEST_F(Gpu, MistakesAreExplained) {
  const auto refused = [&](std::vector<std::string> arguments,
                           const std::string &part) {
    arguments.insert(arguments.end(), {"-i", "mm", "-o", path("out")});
    expectRefused(compile(arguments), part);
  };
  refused({"--target", "sm_75"}, "`sm_75` is not a GPU target");
  refused({"--target", "sm_75"}, "known: sm_80, sm_86, sm_89, sm_90");
  refused({"--target", "sm_80", "--emit", "loops"}, "has no stage `loops`");
  refused({"--target", "sm_80", "--emit", "pxt"}, "did you mean `ptx`?");
  refused({"--target", "sm_80", "--num-warps", "3"}, "num_warps=3");
  EXPECT_FALSE(fs::exists(path("out/mm.ptx")));
}

TEST_F(Gpu, TooMuchSharedMemory) {
  const CommandResult result = compile(
      {"-i", "large", "--target", "sm_80", "--emit", "ptx", "-o", path("out")});
  expectRefused(result, "bytes of shared memory; a block on sm_80 has 166912");
  expectHas(result.errors, "matmul.py:1");
  expectHas(result.errors, " for the buffer of ");
  expectHas(result.errors, "the largest that fits is BM=64, BN=64, BK=64, "
                           "num_warps=4, num_stages=3");
}

TEST_F(Gpu, WithoutPtxasThereIsPtx) {
  const std::vector<std::string> none = {"TESSERA_PTXAS=none"};
  CommandResult result = compile(
      {"-i", "mm", "--target", "sm_80", "--emit", "all", "-o", path("out")},
      none);
  expectFine(result);
  expectHas(result.errors, "no cubin and no sass");
  EXPECT_TRUE(fs::exists(path("out/mm.ptx")));
  EXPECT_FALSE(fs::exists(path("out/mm.cubin")));
  const Json report = parseJson(readFile(path("out/mm.report.json")), "report");
  EXPECT_TRUE(report["registers"].is_null());
  expectRefused(compile({"-i", "mm", "--target", "sm_80", "--emit", "cubin",
                         "-o", path("out")},
                        none),
                "no ptxas");
  expectRefused(compile({"-i", "mm", "--target", "sm_80", "--emit", "sass",
                         "-o", path("out")},
                        none),
                "no SASS without ptxas");
}

TEST_F(Gpu, PtxasThatIsBrokenIsNamed) {
  const std::string fake = write("ptxas", "#!/bin/sh\nexit 7\n");
  fs::permissions(fake, fs::perms::owner_all);
  expectRefused(compile({"-i", "mm", "--target", "sm_80", "-o", path("out")},
                        {"TESSERA_PTXAS=" + fake}),
                "is not a ptxas");
  // A ptxas that prints its version and then hangs.
  write("ptxas", "#!/bin/sh\nif [ \"$1\" = --version ]; then\n"
                 "echo 'ptxas, release 12.8, V12.8.93'; exit 0; fi\n"
                 "exec sleep 1000\n");
  fs::permissions(fake, fs::perms::owner_all);
  expectRefused(compile({"-i", "mm", "--target", "sm_80", "-o", path("out")},
                        {"TESSERA_PTXAS=" + fake, "TESSERA_PTXAS_TIMEOUT=1"}),
                "did not end within 1 s");
}

TEST_F(Gpu, Differences) {
  CommandResult result =
      run({"diff", file, "-i", "mm", "--target", "sm_80", "--a", "num_warps=2",
           "--b", "num_warps=4", "--summary"});
  expectFine(result);
  for (const char *part : {"threads of a block", "shared memory, bytes",
                           "loop, lines", "mma", "layouts: ", "PTX: "})
    expectHas(result.output, part);
  result = run({"diff", file, "-i", "mm", "--target", "sm_80", "--a", "BK=32",
                "--b", "BK=32"});
  expectFine(result);
  if (findPtxas())
    expectHas(result.output, "byte-identical");
  // Two folders.
  for (const char *target : {"sm_80", "sm_90"})
    expectFine(compile(
        {"-i", "mm", "--target", target, "--emit", "all", "-o", path(target)}));
  result = run({"diff", path("sm_80"), path("sm_90")});
  expectFine(result);
  expectHas(result.output, ".target sm_90");
}

// The layouts of a line, drawn.
TEST_F(Gpu, LayoutsOfALine) {
  const auto layout = [&](const std::string &line,
                          std::vector<std::string> more = {}) {
    more.insert(more.begin(), {"layout", file + ":" + line, "-i", "mm"});
    return run(more);
  };
  CommandResult result = layout("18");
  expectFine(result);
  expectHas(result.output, "matmul.py:18 of mm  ");
  expectHas(result.output, "tile.dot");
  expectHas(result.output, ": 32x32 f32\nregister: (0,1) (8,0)");
  expectHas(result.output, "0.0:0-1"); // who holds the first two
  // The addresses and the operand, each drawn once.
  result = layout("16", {"--bases"});
  expectFine(result);
  expectHas(result.output, "32x32 pointer\n");
  expectHas(result.output, "32x32 f16\n");
  expectHasNot(result.output, "lane:register");
  const size_t first = result.output.find("-> dim0:32 dim1:32");
  EXPECT_NE(first, std::string::npos) << result.output;
  // Another block has other layouts.
  expectHas(layout("18", {"--num-warps", "1", "--bases"}).output, "warp:\n");
  expectRefused(layout("2"), "matmul.py:2 of mm has no tiles");
  expectHas(layout("2").errors, "the nearest lines with tiles: 11");
  expectRefused(layout("0"), "`0` is not a number of a line");
  expectRefused(layout("18", {"--target", "cpu:x86-64-v3:0000"}),
                "tiles have layouts on GPUs only");
  expectRefused(layout("18", {"--to", "row_major()"}), "not with a line");
  expectRefused(run({"layout", path("none.py") + ":3"}), "none.py");
}

// LLVM ends its process if it cannot select an instruction: the request is
// kept, and the error names the path.
TEST_F(Gpu, AFaultOfTheCompilerLeavesAReproducer) {
  expectFine(compile(
      {"-i", "mm", "--target", "sm_80", "--emit", "ptx", "-o", path("out")},
      {"TESSERA_DUMP=" + path("dump")}));
  std::string kernel;
  for (const auto &entry : fs::directory_iterator(path("dump")))
    kernel = entry.path().filename().string();
  fs::create_directories(path("edited/" + kernel));
  std::string text = readFile(path("dump/" + kernel + "/03-llvm.ll"));
  const size_t at = text.find("ret void");
  ASSERT_NE(at, std::string::npos);
  text.insert(at, "call void @llvm.nvvm.wgmma.fence.sync.aligned()\n  ");
  text += "\ndeclare void @llvm.nvvm.wgmma.fence.sync.aligned()\n";
  write("edited/" + kernel + "/03-llvm.ll", text);
  const CommandResult result = compile(
      {"-i", "mm", "--target", "sm_80", "--emit", "ptx", "-o", path("out")},
      {"TESSERA_OVERRIDE=" + path("edited")});
  expectRefused(result, "LLVM cannot compile kernel `matmul`");
  const std::string mark = "tessera compile --request ";
  const size_t kept = result.errors.find(mark);
  ASSERT_NE(kept, std::string::npos) << result.errors;
  const size_t begin = kept + mark.size();
  const std::string reproducer =
      result.errors.substr(begin, result.errors.find('\n', begin) - begin);
  expectRefused(run({"compile", "--request", reproducer, "-o", path("again")}),
                "LLVM cannot compile kernel `matmul`");
}

} // namespace
