// tests/unit/compiler/CompileGpuTest.cpp - compile() for GPU targets.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "compiler/Compile.h"
#include "compiler/CompileParts.h"
#include "language/Program.h"
#include "support/CudaTools.h"
#include "support/File.h"
#include "support/Json.h"
#include "tests/unit/compiler/Requests.h"
#include "tests/unit/support/TemporaryFolder.h"

#include "gtest/gtest.h"

#include <cstdlib>
#include <filesystem>
#include <set>
#include <sstream>
#include <thread>

using namespace tessera;
using compiler::compile;
using language::CompileRequest;
using language::CompileResult;

namespace {

CompileRequest gpuRequest(std::vector<std::string> emit = {}) {
  CompileRequest request = scaledExpRequest();
  request.target = "sm_80";
  request.assembler = "none";
  request.emit = std::move(emit);
  return request;
}

bool has(const std::string &text, const std::string &part) {
  return text.find(part) != std::string::npos;
}

TEST(CompileGpu, StagesAndMetadata) {
  CompileRequest request =
      gpuRequest({"layout", "llvm", "ptx", "report", "tile"});
  request.options.numWarps = 2;
  CompileResult result = compile(request);
  ASSERT_TRUE(result.ok) << result.rendered;
  EXPECT_EQ(result.artifact, "");
  EXPECT_EQ(result.meta.symbol, "scaled_exp");
  EXPECT_EQ(result.meta.threads, 64u);
  ASSERT_EQ(result.meta.params.size(), 4u);
  EXPECT_EQ(result.meta.params[1].name, "Y");
  EXPECT_EQ(result.meta.params[1].kind, "pointer");
  EXPECT_EQ(result.meta.params[2].type, "fp32");
  for (const char *stage : {"layout", "llvm", "ptx", "report", "tile"})
    EXPECT_TRUE(result.stages.count(stage)) << stage;
  EXPECT_FALSE(has(result.stages["tile"], "#tile.linear"));
  EXPECT_TRUE(has(result.stages["layout"], "#tile.linear"));
  EXPECT_TRUE(has(result.stages["llvm"], "ptx_kernel void @scaled_exp"));
  EXPECT_TRUE(has(result.stages["ptx"], ".reqntid 64"));
  EXPECT_TRUE(has(result.stages["ptx"], ".file\t1 \"scaled_exp.py\""));
  const Json report = parseJson(result.stages["report"], "report");
  EXPECT_EQ(report["kernel"], "scaled_exp");
  EXPECT_EQ(report["threads"], 64);
  EXPECT_TRUE(report["registers"].is_null());
  EXPECT_GT(report["ptx"]["instructions"]["ld.global"], 0);
  for (const char *phase : {"parse", "semantics", "tile", "layout", "lower",
                            "optimize", "emit", "report", "total"})
    EXPECT_TRUE(result.timings.count(phase)) << phase;
  EXPECT_FALSE(result.timings.count("ptxas"));
}

// ptxas would work on it for minutes, and fail.
TEST(CompileGpu, ATileThatNoThreadCanHold) {
  CompileRequest request = gpuRequest();
  request.args.back().value = language::Value(int64_t(1) << 20);
  const CompileResult result = compile(request);
  EXPECT_FALSE(result.ok);
  EXPECT_FALSE(result.defect);
  EXPECT_FALSE(result.timings.count("optimize"));
  for (const char *part :
       {"scaled_exp.py:7:", "1048576", "registers of each of the 128 threads",
        "255", "HINT: ", "num_warps"})
    EXPECT_TRUE(has(result.rendered, part)) << part << "\n" << result.rendered;
  // Four times as many threads share what fits.
  request.args.back().value = language::Value(int64_t(1) << 15);
  request.options.numWarps = 16;
  EXPECT_TRUE(compile(request).ok);
}

// The hint swap_ab: four rows as columns.
TEST(CompileGpu, SwapAbHalvesTheTensorInstructions) {
  CompileRequest request;
  request.file = request.kernel = "few_rows";
  request.text = R"(import triton
import triton.language as tl


@triton.jit
def few_rows(A, B, C):
    i = tl.arange(0, 4)[:, None]
    k = tl.arange(0, 64)
    a = tl.load(A + i * 64 + k[None, :])
    b = tl.load(B + k[:, None] * 64 + k[None, :])
    tl.store(C + i * 64 + k[None, :], tl.dot(a, b))
)";
  for (const char *name : {"A", "B", "C"})
    request.args.push_back({name, language::ArgKind::Pointer, "*fp32:16", {}});
  request.target = "sm_80";
  request.assembler = "none";
  request.emit = {"report"};
  auto tensor = [&] {
    const CompileResult result = compile(request);
    EXPECT_TRUE(result.ok) << result.rendered;
    return parseJson(result.stages.at("report"),
                     "report")["ptx"]["instructions"]["mma"]
        .get<int>();
  };
  const int plain = tensor();
  const std::string key = request.key();
  request.options.swapAb = true;
  // 2 x 8 columns of a warp and 8 steps along K; 1 x 16 rows.
  EXPECT_EQ(plain, 16);
  EXPECT_EQ(tensor(), 8);
  EXPECT_NE(request.key(), key);
  EXPECT_EQ(CompileRequest::fromJson(request.toJson()).key(), request.key());
}

