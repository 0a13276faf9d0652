// tests/unit/tools/TuneCommandTest.cpp - tessera tune --show|--diff|--merge,
// from outside.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "support/File.h"
#include "support/Process.h"
#include "tests/unit/support/TemporaryFolder.h"

#include <gtest/gtest.h>

using namespace tessera;

namespace {

const std::string head =
    "tessera_tuning: 1\n"
    "device: {name: NVIDIA A100-SXM4-80GB, target: sm_80, cores: 108}\n"
    "made: {commit: b40fb21}\n"
    "entries:\n";

std::string entry(const std::string &sequence, const std::string &tile,
                  const std::string &time, const std::string &more = "") {
  return "- {kernel: kernels/nsa/select_fwd.py:select_fwd, text: "
         "0123456789abcdef0123456789abcdef, sequence: " +
         sequence + ", dtypes: [bf16], constexprs: {D: 64}, use: {BN: " + tile +
         ", num_warps: 4}, time: {us: " + time +
         ", spread: 0.01, default_us: 100, date: 2026-11-22}" + more + "}\n";
}

class TuneCommand : public testing::Test {
protected:
  CommandResult tune(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), {TESSERA_PROGRAM, "tune"});
    return runCommand(arguments, std::chrono::seconds(60), {});
  }
  std::string file(const std::string &name, const std::string &entries) {
    const auto path = folder.path() / name;
    writeFile(path, head + entries);
    return path.string();
  }

  TemporaryFolder folder;
};

void expectPart(const std::string &text, const std::string &part) {
  EXPECT_NE(text.find(part), std::string::npos) << part << "\nin\n" << text;
}

} // namespace

TEST_F(TuneCommand, ShowsWhatAPersonAsks) {
  const auto shown = tune(
      {"--show",
       file("a.yaml",
            entry("1024", "32", "80",
                  ", runner_up: {us: 88, use: {BN: 64}}, why: less scratch"))});
  EXPECT_EQ(shown.status.code, 0) << shown.errors;
  expectPart(shown.output, "NVIDIA A100-SXM4-80GB, sm_80, 108 SMs\n"
                           "commit b40fb21\n"
                           "1 entries, 0 predicted, 1 stale\n");
  expectPart(shown.output, "kernels/nsa/select_fwd.py:select_fwd bf16 D=64\n");
  expectPart(shown.output,
             "  1024      BN=32 num_warps=4  80 us  +-1.0%  1.25x  "
             "BN=64 +10.0%  2026-11-22  STALE: the kernel has changed\n");
}

// Every configuration that was timed is a cell in the row of its choice and the
// column of its length; those of another text of the kernel are none.
TEST_F(TuneCommand, ShowsALandscapeAsAPage) {
  const std::string table =
      file("a.yaml",
           entry("1024", "32", "80", ", runner_up: {us: 88, use: {BN: 64}}") +
               entry("2048", "64", "200", ", why: fewer <rounds>"));
  const auto timed = [](const char *choice, int bucket, double us,
                        const char *more = "") {
    return R"({"what": "x", "entry": )"
           R"("kernels/nsa/select_fwd.py:select_fwd bf16 D=64", "text": )"
           R"("0123456789abcdef0123456789abcdef", "bucket": )" +
           std::to_string(bucket) + R"(, "choice": ")" + choice +
           R"(", "seconds": )" + std::to_string(us * 1e-6) + more + "}";
  };
  writeFile(table + ".times",
            R"({"version": 1, "times": {"a": )" +
                timed("BN=32 num_warps=4", 1024, 81, R"(, "own": true)") +
                R"(, "b": )" + timed("BN=16", 1024, 320) + R"(, "c": )" +
                timed("BN=16", 2048, 1600) + R"(, "d": )" +
                timed("BN=128", 2048, 1, R"(, "problem": "wrong <here>")") +
                R"(, "e": {"what": "x", "seconds": 1, "entry": )"
                R"("kernels/nsa/select_fwd.py:select_fwd bf16 D=64", )"
                R"("text": "another", "bucket": 1024, "choice": "BN=8"}}})");
  const std::string page = (folder.path() / "page.html").string();
  const auto done = tune({"--show", table, "--html", "-o", page});
  EXPECT_EQ(done.status.code, 0) << done.errors;
  EXPECT_EQ(done.output, page + ": 6 configurations of 2 entries\n");
  const std::string text = readFile(page);
  expectPart(text, "<th scope=\"col\">1024 tokens</th>"
                   "<th scope=\"col\">2048 tokens</th>");
  // The page shows the table's time if both have one. This cell is both the
  // chosen configuration and the kernel's default.
  expectPart(text, "BN=32 num_warps=4</th><td class=\"chosen own\" "
                   "style=\"--r:0.000\" title=\"1.00 times the fastest, "
                   "spread 1.0%; the table's choice; the kernel's own\">80 "
                   "us</td><td></td>");
  expectPart(text, "BN=64</th><td class=\"\" style=\"--r:0.069\" "
                   "title=\"1.10 times the fastest\">88 us</td><td></td>");
  expectPart(text, "BN=16</th><td class=\"\" style=\"--r:1.000\" "
                   "title=\"4.00 times the fastest\">320 us</td><td class");
  expectPart(text, "<td class=\"excluded\" title=\"wrong &lt;here&gt;\">");
  EXPECT_EQ(text.find("BN=8<"), std::string::npos);
  expectPart(text, "<p class=\"why\">2048 tokens: fewer &lt;rounds&gt;</p>");
  // The fastest first, what is never right last.
  EXPECT_LT(text.find(">BN=32 num_warps=4<"), text.find(">BN=64<"));
  // Times are compared within one length: 200 us for 2048 tokens are not
  // slower.
  EXPECT_LT(text.find(">BN=64 num_warps=4<"), text.find(">BN=64<"));
  EXPECT_LT(text.find(">BN=64<"), text.find(">BN=16<"));
  EXPECT_LT(text.find(">BN=16<"), text.find(">BN=128<"));
  // It loads nothing.
  EXPECT_EQ(text.find("http"), std::string::npos);
  EXPECT_EQ(text.find("src="), std::string::npos);
}

