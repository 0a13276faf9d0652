// tests/unit/tools/LayoutCommandTest.cpp - tessera layout, as
// docs/compiler/layouts.md shows it.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "support/File.h"
#include "support/Process.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <sstream>

using namespace tessera;

namespace {

CommandResult run(const std::string &arguments) {
  return runCommand({"/bin/sh", "-c", "\"$0\" " + arguments, TESSERA_PROGRAM},
                    std::chrono::seconds(60));
}

} // namespace

// Lines that start with "$ tessera" and what follows, up to the next one or the
// end of the indented block.
TEST(LayoutCommand, ThePageShowsItsOutput) {
  std::istringstream page(readFile(LAYOUT_PAGE));
  std::string line, command, expected;
  int examples = 0;
  auto check = [&] {
    if (command.empty())
      return;
    const CommandResult result = run(command);
    EXPECT_EQ(result.status.code, 0) << command << "\n" << result.errors;
    while (expected.size() > 1 && expected.ends_with("\n\n"))
      expected.pop_back();
    EXPECT_EQ(result.output, expected) << command;
    command.clear();
    expected.clear();
    ++examples;
  };
  const std::string mark = "    $ tessera ";
  while (std::getline(page, line)) {
    if (line.rfind(mark, 0) == 0) {
      check();
      command = line.substr(mark.size());
    } else if (command.empty()) {
      continue;
    } else if (line.rfind("    ", 0) == 0) {
      expected += line.substr(4) + "\n";
    } else if (line.empty()) {
      expected += "\n";
    } else {
      check();
    }
  }
  check();
  EXPECT_GE(examples, 8);
}

// A register of each lane holds two columns: 76 characters for 16 columns.
TEST(LayoutCommand, TheDrawingFitsTheWidth) {
  const auto longest = [](const std::string &width) {
    const CommandResult result =
        run("layout 'mma(warps=1x1)' --shape 16x64 " + width);
    EXPECT_EQ(result.status.code, 0) << result.errors;
    std::istringstream drawing(
        result.output.substr(result.output.find("lane:register")));
    size_t most = 0;
    for (std::string line; std::getline(drawing, line);)
      most = std::max(most, line.size());
    return most;
  };
  EXPECT_EQ(longest(""), 76u);
  EXPECT_EQ(longest("--width 60"), 40u);
  EXPECT_GT(longest("--width 200"), 100u);
}

TEST(LayoutCommand, MistakesAreExplained) {
  struct Case {
    const char *arguments, *message, *hint;
    int code;
  };
  const Case cases[] = {
      {"'nma(warps=1x1)' --shape 16x8", "no layout is called `nma`",
       "known: blocked, mma", 1},
      {"'mma(warps=1x1)' --shape 16x12", "a size in --shape is 12",
       "powers of two", 1},
      {"'mma(warps=1x1)' --shape 16y8", "`16y8` for --shape", "as 64x128", 1},
      {"'mma(warps=1x1)'", "--shape is required", "--shape 32x32", 1},
      {"'mma(warps=1x1)' --shape 16x8 --bist 16", "no option --bist",
       "did you mean `--bits`?", 2},
      {"'mma(warps=1x1)' --shape 16x8 --bits 12", "elements of 12 bits",
       "8, 16, 32 or 64", 1},
      {"'mma(warps=1x1)' --shape 65536x65536", "more than 1048576 elements",
       "draw a smaller one", 1},
      {"'linear(lane=[(1,0)])' --shape 16x8", "leaves out elements",
       "reach 2 of 128", 1},
      {"'row_major()' --shape 16x8 --to 'swizzled()'",
       "both layouts are in shared memory", "registers on one side", 1},
      {"'mma(warps=1x1)' --shape 16x8 --to 'mma(warps=2x1)'",
       "different numbers of lanes or warps", "", 1},
  };
  for (const Case &c : cases) {
    const CommandResult result = run(std::string("layout ") + c.arguments);
    EXPECT_EQ(result.status.code, c.code) << c.arguments;
    EXPECT_EQ(result.output, "") << c.arguments;
    EXPECT_NE(result.errors.find(c.message), std::string::npos)
        << c.arguments << "\n"
        << result.errors;
    EXPECT_NE(result.errors.find(c.hint), std::string::npos)
        << c.arguments << "\n"
        << result.errors;
  }
}

TEST(LayoutCommand, HelpListsTheConstructors) {
  const CommandResult result = run("layout --help");
  EXPECT_EQ(result.status.code, 0);
  for (const char *part : {"blocked(", "dot_b(", "swizzled(", "Examples:"})
    EXPECT_NE(result.output.find(part), std::string::npos) << part;
}