// The PTX is there whether it is asked for or not.
TEST(CompileGpu, SameRequestSameText) {
  const std::string first = compile(gpuRequest()).stages["ptx"];
  ASSERT_TRUE(has(first, ".entry scaled_exp"));
  // The PTX does not depend on the other requested stages, the file's folder,
  // the thread, or what the thread compiled before.
  EXPECT_EQ(compile(gpuRequest({"tile", "layout", "llvm"})).stages["ptx"],
            first);
  CompileRequest moved = gpuRequest();
  moved.file = "/another/checkout/kernels/scaled_exp.py";
  EXPECT_EQ(compile(moved).stages["ptx"], first);
  CompileRequest other = requestWithLine("x = x * 2.0");
  other.target = "sm_90";
  other.assembler = "none";
  EXPECT_TRUE(has(compile(other).stages["ptx"], ".target sm_90"));
  std::string elsewhere;
  std::thread([&] { elsewhere = compile(gpuRequest()).stages["ptx"]; }).join();
  EXPECT_EQ(elsewhere, first);
}

// Kernels with loops, dots, reductions and prints, in several threads at once
// and in another order: every stage has the same bytes.
TEST(CompileGpu, SameBytesInManyThreads) {
  const char *const bodies[] = {
      "x = tl.sum(tl.sort(x)) + tl.cumsum(x, 0)",
      "x = tl.sum(tl.dot(tl.broadcast_to(x[:, None], (64, 64)), "
      "tl.broadcast_to(x[None, :], (64, 64))), 0)",
      "tl.device_print(\"x\", x)",
      "tl.atomic_add(Y + i, tl.max(x), mask=x > 0)",
      "x = tl.gather(x, i % 7, 0) + tl.histogram(i, 64).to(tl.float32)",
      "for k in range(n): x += tl.load(X + i + k * 64)"};
  std::vector<CompileRequest> requests;
  for (const char *body : bodies)
    for (int warps : {1, 4}) {
      CompileRequest request = requestWithLine(body);
      request.target = "sm_80";
      request.assembler = "none";
      request.options.numWarps = warps;
      request.emit = {"layout", "llvm", "report", "tile", "tiles"};
      requests.push_back(request);
    }
  std::vector<CompileResult> alone;
  for (const CompileRequest &request : requests) {
    alone.push_back(compile(request));
    ASSERT_TRUE(alone.back().ok) << alone.back().rendered;
    EXPECT_EQ(alone.back().stages.size(), 6u);
  }
  std::vector<std::thread> threads;
  for (size_t thread = 0; thread < 3; ++thread)
    threads.emplace_back([&, thread] {
      // Steps that have no divisor in common with 12.
      const size_t step = thread == 0 ? 1 : thread == 1 ? 5 : 7;
      for (size_t n = 0; n < requests.size(); ++n) {
        const size_t i = (thread * 4 + n * step) % requests.size();
        const CompileResult again = compile(requests[i]);
        EXPECT_TRUE(again.ok) << again.rendered;
        for (const auto &[stage, text] : alone[i].stages)
          EXPECT_EQ(again.stages.at(stage), text) << i << " " << stage;
      }
    });
  for (std::thread &thread : threads)
    thread.join();
}

