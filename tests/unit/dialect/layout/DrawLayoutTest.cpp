// tests/unit/dialect/layout/DrawLayoutTest.cpp - layouts as text, both ways.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "dialect/layout/DrawLayout.h"
#include "dialect/layout/Parse.h"
#include "dialect/layout/RegisterLayouts.h"
#include "dialect/layout/ShapeOps.h"
#include "dialect/layout/SharedLayouts.h"
#include "tests/unit/dialect/layout/Random.h"

#include <gtest/gtest.h>

#include <set>
#include <sstream>

using namespace tessera::layout;

namespace {

std::string problem(const std::string &text, std::vector<int64_t> shape) {
  try {
    parseLayout(text, shape, 16);
  } catch (const LayoutError &error) {
    return error.what();
  }
  return "no error";
}

// "linear(register=[...], lane=[...])": the text form of any layout.
std::string asLinear(const LinearLayout &layout) {
  std::string text = "linear(";
  for (const Extent &in : layout.ins()) {
    text +=
        (text.back() == '(' ? "" : ", ") + std::string(dimName(in.dim)) + "=[";
    for (int bit = 0; bit < in.bits; ++bit) {
      text += bit ? ", (" : "(";
      const auto basis = layout.basis(in.dim, bit);
      for (size_t i = 0; i < basis.size(); ++i)
        text += (i ? "," : "") + std::to_string(basis[i]);
      text += ")";
    }
    text += "]";
  }
  return text + ")";
}

// Cells of a drawing, in order of their appearance, without headings.
std::vector<std::string> cells(const std::string &drawing, char mark) {
  std::vector<std::string> result;
  std::istringstream stream(drawing.substr(drawing.find("\n\n")));
  std::string line, word;
  std::getline(stream, line), std::getline(stream, line);
  std::getline(stream, line); // what a cell is
  while (std::getline(stream, line)) {
    std::istringstream words(line);
    while (words >> word)
      if (word.find(mark) != std::string::npos)
        result.push_back(word);
  }
  return result;
}

} // namespace

TEST(Parse, Constructors) {
  const MmaTile tile{{2, 2}, 16};
  EXPECT_EQ(parseLayout("mma(m16n8, warps=2x2)", {32, 32}, 32),
            mmaAccumulator({32, 32}, tile));
  EXPECT_EQ(parseLayout("dot_a(warps=2x2)", {32, 64}, 16),
            mmaOperandA({32, 64}, tile, 2));
  EXPECT_EQ(parseLayout(" dot_b( warps = 2x2 , k_width=4 ) ", {64, 32}, 16),
            mmaOperandB({64, 32}, tile, 4));
  EXPECT_EQ(parseLayout("mma(m8n8, warps=1x1)", {8, 8}, 64),
            mmaAccumulator({8, 8}, {{1, 1}, 8}));
  EXPECT_EQ(parseLayout("blocked(per_thread=1x4, lanes=2x16, warps=4x1, "
                        "order=1x0)",
                        {64, 64}, 32),
            blocked({64, 64}, {{1, 4}, {2, 16}, {4, 1}, {1, 0}}));
  EXPECT_EQ(parseLayout("slice(mma(warps=4x1), axis=1, size=64)", {64}, 32),
            slice(mmaAccumulator({64, 64}, {{4, 1}, 16}), 1));
  EXPECT_EQ(parseLayout("wgmma(n=64, warps=4x1)", {64, 64}, 32),
            wgmmaAccumulator({64, 64}, {4, 1}, 64));
  EXPECT_EQ(parseLayout("row_major(order=0x1)", {16, 64}, 16),
            rowMajorShared({16, 64}, {0, 1}));
  EXPECT_EQ(parseLayout("swizzled()", {64, 32}, 16),
            swizzledShared({64, 32}, {8, 2, 4}));
  EXPECT_EQ(parseLayout("swizzled(max_phase=2)", {64, 32}, 16),
            swizzledShared({64, 32}, {8, 2, 2}));
  EXPECT_EQ(parseLayout("cores(bytes=128)", {64, 64}, 16),
            coreShared({64, 64}, 128, 16));
}

// Every example of the help text is a layout of some tile.
TEST(Parse, ExamplesOfTheHelpAreLayouts) {
  for (const Constructor &constructor : constructors()) {
    const std::string text = constructor.example;
    std::vector<int64_t> shape = {64, 64};
    if (text.rfind("slice", 0) == 0)
      shape = {64};
    if (text.rfind("linear", 0) == 0)
      shape = {16, 8};
    EXPECT_TRUE(parseLayout(text, shape, 16).isSurjective()) << text;
  }
}

TEST(Parse, BasesRoundTrip) {
  Random random(50);
  const Extents outs = {{Dim::Dim0, 4}, {Dim::Dim1, 6}};
  for (int i = 0; i < 50; ++i) {
    const LinearLayout layout = random.distributed(outs, 2, 1, false);
    EXPECT_EQ(parseLayout(asLinear(layout), {16, 64}, 16), layout);
  }
}

