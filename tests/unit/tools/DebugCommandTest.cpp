// tests/unit/tools/DebugCommandTest.cpp - tessera debug and tessera analyze,
// from outside.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "support/File.h"
#include "support/Json.h"
#include "support/Process.h"
#include "tests/unit/support/TemporaryFolder.h"

#include <gtest/gtest.h>

using namespace tessera;

namespace {

// Y[t] = 10 t + block for the 64 threads of a block; lane 3 of line 22 leaves
// its register alone. The tile of line 21 is 16 x 8, one element a lane in
// rows.
const char *const kernel = R"(.version 8.7
.target sm_80
.address_size 64
.visible .entry scale(.param .u64 Y)
.reqntid 64
{
  .reg .pred %p<4>;
  .reg .b32 %r<10>;
  .reg .b64 %rd<8>;
  .file 1 "scale.py"
  .loc 1 20 4
  ld.param.u64 %rd1, [Y];
  mov.u32 %r1, %tid.x;
  .loc 1 21 4
  mul.lo.s32 %r2, %r1, 10;
  .loc 1 22 4
  mov.u32 %r3, %ctaid.x;
  setp.ne.s32 %p1, %r1, 3;
  @%p1 add.s32 %r4, %r2, %r3;
  .loc 1 23 4
  mul.wide.u32 %rd2, %r1, 4;
  add.s64 %rd3, %rd1, %rd2;
  @%p1 st.global.u32 [%rd3], %r4;
  ret;
}
)";

class DebugCommand : public testing::Test {
protected:
  DebugCommand() { writeFile(file(), kernel); }
  std::string file() { return (folder.path() / "scale.ptx").string(); }

  CommandResult run(const std::string &verb, std::vector<std::string> more) {
    std::vector<std::string> arguments = {
        TESSERA_PROGRAM, verb, file(), "--grid", "4", "--arg", "i32[64]"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return runCommand(arguments, std::chrono::seconds(60), {});
  }
  void expectError(std::vector<std::string> more, const std::string &message,
                   const std::string &hint) {
    const CommandResult result = run("debug", std::move(more));
    EXPECT_EQ(result.status.code, 1);
    EXPECT_NE(result.errors.find(message), std::string::npos) << result.errors;
    EXPECT_NE(result.errors.find("HINT: " + hint), std::string::npos)
        << result.errors;
  }

  TemporaryFolder folder;
};

} // namespace