// Every line of printed IR in the stage "places" contains an operation, the
// stage has all lines with an operation of the body, and requesting it changes
// no text.
TEST(CompileGpu, LocationsOfPrintedLines) {
  CompileRequest request = requestWithLine("x = x + 1");
  request.target = "sm_80";
  request.assembler = "none";
  request.emit = {"layout", "tile"};
  const CompileResult plain = compile(request);
  ASSERT_TRUE(plain.ok) << plain.rendered;
  request.emit = {"layout", "places", "tile"};
  const CompileResult placed = compile(request);
  ASSERT_TRUE(placed.ok) << placed.rendered;
  const Json places = parseJson(placed.stages.at("places"), "places");
  std::vector<std::string> kernel;
  std::istringstream text(request.sources.empty() ? request.text
                                                  : request.sources[0].text);
  for (std::string line; std::getline(text, line);)
    kernel.push_back(line);
  for (const char *stage : {"tile", "layout"}) {
    EXPECT_EQ(plain.stages.at(stage), placed.stages.at(stage));
    std::vector<std::string> lines;
    std::istringstream stream(placed.stages.at(stage));
    for (std::string line; std::getline(stream, line);)
      lines.push_back(line);
    std::set<size_t> named;
    for (const Json &entry : places.at(stage)) {
      const size_t line = entry[0].get<size_t>();
      ASSERT_LE(line, lines.size());
      named.insert(line);
      const size_t source = entry[1][0][1].get<size_t>();
      ASSERT_GE(source, 1u);
      ASSERT_LE(source, kernel.size());
      const std::string &op = lines[line - 1], &from = kernel[source - 1];
      for (const auto &[operation, word] :
           {std::pair("tile.store", "tl.store"), {"tile.load", "tl.load"}})
        if (has(op, operation)) {
          EXPECT_TRUE(has(from, word)) << op << "\n" << from;
        }
    }
    for (size_t i = 0; i < lines.size(); ++i)
      if (has(lines[i], "tile.store") || has(lines[i], "tile.load")) {
        EXPECT_TRUE(named.count(i + 1)) << lines[i];
      }
  }
}

TEST(CompileGpu, BadRequests) {
  const auto message = [](const CompileRequest &request) {
    CompileResult result = compile(request);
    EXPECT_FALSE(result.ok);
    EXPECT_TRUE(result.stages.empty());
    EXPECT_FALSE(result.defect);
    EXPECT_TRUE(has(result.rendered, "HINT: ")) << result.rendered;
    return result.rendered;
  };
  CompileRequest request = gpuRequest({"loops"});
  EXPECT_TRUE(has(message(request), "a GPU kernel has no stage `loops`"));
  request = gpuRequest({"sass"});
  EXPECT_TRUE(has(message(request), "no SASS without ptxas"));
  request = gpuRequest();
  request.target = "sm_70";
  EXPECT_TRUE(has(message(request), "`sm_70` is not a GPU target"));
  EXPECT_TRUE(has(message(request), "known: sm_80, sm_86, sm_89, sm_90"));
  request = gpuRequest();
  for (int warps : {3, 64}) {
    request.options.numWarps = warps;
    EXPECT_TRUE(has(message(request), "num_warps=" + std::to_string(warps)));
  }
  request = requestWithLine("x = x +");
  request.target = "sm_80";
  EXPECT_TRUE(has(message(request), "scaled_exp.py:9:"));
  request = gpuRequest();
  request.overrides = {{"loops", "02-loops.mlir", "module {}"}};
  EXPECT_TRUE(has(message(request), "tile, layout, llvm or ptx can"));
}

