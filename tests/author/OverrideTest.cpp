// tests/author/OverrideTest.cpp - dumps, edited stages, equal bytes.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "tests/author/Author.h"

#include "support/Json.h"

using namespace tessera;
namespace fs = std::filesystem;

namespace {

const char *const twice = R"(import triton
import triton.language as tl


# tessera: grid(cdiv(N, 16))
@triton.jit
def twice_ref(X, Y, N):
    i = tl.program_id(0) * 16 + tl.arange(0, 16)
    tl.store(Y + i, tl.load(X + i, mask=i < N) * 2.0, mask=i < N)


# tessera: instance small(X="*fp32:16", Y="*fp32:16", N="i32:16", BLOCK=64)
# tessera: check(N=[160], X=[N], Y=[N])
# tessera: grid(cdiv(N, BLOCK))
@triton.jit
def twice(X, Y, N, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(Y + i, tl.load(X + i, mask=i < N) * 2.0, mask=i < N)
)";

class Override : public Author {
protected:
  Override() { file = write("twice.py", twice); }

  CommandResult check(const std::vector<std::string> &environment = {}) {
    return run({"check", file}, environment);
  }
  // Dumps and gives the folder of the kernel `twice`.
  std::string dump() {
    expectFine(check({"TESSERA_DUMP=" + path("dump")}));
    for (const auto &entry : fs::directory_iterator(path("dump")))
      if (entry.path().filename().string().starts_with("twice-"))
        return entry.path().string();
    ADD_FAILURE() << "no dump";
    return "";
  }
  std::string overriding() { return "TESSERA_OVERRIDE=" + path("edited"); }

