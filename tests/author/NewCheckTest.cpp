// tests/author/NewCheckTest.cpp - tessera new, tessera check.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "tests/author/Author.h"

using namespace tessera;
namespace fs = std::filesystem;

namespace {

// A kernel other than attention: hints describe everything.
const char *const scale = R"(import triton
import triton.language as tl


# tessera: grid(cdiv(N, 16))
@triton.jit
def scale_ref(X, Y, N, s):
    i = tl.program_id(0) * 16 + tl.arange(0, 16)
    tl.store(Y + i, tl.load(X + i, mask=i < N) * s, mask=i < N)


# tessera: instance small(X="*fp32:16", Y="*fp32:16", N="i32", s="fp32", BLOCK=64)
# tessera: check(N=[1, 63, 200], X=[N], Y=[N], s=0.5)
# tessera: grid(cdiv(N, BLOCK))
@triton.jit
def scale(X, Y, N, s, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(Y + i, tl.load(X + i, mask=i < N) * s, mask=i < N)


# tessera: grid(cdiv(N, 64))
@triton.jit
def scale_bwd(DY, DX, N, s):
    i = tl.program_id(0) * 64 + tl.arange(0, 64)
    tl.store(DX + i, tl.load(DY + i, mask=i < N) * s, mask=i < N)
)";

using NewCheck = Author;

TEST_F(NewCheck, TheTemplateWorks) {
  expectFine(run({"new", "kernel", "mine", "--dir", path("k")}));
  const std::string file = path("k/mine.py");
  CommandResult result = run({"check", file, "-i", "mine_f32"});
  expectFine(result);
  for (const char *part :
       {"64+0+47 H=2", "cpu(BM=32, BN=64)", "LSE", "DK", "19+0+95", "9+223 H=2",
        "mine_f32 compared at up to 223 tokens: 20 (what its constexprs see) + "
        "3 * 64 (its largest tile) + 11"})
    expectHas(result.output, part);
  expectHasNot(result.output, "WRONG");

  // Nothing is overwritten, be it the kernel or its test.
  expectRefused(run({"new", "kernel", "mine", "--dir", path("k")}), "exists");
  fs::remove(file);
  expectRefused(run({"new", "kernel", "mine", "--dir", path("k")}),
                "mine_test.py exists");
  EXPECT_FALSE(fs::exists(file));
}

TEST_F(NewCheck, NamesAreChecked) {
  for (const char *name : {"Mine", "1st", "with-dash", "", "../up", "lambda",
                           "mine_ref", "load_rows"}) {
    const CommandResult result =
        run({"new", "kernel", name, "--dir", path("k")});
    expectRefused(result, name);
    EXPECT_FALSE(fs::exists(path("k"))) << name;
  }
}

// Each injected mistake is reported with its location.
TEST_F(NewCheck, FindsMistakes) {
  expectFine(run({"new", "kernel", "mine", "--dir", folder.path()}));
  const std::string good = readFile(path("mine.py"));
  auto check = [&](const std::string &from, const std::string &to) {
    writeFile(path("mine.py"), good);
    edit(path("mine.py"), from, to);
    return run({"check", path("mine.py"), "-i", "mine_f32"});
  };
  // One key too many.
  CommandResult result = check("(pos > t - W)", "(pos > t - W - 1)");
  EXPECT_EQ(result.status.code, 1);
  expectHas(result.output, "37 H=1");
  expectHas(result.output, "WRONG (limit 1e-05)");
  // The first token that has a key to see which it must not: W = 20.
  expectHas(result.output, "O[20, 0, 0] is ");
  expectHas(result.output, "the reference says");
  // A sequence of one token is right: 5 shapes less one, 2 tilings, gradients
  // of two.
  expectHas(result.output, "8 lines are wrong");

  // The last rows of a tile are not stored.
  result = check("live = rows < length * G\n    t = tl.minimum(rows // G, "
                 "length - 1)        #",
                 "live = rows < length * G - 1\n    t = tl.minimum(rows // G, "
                 "length - 1)  #");
  EXPECT_EQ(result.status.code, 1);
  expectHas(result.output, "is nan, the reference says");

  // A gradient that forgets its scale; the forward is right.
  result = check("(dk * scale).to(", "dk.to(");
  EXPECT_EQ(result.status.code, 1);
  expectHas(result.output, "DK[");
  expectHasNot(result.output, "DQ[");
  expectHas(result.output, "2 lines are wrong");
}

// In bf16 the rounding errors of all elements hide one that is off by twice the
// RMS, but not those of a range of 300. No sample is this element.
TEST_F(NewCheck, OneWrongElementOfAGradientIsFound) {
  expectFine(run({"new", "kernel", "mine", "--dir", folder.path()}));
  const std::string file = path("mine.py");
  edit(file, "dv.to(DV.dtype.element_ty)",
       "(dv + tl.where((pos == 77)[:, None] & (e[None, :] == 3), 0.2, 0.0))"
       ".to(DV.dtype.element_ty)");
  const CommandResult result = run({"check", file, "-i", "mine_bf16"});
  EXPECT_EQ(result.status.code, 1);
  // Position 77 of the sequence that begins at token 19.
  expectHas(result.output, "\n    DV[96, 0, 3] is ");
}

// Gradients of sequences that are longer than the window and a tile of keys.
TEST_F(NewCheck, AForgottenKeyShowsInTheGradients) {
  expectFine(run({"new", "kernel", "mine", "--dir", folder.path()}));
  const std::string file = path("mine.py"), good = readFile(file);
  // The first keys of a tile are seen; those of the last rows' half window no
  // more: nothing that a sequence shorter than the window shows.
  edit(file, "    return pos + W\n", "    return pos + W // 2\n");
  for (const char *instance : {"mine_wide_f32", "mine_bf16"}) {
    const CommandResult result = run({"check", file, "-i", instance});
    EXPECT_EQ(result.status.code, 1) << instance;
    // The wide one has two wrong keys of 112, and no sample is one of theirs.
    expectHas(result.output, "\n    DK[");
    expectHas(result.output, "2 lines are wrong");
  }
  // The author's lengths are taken: here they show nothing, there they do.
  const std::string place = "# tessera: instance mine_f32(";
  const std::string bad = readFile(file);
  edit(file, place, "# tessera: check(lengths=[[1], [30], [9, 17]])\n" + place);
  CommandResult result = run({"check", file, "-i", "mine_wide_f32"});
  expectFine(result);
  expectHas(result.output, "9+17 H=2");
  const size_t gradients = result.output.find("finite differences");
  ASSERT_NE(gradients, std::string::npos);
  const std::string lines = result.output.substr(gradients);
  expectHas(lines, " 30 H=1");
  expectHas(lines, " 9+17 H=2");
  expectHasNot(lines, " 1 H=2");
  writeFile(file, bad);
  edit(file, place, "# tessera: check(lengths=[[30], [101]])\n" + place);
  result = run({"check", file, "-i", "mine_wide_f32"});
  EXPECT_EQ(result.status.code, 1);
  expectHas(result.output, "1 lines are wrong");
  // The output reports that the available time is too short for a wide window.
  writeFile(file, good);
  edit(file,
       "G=1, W=50, D=48, DP=64, E=16, EP=16, BM=32, BN=16)\n"
       "# tessera: instance mine_bf16",
       "G=1, W=400, D=16, DP=16, E=16, EP=16, BM=32, BN=16)\n"
       "# tessera: instance mine_bf16");
  result = run({"check", file, "-i", "mine_wide_f32"});
  expectFine(result);
  expectHas(result.output, "19+0+384 H=1");
  expectHas(result.output, " 491 H=1");
  expectHas(result.output, "name longer sequences");
}

// A pattern whose period of 128 is a constant of the text: each way to skip a
// tile that some query sees is found, in the forward and both backward kernels.
TEST_F(NewCheck, EveryClassOfTileIsCompared) {
  const std::string good = readFile(TESSERA_SOURCE "/tests/author/strided.py");
  const std::string file = write("strided.py", good);
  const std::string needed = "(n0 < 4) | (n1 > t0 - W) | ((t1 - n0) // 128 * "
                             "128 >= t0 - n1)\n";
  const auto check = [&](const std::string &other) {
    writeFile(file, good);
    edit(file, needed, other + "\n");
    return run({"check", file, "-i", "strided_f32"});
  };
  CommandResult result = run({"check", file});
  expectFine(result);
  expectHas(result.output, "strided_f32 compared at up to 479 tokens: 2 * 128 "
                           "(the largest constant in its text) + 20 (what its "
                           "constexprs see) + 3 * 64 (its largest tile) + 11");
  expectHas(result.output, "strided_bf16 compared at up to ");
  expectHas(result.output, "ok");
  const std::string period = "((t1 - n0) // 128 * 128 >= t0 - n1)",
                    start = "(n0 < 4)", window = "(n1 > t0 - W)";
  for (const std::string &wrong : std::vector<std::string>{
           // No tile but those of the window and the first keys.
           "(n0 < 4) | (n1 > t0 - W) | ((t1 - n0) // 128 * 128 > t1)",
           // One period, but not the second one.
           start + " | " + window + " | (" + period + " & (t1 - n0 < 256))",
           // Not where the last query of a tile alone sees the tile.
           start + " | " + window + " | ((t0 - n0) // 128 * 128 >= t0 - n1)",
           // The first keys only for near queries.
           "((n0 < 4) & (t0 < 200)) | " + window + " | " + period,
           // The window only where it sees the complete tile.
           start + " | (n0 > t0 - W) | " + period}) {
    result = check(wrong);
    EXPECT_EQ(result.status.code, 1) << wrong;
    for (const char *tensor : {"    O[", "    DQ[", "    DK[", "    DV["})
      expectHas(result.output, tensor);
  }
}

// The forward and both backward kernels call `needed` before each tile: if it
// is false too often, each of them is wrong.
TEST_F(NewCheck, TilesThatNobodyNeedsAreSkipped) {
  expectFine(run({"new", "kernel", "mine", "--dir", folder.path()}));
  const std::string file = path("mine.py"), good = readFile(file);
  auto check = [&](const std::string &needed, const std::string &device) {
    writeFile(file, good);
    edit(file, "    return True\n", "    return " + needed + "\n");
    return run({"check", file, "-i", "mine_f32", "--device", device});
  };
  for (const char *device : {"cpu", "sim:sm_80"}) {
    // Exactly the tiles of a window; the bounds leave no other.
    CommandResult result = check("(n0 <= t1) & (n1 > t0 - W)", device);
    expectFine(result);
    // Not the keys of the first tile for later queries.
    result = check("(n0 >= 32) | (t0 < 16)", device);
    EXPECT_EQ(result.status.code, 1);
    for (const char *wrong : {"    O[", "    DQ[", "    DK["})
      expectHas(result.output, wrong);
  }
}

// The last line reports how many tiles were computed in vain.
TEST_F(NewCheck, TilesThatAreMaskedAreCounted) {
  expectFine(run({"new", "kernel", "mine", "--dir", folder.path()}));
  const std::string file = path("mine.py");
  auto check = [&] {
    const CommandResult result =
        run({"check", file, "-i", "mine_f32", "--no-gradients"});
    expectFine(result);
    return result.output;
  };
  // G=3, W=20, BM=64, BN=32 over 2,048 tokens: tiles of the window alone, then
  // all of the past.
  int64_t seen = 0, past = 0;
  for (int64_t first = 0; first < 2048 * 3; first += 64) {
    const int64_t t0 = first / 3,
                  last = std::min<int64_t>((first + 63) / 3, 2047);
    for (int64_t n = 0; n <= last; n += 32) {
      ++past;
      seen += n + 31 > t0 - 20;
    }
  }
  std::string output = check();
  expectHas(output, "mine computes " + std::to_string(seen) +
                        " tiles at 2048 tokens, 0 of them (0%) wholly masked");
  expectHasNot(output, "HINT");
  edit(file, "    return tl.maximum(t - W + 1, 0)\n", "    return 0\n");
  output = check();
  expectHas(output, "mine computes " + std::to_string(past) +
                        " tiles at 2048 tokens, " +
                        std::to_string(past - seen) + " of them (");
  expectHas(output, "HINT: leave such tiles out");
  edit(file, "    return True\n", "    return n1 > t0 - W\n");
  output = check();
  expectHas(output, "mine computes " + std::to_string(seen) + " tiles");
  // Of a kernel that is none of attention there is nothing to say.
  writeFile(file, scale);
  expectHasNot(run({"check", file}).output, "computes");
}

TEST_F(NewCheck, KernelsOfAnyKind) {
  const std::string file = write("scale.py", scale);
  CommandResult result = run({"check", file});
  expectFine(result);
  for (const char *part : {"N=1 ", "N=63", "N=200", "DX"})
    expectHas(result.output, part);
  edit(file, "tl.load(DY + i, mask=i < N) * s", "tl.load(DY + i, mask=i < N)");
  EXPECT_EQ(run({"check", file}).status.code, 1);
  expectFine(run({"check", file, "--no-gradients"}));
}

TEST_F(NewCheck, StoresOutsideATensorAreFound) {
  const std::string file = write("scale.py", scale);
  edit(file, "* s, mask=i < N)\n\n\n# tessera: grid(cdiv(N, 64))",
       "* s, mask=i < N + 1)\n\n\n# tessera: grid(cdiv(N, 64))");
  expectRefused(run({"check", file}),
                "kernel `scale` writes outside `Y`, 0 bytes after its end");
  writeFile(file, scale);
  edit(file, "tl.store(DX + i,", "tl.store(DX + i - 1,");
  expectRefused(run({"check", file}), "writes outside `DX`, ");
}

TEST_F(NewCheck, MistakesInHintsSayWhatToDo) {
  auto expectError = [&](const std::string &from, const std::string &to,
                         const std::string &part,
                         std::vector<std::string> more = {}) {
    const std::string file = write("scale.py", scale);
    if (!from.empty())
      edit(file, from, to);
    more.insert(more.begin(), {"check", file});
    expectRefused(run(more), part);
  };
  expectError("X=[N], ", "", "the shape of `X` is not known");
  expectError(", s=0.5", "", "nothing says what to pass for `s`");
  expectError("# tessera: grid(cdiv(N, BLOCK))\n", "", "does not say its grid");
  expectError("grid(cdiv(N, BLOCK))", "grid(cdiv(M, BLOCK))", "`M`");
  expectError("grid(cdiv(N, BLOCK))", "grid(N / BLOCK)", "dimension 0");
  expectError("N=[1, 63, 200], ", "", "no shapes to try");
  expectError("X=[N]", "X=[N, -1]", "sizes are whole numbers");
  expectError("X=[N]", "X=N", "no list");
  expectError("check(N", "chek(N", "unknown hint `chek`");
  expectError("check(N=[1, 63, 200], ", "check(N=[1], N=[2], ", "twice");
  expectError("def scale_ref", "def plain", "no kernel with a reference");
  expectError("# tessera: instance small(X=\"*fp32:16\", Y=\"*fp32:16\", "
              "N=\"i32\", s=\"fp32\", BLOCK=64)\n",
              "", "names no instances");
  expectError("", "", "no instance `smal`", {"-i", "smal"});
  expectError("", "", "no kernel `scal`", {"-k", "scal"});
  expectError("DX + i", "DZ + i", "DZ");
  expectError("scale_bwd(DY, DX", "scale_bwd(DY, GX", "cannot tell gradients");
}

} // namespace