TEST(CompileGpu, EditedStages) {
  CompileRequest request = gpuRequest({"layout", "llvm", "tile"});
  const CompileResult plain = compile(request);
  ASSERT_TRUE(plain.ok) << plain.rendered;
  // The unchanged text of each stage gives the same code.
  for (const char *stage : {"tile", "layout", "llvm", "ptx"}) {
    CompileRequest same = gpuRequest();
    same.overrides = {{stage, stage, plain.stages.at(stage)}};
    const CompileResult again = compile(same);
    ASSERT_TRUE(again.ok) << stage << "\n" << again.rendered;
    EXPECT_EQ(again.meta.edited, std::vector<std::string>{stage});
    // An MLIR stage was printed without locations in the kernel.
    if (stage[0] == 'p' || stage[1] == 'l') {
      EXPECT_EQ(again.stages.at("ptx"), plain.stages.at("ptx")) << stage;
    }
  }
  std::string ptx = plain.stages.at("ptx");
  ptx.insert(ptx.find("\tret;"), "\tbar.sync 0;\n");
  request = gpuRequest();
  request.overrides = {{"ptx", "06-kernel.ptx", ptx}};
  EXPECT_EQ(compile(request).stages["ptx"], ptx);
  request.overrides = {{"llvm", "03-llvm.ll", "define void @f() {"}};
  EXPECT_TRUE(has(compile(request).rendered, "03-llvm.ll:1:"));
}

// Locations and barriers are those of the edited text.
TEST(CompileGpu, AnEditedLayoutGetsNewLocations) {
  CompileRequest request = requestWithLine("x += tl.sum(x, 0)");
  request.target = "sm_80";
  request.assembler = "none";
  request.emit = {"layout"};
  const CompileResult plain = compile(request);
  ASSERT_TRUE(plain.ok) << plain.rendered;
  std::string text = plain.stages.at("layout");
  const std::string place = "tile.scratch = ";
  ASSERT_TRUE(has(text, place + "0")) << text;
  text.insert(text.find(place) + place.size(), "9");
  request.overrides = {{"layout", "02-layout.mlir", text}};
  const CompileResult again = compile(request);
  ASSERT_TRUE(again.ok) << again.rendered;
  EXPECT_EQ(again.meta.sharedBytes, plain.meta.sharedBytes);
  EXPECT_FALSE(has(again.stages.at("layout"), place + "9"));
}

// What does not fit is known before LLVM runs.
TEST(CompileGpu, TooMuchSharedMemoryNeedsNoLlvm) {
  CompileRequest request =
      requestWithLine("x += tl.sum(tl.histogram(i, 65536), 0)");
  request.target = "sm_80";
  request.assembler = "none";
  const CompileResult result = compile(request);
  EXPECT_FALSE(result.ok);
  EXPECT_TRUE(has(result.rendered, "bytes of shared memory; a block on sm_80"))
      << result.rendered;
  EXPECT_TRUE(result.timings.count("layout"));
  EXPECT_FALSE(result.timings.count("optimize"));
}