  std::string file;
};

TEST_F(Override, DumpHoldsTheStages) {
  const fs::path kernel = dump();
  expectHas(readFile(kernel / "01-tile.mlir"), "tile.store");
  expectHas(readFile(kernel / "02-loops.mlir"), "vector");
  expectHas(readFile(kernel / "03-llvm.ll"), "define");
  expectHas(readFile(kernel / "04-asm.s"), "tessera_entry");
  const Json report = parseJson(readFile(kernel / "05-report.json"), "report");
  EXPECT_EQ(report["kernel"], "twice");
  EXPECT_EQ(report["stages"].size(), 4u);
  EXPECT_TRUE(report["edited"].empty());
  // The request compiles again to the same code.
  expectFine(run({"compile", "--request", (kernel / "00-request.json").string(),
                  "--emit", "meta", "-o", path("again")}));
  EXPECT_EQ(
      parseJson(readFile(path("again/twice.json")), "meta")["code_sha256"],
      report["code_sha256"]);
}

// The edit of each stage shows in the results, is marked, and is gone with the
// variable.
TEST_F(Override, AnEditedStageIsUsed) {
  const fs::path kernel = dump();
  struct Edit {
    const char *file, *from, *to;
  };
  for (const Edit &one :
       {Edit{"01-tile.mlir", "2.000000e+00", "3.000000e+00"},
        Edit{"02-loops.mlir", "2.000000e+00", "3.000000e+00"}}) {
    fs::remove_all(path("edited"));
    fs::copy(path("dump"), path("edited"), fs::copy_options::recursive);
    const fs::path target =
        fs::path(path("edited")) / kernel.filename() / one.file;
    std::string text = readFile(target);
    ASSERT_NE(text.find(one.from), std::string::npos) << text;
    for (size_t at; (at = text.find(one.from)) != std::string::npos;)
      text.replace(at, std::string(one.from).size(), one.to);
    writeFile(target, text);

    const CommandResult result = check({overriding()});
    EXPECT_EQ(result.status.code, 1) << one.file << result.output;
    expectHas(result.output, "Y[0] is ");
    expectHas(result.errors, "is compiled from the edited stage");
    expectHas(result.errors, one.file);
    // Served without the variable: the original.
    const CommandResult plain = check();
    expectFine(plain);
    expectHasNot(plain.errors, "edited");
    // And again, now out of the cache.
    EXPECT_EQ(check({overriding()}).status.code, 1);

    // The metadata and a dump of it say so.
    expectFine(run({"compile", file, "-i", "small", "--emit", "meta,tile", "-o",
                    path("out")},
                   {overriding(), "TESSERA_DUMP=" + path("dump2")}));
    EXPECT_EQ(
        parseJson(readFile(path("out/small.json")), "meta")["edited_stages"]
            .size(),
        1u);
  }
}

TEST_F(Override, EditedLlvmIsUsed) {
  const fs::path kernel = dump();
  // A folder named after the kernel serves all its specializations.
  fs::create_directories(path("edited/twice"));
  std::string text = readFile(kernel / "03-llvm.ll");
  const size_t at = text.find("fmul");
  // x * 2 may have become x + x.
  const size_t other = text.find("fadd");
  ASSERT_TRUE(at != std::string::npos || other != std::string::npos) << text;
  if (at != std::string::npos)
    text.replace(at, 4, "fsub");
  else
    text.replace(other, 4, "fsub");
  writeFile(path("edited/twice/03-llvm.ll"), text);
  const CommandResult result = check({overriding()});
  EXPECT_EQ(result.status.code, 1) << result.output << result.errors;
  expectHas(result.output, "Y[");
  expectFine(check());
}

TEST_F(Override, EditedAssemblyIsUsed) {
  const fs::path kernel = dump();
  fs::create_directories(path("edited/twice"));
  std::string text = readFile(kernel / "04-asm.s");
  // A comment: the same code, assembled from text, does the same.
  writeFile(path("edited/twice/04-asm.s"), "# edited\n" + text);
  CommandResult result = check({overriding()});
  expectFine(result);
  expectHas(result.errors, "04-asm.s");
  // x * 2 may have become x + x; minus gives 0 or x - 2.
  const size_t at = std::min(text.find("vadd"), text.find("vmul"));
  ASSERT_NE(at, std::string::npos) << text;
  for (size_t i = at; i < text.size(); ++i)
    if (text.compare(i, 4, "vadd") == 0 || text.compare(i, 4, "vmul") == 0)
      text.replace(i, 4, "vsub");
  writeFile(path("edited/twice/04-asm.s"), text);
  result = check({overriding()});
  EXPECT_EQ(result.status.code, 1) << result.output << result.errors;
  expectHas(result.output, "Y[0] is ");
  expectHas(result.errors, "is compiled from the edited stage");
  expectFine(check());
}

// A copy of a dump with nothing edited changes nothing.
TEST_F(Override, UneditedStagesAreLeftAlone) {
  dump();
  const CommandResult result = check({"TESSERA_OVERRIDE=" + path("dump")});
  expectFine(result);
  expectHasNot(result.errors, "edited");
}

TEST_F(Override, MistakesHaveALocation) {
  dump();
  auto refuse = [&](const char *name, const std::string &text,
                    const std::string &part) {
    fs::remove_all(path("edited"));
    fs::create_directories(path("edited/twice"));
    writeFile(path("edited/twice/") + name, text);
    expectRefused(check({overriding()}), part);
  };
  refuse("01-tile.mlir", "module {\n  tile.stor\n}\n",
         "edited/twice/01-tile.mlir:2:3: error: ");
  refuse("01-tile.mlir", "module {\n}\n", "@twice is missing");
  refuse("01-tile.mlir",
         "module {\n  func.func @twice(%a: i32) {\n    return\n  }\n}\n",
         "01-tile.mlir:2:3: error: @twice has the type (i32) -> (), not");
  refuse("03-llvm.ll", "define void @f() {\n  bogus\n}\n",
         "edited/twice/03-llvm.ll:2:");
  refuse("03-llvm.ll", "define void @f() {\n  ret void\n}\n",
         "no function @tessera_entry");
  refuse("03-llvm.ll",
         "declare void @sin()\ndefine void @tessera_entry(ptr %a, ptr %b, ptr "
         "%c, ptr %d) {\n  call void @sin()\n  ret void\n}\n",
         "symbols that a kernel does not have: sin");
  refuse("04-asm.s", "\t.text\n\tbogus %eax\n",
         "edited/twice/04-asm.s:2:2: error: invalid instruction mnemonic");
  refuse("04-asm.s", "nop\n", "no global symbol tessera_entry");
  refuse("04-asm.s",
         "\t.globl tessera_entry\ntessera_entry:\n\tcall sin\n\tret\n",
         "symbols that a kernel does not have: sin");
  expectRefused(check({"TESSERA_OVERRIDE=" + path("nowhere")}),
                "is not a folder");
  expectRefused(check({"TESSERA_OVERRIDE=" + path("dump"),
                       "TESSERA_DUMP=" + path("dump")}),
                "are both");
}

// The same text gives the same bytes in another folder with another cache.
TEST_F(Override, CompilesToTheSameBytesEverywhere) {
  fs::create_directories(path("elsewhere/deep"));
  const std::string moved = path("elsewhere/deep/renamed.py");
  writeFile(moved, twice);
  expectFine(run({"compile", file, "--emit", "all", "-o", path("a")}));
  const CommandResult second = runCommand(
      {TESSERA_PROGRAM, "compile", moved, "--emit", "all", "-o", path("b")},
      std::chrono::seconds(60),
      {"TESSERA_CACHE_DIR=" + path("cache2"), "TESSERA_WORKERS=1"});
  expectFine(second);
  for (const char *ending :
       {".tile.mlir", ".loops.mlir", ".ll", ".s", ".so", ".json"})
    EXPECT_EQ(readFile(path("a/small") + ending),
              readFile(path("b/small") + ending))
        << ending;
}

} // namespace