TEST_F(TuneCommand, APageWithoutTimesReportsThat) {
  const std::string page = (folder.path() / "page.html").string();
  const std::string table = file("a.yaml", entry("1024", "32", "80"));
  const auto done = tune({"--show", table, "--html", "-o", page});
  expectPart(done.output, "1 configurations of 1 entries, the table's alone: "
                          "no " +
                              table + ".times");
  const auto wrong = tune({"--html", "--diff", table, table});
  EXPECT_EQ(wrong.status.code, 1);
  expectPart(wrong.errors, "--html is for a table that is shown");
}

TEST_F(TuneCommand, DiffersWhereTablesDo) {
  const std::string a = file("a.yaml", entry("1024", "32", "80") +
                                           entry("2048", "32", "160")),
                    b = file("b.yaml", entry("1024", "64", "60") +
                                           entry("4096", "32", "300"));
  const auto same = tune({"--diff", a, a});
  EXPECT_EQ(same.status.code, 0) << same.errors;
  const auto other = tune({"--diff", a, b});
  EXPECT_EQ(other.status.code, 1);
  expectPart(other.output,
             "kernels/nsa/select_fwd.py:select_fwd bf16 D=64, sequence 1024\n"
             "  BN=32 num_warps=4 80 us -> BN=64 num_warps=4 60 us, -25.0%\n");
  expectPart(other.output, "sequence 2048\n  only in the first: BN=32");
  expectPart(other.output, "sequence 4096\n  only in the second: BN=32");
}

TEST_F(TuneCommand, MergesIntoAFile) {
  const std::string a = file("a.yaml", entry("1024", "32", "80")),
                    b = file("b.yaml", entry("2048", "64", "60")),
                    c = (folder.path() / "c.yaml").string();
  const auto merged = tune({"--merge", a, b, "--out", c});
  EXPECT_EQ(merged.status.code, 0) << merged.errors;
  expectPart(merged.output, "c.yaml: 2 entries of 2 tables\n");
  EXPECT_EQ(tune({"--diff", c, a}).status.code, 1);
  expectPart(readFile(c), "  sequence: 1024\n");
  expectPart(readFile(c), "  sequence: 2048\n");
  expectPart(tune({"--merge", a, b}).errors, "HINT: add --out TABLE.yaml");
}

TEST_F(TuneCommand, RekeysTheNamedKernels) {
  const std::string a = file("a.yaml", entry("1024", "32", "80"));
  const std::string before = readFile(a);
  expectPart(tune({"--rekey", a, "kernels/nn/rope.py:rope"}).output,
             "a.yaml: 0 of 1 entries have another hash\n");
  expectPart(readFile(a), "  text: 0123456789abcdef0123456789abcdef\n");
  expectPart(
      tune({"--rekey", a, "kernels/nsa/select_fwd.py:select_fwd"}).output,
      "a.yaml: 1 of 1 entries have another hash\n");
  expectPart(tune({"--show", a}).output, "1 entries, 0 predicted, 0 stale\n");
}

TEST_F(TuneCommand, MistakesEndWithAHint) {
  expectPart(tune({}).errors,
             "HINT: name one of --show, --diff, --merge and --rekey");
  const std::string a = file("a.yaml", entry("1000", "32", "80"));
  const auto bad = tune({"--show", a});
  EXPECT_EQ(bad.status.code, 1);
  expectPart(bad.errors, "a.yaml:5:3: tuned configuration: the sequence length "
                         "1000 is not a bucket");
  expectPart(bad.errors, "HINT: write a power of two");
  const auto both = tune({"--show", a, "--diff", a, a});
  EXPECT_EQ(both.status.code, 1);
  expectPart(both.errors, "one thing at a time");
}