// Contexts of MLIR are renewed every 64 modules. The message about shared
// memory looks at other configurations while the kernel's own module lives.
TEST(CompileGpu, ModulesLiveWhileTheContextIsRenewed) {
  CompileRequest request = requestWithLine(
      "for k in range(n): x += tl.sum(tl.dot(tl.load(X + i[:, None] * n + k + "
      "i[None, :]), tl.load(Y + i[:, None] * n + k + i[None, :])), 0)");
  request.target = "sm_80";
  request.assembler = "none";
  request.options.numStages = 8;
  std::string first;
  for (int i = 0; i < 20; ++i) {
    const CompileResult result = compile(request);
    ASSERT_FALSE(result.ok);
    EXPECT_TRUE(has(result.rendered, "bytes of shared memory; a block on"))
        << result.rendered;
    EXPECT_TRUE(has(result.rendered, "with num_stages=")) << result.rendered;
    if (first.empty())
      first = result.rendered;
    EXPECT_EQ(result.rendered, first);
  }
}

// A module is the same text after its thread has gone on to other contexts,
// and no other module is in its context.
TEST(CompileGpu, AModuleKeepsItsContext) {
  const CompileRequest request = gpuRequest();
  const auto program = language::Program::load(request);
  const compiler::KernelModule held(*program, request);
  const std::string text = compiler::printModule(*held);
  int others = 0;
  for (int i = 0; i < 150; ++i) {
    const compiler::KernelModule next(*program, request);
    others += next->getContext() != held->getContext();
  }
  EXPECT_GE(others, 150 - 64);
  EXPECT_EQ(compiler::printModule(*held), text);
}

class WithPtxas : public testing::Test {
protected:
  void SetUp() override {
    std::string why;
    if (findPtxas({}, &why))
      return;
    // `make test` installs ptxas: without it nothing would have been tested.
    if (std::getenv("TEST_COMPLETE"))
      FAIL() << why;
    GTEST_SKIP() << why;
  }
};

// The tuner needs registers and spills alone; a report takes as long as ptxas.
TEST_F(WithPtxas, ResourcesNeedNoDisassembly) {
  CompileRequest request = gpuRequest({"resources"});
  EXPECT_EQ(compile(request).stages["resources"], "{}\n");
  request.assembler.clear();
  CompileResult result = compile(request);
  ASSERT_TRUE(result.ok) << result.rendered;
  EXPECT_FALSE(result.timings.count("report"));
  EXPECT_FALSE(result.stages.count("report"));
  const Json found = parseJson(result.stages["resources"], "resources");
  request.emit = {"report"};
  const Json report = parseJson(compile(request).stages["report"], "report");
  EXPECT_GT(found["registers"], 0);
  EXPECT_EQ(found["registers"], report["registers"]);
  EXPECT_EQ(found["spill_stores"], report["spill_stores"]);
}

TEST_F(WithPtxas, CubinAndReport) {
  CompileRequest request = gpuRequest({"report"});
  request.assembler = "";
  if (findDisassembler())
    request.emit.push_back("sass");
  const CompileResult result = compile(request);
  ASSERT_TRUE(result.ok) << result.rendered;
  EXPECT_EQ(result.artifact.substr(0, 4), "\x7f"
                                          "ELF");
  EXPECT_TRUE(result.timings.count("ptxas"));
  const Json report = parseJson(result.stages.at("report"), "report");
  EXPECT_GT(report["registers"], 4);
  EXPECT_EQ(report["spill_stores"], 0);
  EXPECT_GT(report["blocks_per_sm"], 0);
  if (findDisassembler()) {
    EXPECT_TRUE(has(result.stages.at("sass"), "\"scaled_exp.py\", line 9"));
    EXPECT_GT(report["sass"]["instructions"]["st.global"], 0);
  }
  // The same PTX gives the same cubin.
  EXPECT_EQ(compile(request).artifact, result.artifact);
}

// ptxas writes the size and the time of the files that `.file` names into the
// code where it finds them.
TEST_F(WithPtxas, CubinDoesNotDependOnTheCurrentFolder) {
  CompileRequest request = gpuRequest();
  request.assembler = "";
  const std::string plain = compile(request).artifact;
  ASSERT_FALSE(plain.empty());
  TemporaryFolder folder;
  writeFile(folder.path() / "scaled_exp.py", request.text);
  const auto before = std::filesystem::current_path();
  std::filesystem::current_path(folder.path());
  const std::string inFolder = compile(request).artifact;
  std::filesystem::current_path(before);
  EXPECT_EQ(inFolder, plain);
}