TEST_F(DebugCommand, ATableOfLanes) {
  const CommandResult result =
      run("debug", {"--line", "22", "--program", "2", "--warp", "0"});
  EXPECT_EQ(result.status.code, 0) << result.errors;
  const std::string &text = result.output;
  EXPECT_NE(text.find("scale, block (2, 0, 0)\n"), std::string::npos) << text;
  EXPECT_NE(text.find("PTX line 19: @%p1 add.s32 %r4, %r2, %r3  [1st of 1 in "
                      "warp 0, 2 in 2 warps]\n"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("\nlane  %r3    %p1  %r4\n"
                      "   0    2   true    2\n"
                      "   1    2   true   12\n"
                      "   2    2   true   22\n"
                      "   3    2  false    .\n"
                      "   4    2   true   42\n"),
            std::string::npos)
      << text;
}

TEST_F(DebugCommand, ALineOfThePtx) {
  const CommandResult result =
      run("debug", {"--ptx-line", "19", "--program", "2", "--warp", "0"});
  EXPECT_EQ(result.status.code, 0) << result.errors;
  EXPECT_NE(result.output.find("PTX line 19: @%p1 add.s32 %r4, %r2, %r3  [1st "
                               "of 1 in warp 0, 2 in 2 warps]\n"),
            std::string::npos)
      << result.output;
  EXPECT_EQ(result.output.find("PTX line 17"), std::string::npos)
      << result.output;
  expectError({"--ptx-line", "2"},
              "no instruction of scale comes from PTX line 2",
              "lines of the kernel's file: 20, 21, 22, 23");
}

// Columns that do not fit are a table below.
TEST_F(DebugCommand, TablesFitTheWidth) {
  const std::vector<std::string> what = {"--line", "22", "--registers",
                                         "%r1,%r2,%r3,%r4"};
  EXPECT_NE(run("debug", what).output.find("\nlane  %r1  %r2  %r3  %r4\n"),
            std::string::npos);
  std::vector<std::string> narrow = what;
  narrow.insert(narrow.end(), {"--width", "20"});
  const CommandResult result = run("debug", narrow);
  EXPECT_EQ(result.status.code, 0) << result.errors;
  const size_t first = result.output.find("\nlane  %r1  %r2  %r3\n"),
               second = result.output.find("\nlane  %r4\n");
  EXPECT_LT(first, second) << result.output;
  EXPECT_NE(second, std::string::npos) << result.output;
}

TEST_F(DebugCommand, Json) {
  const CommandResult result = run("debug", {"--line", "22", "--program", "1",
                                             "--registers", "%r4", "--json"});
  ASSERT_EQ(result.status.code, 0) << result.errors;
  const Json json = Json::parse(result.output);
  EXPECT_EQ(json["block"], (Json{1, 0, 0}));
  ASSERT_EQ(json["instructions"].size(), 3u);
  const Json &add = json["instructions"][2];
  EXPECT_EQ(add["ptx_line"], 19);
  EXPECT_EQ(add["source"], "scale.py:22:4");
  EXPECT_EQ(add["executions"], (Json{{"0", 1}, {"1", 1}}));
  const Json &lanes = add["warps"][1]["registers"][0]["lanes"];
  for (int lane = 0; lane < 32; ++lane)
    EXPECT_EQ(lanes[static_cast<size_t>(lane)], 10 * (32 + lane) + 1);
  EXPECT_EQ(add["warps"][0]["registers"][0]["lanes"][3], nullptr);
}

TEST_F(DebugCommand, ATileFromALayout) {
  // 8 lanes to a row of 8, 4 rows to a warp.
  const std::vector<std::string> what = {
      "--line", "21",       "--tile",
      "8x8",    "--layout", "blocked(per_thread=1x1, lanes=4x8, warps=2x1)"};
  CommandResult result = run("debug", what);
  ASSERT_EQ(result.status.code, 0) << result.errors;
  for (int row = 0; row < 8; ++row) {
    std::string line = "\n " + std::to_string(row);
    for (int column = 0; column < 8; ++column) {
      std::string number = std::to_string(10 * (8 * row + column));
      line += std::string(5 - number.size(), ' ') + number;
    }
    EXPECT_NE(result.output.find(line + "\n"), std::string::npos)
        << line << result.output;
  }
  expectError({"--line", "21", "--tile", "16x8", "--layout",
               "blocked(per_thread=1x1, lanes=4x8, warps=2x1)"},
              "the layout has 2 elements a lane, the registers hold 1",
              "name the registers");
  expectError({"--line", "21", "--tile", "16x8"}, "--tile and --layout go",
              "--tile 64x64");
}

TEST_F(DebugCommand, Errors) {
  expectError({}, "say where to break", "--line 42");
  expectError({"--line", "20x"}, "no line number", "write --line 42");
  expectError({"--line", "99"}, "no instruction of scale comes from line 99",
              "lines of the kernel's file: 20, 21, 22, 23");
  expectError({"--line", "22", "--hit", "2"}, "ran 2 times",
              "--hit is at most 1");
  expectError({"--line", "22", "--program", "4"}, "no block 4,0,0",
              "it has 4 x 1 x 1 blocks");
  expectError({"--line", "22", "--warp", "2"}, "no warp 2", "the block has 2");
  expectError({"--line", "22", "--as", "fp23"}, "no type fp23", "did you mean");
  expectError({"--line", "22", "--registers", "%r44"}, "no register %r44", "");
}

TEST_F(DebugCommand, AFindingIsShown) {
  std::string text = kernel;
  const std::string store = "@%p1 st.global.u32 [%rd3]";
  text.replace(text.find(store), store.size(), "@%p1 st.global.u32 [%rd3+4]");
  writeFile(file(), text);
  const CommandResult result = run("debug", {"--line", "21"});
  EXPECT_EQ(result.status.code, 1);
  EXPECT_NE(result.output.find("%r2"), std::string::npos);
  EXPECT_NE(result.errors.find("out-of-bounds"), std::string::npos)
      << result.errors;
}

TEST_F(DebugCommand, AnalyzeCounts) {
  const CommandResult result = run("analyze", {"--json", "--serial"});
  // Blocks store different values to one address.
  EXPECT_EQ(result.status.code, 1);
  EXPECT_NE(result.output.find("global-conflict"), std::string::npos);
  const CommandResult one = runCommand(
      {TESSERA_PROGRAM, "analyze", file(), "--arg", "i32[64]", "--json"},
      std::chrono::seconds(60), {});
  ASSERT_EQ(one.status.code, 0) << one.errors;
  const Json json = Json::parse(one.output);
  EXPECT_EQ(json["warp_instructions"], 2 * 10);
  EXPECT_EQ(json["global_sectors"], 8);
  const CommandResult bad = run("analyze", {"--ptx", "other.ptx"});
  EXPECT_EQ(bad.status.code, 1);
  EXPECT_NE(bad.errors.find("--ptx goes with the folder of a case"),
            std::string::npos);
}

// Without --lanes-apart the 32 lanes of a warp issue each instruction once.
TEST_F(DebugCommand, AnalyzeRunsLanesApart) {
  const auto issued = [&](std::vector<std::string> more) {
    std::vector<std::string> all = {TESSERA_PROGRAM, "analyze", file(),
                                    "--arg",         "i32[64]", "--json"};
    all.insert(all.end(), more.begin(), more.end());
    const CommandResult result = runCommand(all, std::chrono::seconds(60), {});
    EXPECT_EQ(result.status.code, 0) << result.errors;
    return Json::parse(result.output)["warp_instructions"].get<int>();
  };
  EXPECT_EQ(issued({"--seed", "1"}), 20);
  EXPECT_EQ(issued({"--resident", "1"}), 20);
  EXPECT_GT(issued({"--seed", "1", "--lanes-apart"}), 20);
}

// Rows are ordered by number: 9 before 10. Instructions that LLVM merged from
// several lines (line 0) have no line of the file.
TEST_F(DebugCommand, AnalyzePrintsLinesByNumberWithTheirText) {
  std::string text = kernel;
  const auto replace = [&](const std::string &from, const std::string &to) {
    text.replace(text.find(from), from.size(), to);
  };
  replace(".loc 1 20 4", ".loc 1 9 4");
  replace(".loc 1 21 4", ".loc 1 0 7");
  replace(".loc 1 22 4", ".loc 1 10 4");
  replace(".loc 1 23 4", ".loc 1 10 30");
  writeFile(file(), text);
  writeFile(folder.path() / "scale.py",
            "\n\n\n\n\n\n\n\n    t = nine()\n    ten(t)\n");
  const auto analyze = [&](std::vector<std::string> more) {
    std::vector<std::string> all = {TESSERA_PROGRAM, "analyze", file(), "--arg",
                                    "i32[64]"};
    all.insert(all.end(), more.begin(), more.end());
    return runCommand(all, std::chrono::seconds(60), {});
  };
  const std::string byLine = analyze({}).output;
  const size_t nine = byLine.find("\nscale.py:9 "),
               ten = byLine.find("\nscale.py:10 "),
               none = byLine.find("\n(no line) ");
  EXPECT_LT(nine, ten) << byLine;
  EXPECT_LT(ten, none) << byLine;
  EXPECT_NE(none, std::string::npos) << byLine;
  EXPECT_EQ(byLine.find("scale.py:0"), std::string::npos) << byLine;
  // One row a line, whatever its columns: 7 instructions by 2 warps.
  EXPECT_NE(byLine.find("\nscale.py:10           14 "), std::string::npos)
      << byLine;
  EXPECT_NE(byLine.find("  t = nine()\n"), std::string::npos) << byLine;
  EXPECT_NE(byLine.find("  ten(t)\n"), std::string::npos) << byLine;

  const std::string sorted = analyze({"--sort", "instructions"}).output;
  EXPECT_LT(sorted.find("\nscale.py:10 "), sorted.find("\nscale.py:9 "))
      << sorted;
  const CommandResult wrong = analyze({"--sort", "bytes"});
  EXPECT_EQ(wrong.status.code, 2);
  EXPECT_NE(wrong.errors.find("sectors"), std::string::npos) << wrong.errors;
}

// Two calls of a helper are two rows; code without a line counts for the call.
TEST_F(DebugCommand, AnalyzeTellsCallsOfAHelperApart) {
  std::string text = kernel;
  const auto replace = [&](const std::string &from, const std::string &to) {
    text.replace(text.find(from), from.size(), to);
  };
  replace(".loc 1 20 4", ".loc 1 5 4, function_name F0, inlined_at 1 20 4");
  replace(".loc 1 21 4", ".loc 1 5 4, function_name F0, inlined_at 1 21 4");
  replace(".loc 1 22 4", ".loc 1 0 4, function_name F0, inlined_at 1 22 4");
  writeFile(file(), text);
  const CommandResult result =
      runCommand({TESSERA_PROGRAM, "analyze", file(), "--arg", "i32[64]"},
                 std::chrono::seconds(60), {});
  for (const char *row : {"\nscale.py:5 in scale.py:20 ",
                          "\nscale.py:5 in scale.py:21 ", "\nscale.py:22 "})
    EXPECT_NE(result.output.find(row), std::string::npos)
        << row << result.output << result.errors;
}