TEST(Parse, ReportsWhatIsWrong) {
  EXPECT_EQ(problem("nma(warps=1x1)", {16, 8}).substr(0, 51),
            "no layout is called `nma`\nHINT: known: blocked, mma");
  EXPECT_EQ(problem("mma(warp=1x1)", {16, 8}),
            "`mma` without warps\nHINT: as in mma(m16n8, warps=2x2)");
  EXPECT_EQ(problem("mma(warps=1x1, k=3)", {16, 8}),
            "`mma` has no option k\nHINT: as in mma(m16n8, warps=2x2)");
  EXPECT_EQ(problem("mma(m32n8, warps=1x1)", {16, 8}),
            "`m32n8` in `mma`\nHINT: as in mma(m16n8, warps=2x2)");
  EXPECT_EQ(problem("mma(warps=3x1)", {16, 8}),
            "the size of warp is 3, not a power of two\nHINT: layouts are "
            "defined for powers of two only");
  EXPECT_EQ(problem("mma(warps=1x1", {16, 8}),
            "`mma(warps=1x1` does not end with )\nHINT: write "
            "NAME(OPTION=VALUE, ...), as in mma(warps=4x1)");
  EXPECT_EQ(problem("mma(warps=4)", {16, 8}), "warps 4 for a tile of 2 axes");
  EXPECT_EQ(problem("mma(warps=axb)", {16, 8}),
            "`axb` for warps\nHINT: numbers with x between them, as 64x128");
  EXPECT_EQ(problem("linear(lane=[(16,0)])", {16, 8}),
            "index 16 of dim0, which has 16 values");
  EXPECT_EQ(problem("linear(lane=(1,0))", {16, 8}),
            "`(1,0)` for bases\nHINT: as in [(0,1),(8,0)]");
  EXPECT_EQ(problem("blocked(per_thread=536870912x536870912, lanes=1x32, "
                    "warps=536870912x536870912)",
                    {16, 8}),
            "a layout of more than 2^63 places or elements");
  for (const char *text :
       {"blocked(per_thread=1x1, lanes=4x8, warps=1x1, t=1)",
        "dot_a(warps=1x1, t=1)", "wgmma(warps=4x1, n=8, t=1)",
        "slice(mma(warps=1x1), axis=0, size=4, t=1)", "linear(t=1)",
        "row_major(t=1)", "swizzled(t=1)", "cores(bytes=32, t=1)"})
    EXPECT_NE(problem(text, {16, 8}).find("has no option t"), std::string::npos)
        << problem(text, {16, 8});
  // Nothing of this may crash either.
  for (const char *text : {"",
                           "(",
                           ")",
                           "mma(",
                           "mma)",
                           "mma(()",
                           "mma())",
                           "slice()",
                           "slice(slice())",
                           "slice(mma(warps=1x1), axis=9, size=4)",
                           "linear(lane=[)",
                           "linear(lane=[(]))",
                           "linear(lane=[(1,)])",
                           "swizzled(order=7x8)",
                           "swizzled(vec=0)",
                           "cores(bytes=7)",
                           "mma(warps=999999999999x1)",
                           "blocked(per_thread=1x1, lanes=1x1, "
                           "warps=1x1)",
                           "mma(warps=2x2, warps=2x2)",
                           "\n",
                           "mma(,)"})
    EXPECT_NE(problem(text, {16, 8}), "no error") << text;
}

TEST(Draw, EveryCellOfAnAccumulator) {
  const LinearLayout layout = mmaAccumulator({32, 32}, {{2, 2}, 16});
  const auto drawn = cells(drawLayout(layout, {32, 1000}), ':');
  ASSERT_EQ(drawn.size(), 32u * 16);
  for (int64_t row = 0; row < 32; ++row)
    for (int64_t pair = 0; pair < 16; ++pair) {
      // PTX ISA: lane 4 (row % 8) + column / 2 % 4; registers 2, 3 are row + 8.
      const int64_t column = 2 * pair;
      const int64_t warp = column / 8 % 2 + 2 * (row / 16),
                    lane = 4 * (row % 8) + column / 2 % 4,
                    reg = 2 * (row / 8 % 2) + 4 * (column / 16);
      EXPECT_EQ(drawn[row * 16 + pair],
                std::to_string(warp) + "." + std::to_string(lane) + ":" +
                    std::to_string(reg) + "-" + std::to_string(reg + 1));
    }
  // Panels show the same cells, a block of columns after the other.
  const auto panels = cells(drawLayout(layout, {32, 60}), ':');
  EXPECT_EQ(std::multiset<std::string>(drawn.begin(), drawn.end()),
            std::multiset<std::string>(panels.begin(), panels.end()));
}

TEST(Draw, OffsetsAndBanks) {
  const LinearLayout layout = swizzledShared({16, 64}, {8, 1, 8});
  const auto drawn = cells(drawLayout(layout, {16, 200}), '/');
  ASSERT_EQ(drawn.size(), 16u * 8);
  for (int64_t row = 0; row < 16; ++row)
    for (int64_t group = 0; group < 8; ++group) {
      const int64_t offset = 64 * row + 8 * (group ^ row % 8);
      EXPECT_EQ(drawn[row * 8 + group],
                std::to_string(offset) + "/" + std::to_string(offset / 2 % 32));
    }
}

TEST(Draw, ScalarsRowsAndBatches) {
  EXPECT_EQ(drawLayout(identity(4, Dim::Register, Dim::Dim0), {32, 80}),
            "register: (1) (2)\n-> dim0:4\n4 registers in each of 1 lane of 1 "
            "warp; no replication\n\nlane:register\n      0-3\n 0  0:0-3\n");
  const std::string cube =
      drawLayout(mmaAccumulator({2, 16, 8}, {{1, 1, 1}, 16}), {32, 80});
  EXPECT_NE(cube.find("[1, :, :]\n"), std::string::npos);
  // Registers that are not neighbours are listed.
  EXPECT_NE(
      drawLayout(
          identity(4, Dim::Register, Dim::Dim0).pickBits(Dim::Register, {1, 0}),
          {32, 80})
          .find("0:0,2,1,3"),
      std::string::npos);
  // The drawing counts replicas and shows the first one only.
  const std::string rows =
      drawLayout(slice(mmaAccumulator({16, 8}, {{1, 1}, 16}), 1), {32, 200});
  EXPECT_NE(rows.find("replication: 4 lanes hold the same"), std::string::npos);
  EXPECT_NE(rows.find(" 4:0 "), std::string::npos);
}