TEST_F(WithPtxas, EditedPtxThatIsWrong) {
  CompileRequest request = gpuRequest();
  request.assembler = "";
  request.overrides = {
      {"ptx", "06-kernel.ptx", ".version 8.7\n.target sm_80\nnonsense\n"}};
  const CompileResult result = compile(request);
  EXPECT_FALSE(result.ok);
  EXPECT_TRUE(has(result.rendered, "06-kernel.ptx:3")) << result.rendered;
}

// The PTX does not depend on the version of ptxas or on whether it is
// installed. The metadata records for how many blocks it was asked.
TEST(CompileGpu, PtxIsTheSameWithAndWithoutPtxas) {
  TemporaryFolder folder;
  const auto path = folder.path() / "ptxas";
  // 200 registers, or 24 when asked for more blocks.
  writeFile(path, "#!/bin/sh\nregisters=200\ncase \"$*\" in "
                  "*--minnctapersm=*) registers=24;; esac\n"
                  "echo code > /dev/fd/4\n"
                  "echo \"ptxas info : Compiling entry function 'scaled_exp' "
                  "for 'sm_80'\"\n"
                  "echo \"ptxas info : Used $registers registers\"\n");
  std::filesystem::permissions(path, std::filesystem::perms::owner_all);
  CompileRequest request = gpuRequest();
  request.assembler = "none";
  const CompileResult without = compile(request);
  ASSERT_TRUE(without.ok) << without.rendered;
  EXPECT_EQ(without.meta.minBlocks, 0u);
  request.assembler = path.string();
  const CompileResult with = compile(request);
  ASSERT_TRUE(with.ok) << with.rendered;
  EXPECT_GT(with.meta.minBlocks, 1u);
  EXPECT_EQ(with.artifact, "code\n");
  EXPECT_EQ(with.stages.at("ptx"), without.stages.at("ptx"));
  // An edited PTX that is the same text has the same code.
  request.overrides = {{"ptx", "06-kernel.ptx", without.stages.at("ptx")}};
  EXPECT_EQ(compile(request).meta.minBlocks, with.meta.minBlocks);
}

// A ptxas that fails, dies or hangs is an error of the compilation and no more.
TEST(CompileGpu, PtxasThatFails) {
  TemporaryFolder folder;
  const auto path = folder.path() / "ptxas";
  CompileRequest request = gpuRequest();
  request.assembler = path.string();
  const std::pair<const char *, const char *> rows[] = {
      {"exit 1", "exit status 1"},
      {"kill -KILL $$", "died of signal 9"},
      {"exec sleep 600", "did not end within 1 s"},
      {"echo 'ptxas fatal   : Unsupported .version 8.7; current version is "
       "'\"'8.0'\" >&2; exit 255",
       "reads PTX up to 8.0"}};
  ::setenv("TESSERA_PTXAS_TIMEOUT", "1", 1);
  for (const auto &[script, part] : rows) {
    writeFile(path, std::string("#!/bin/sh\n") + script + "\n");
    std::filesystem::permissions(path, std::filesystem::perms::owner_all);
    const CompileResult result = compile(request);
    EXPECT_FALSE(result.ok);
    EXPECT_TRUE(has(result.rendered, part)) << result.rendered;
    EXPECT_TRUE(has(result.rendered, "in kernel `scaled_exp`"))
        << result.rendered;
  }
  ::unsetenv("TESSERA_PTXAS_TIMEOUT");
  request.assembler = "/nonexistent/ptxas";
  EXPECT_TRUE(has(compile(request).rendered, "cannot start"));
}

} // namespace
