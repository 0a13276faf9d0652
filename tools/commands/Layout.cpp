// tools/commands/Layout.cpp - tessera layout LAYOUT --shape MxN and tessera
// layout FILE:LINE: draws layouts.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "tools/commands/Command.h"

#include "dialect/layout/DrawLayout.h"
#include "dialect/layout/Parse.h"
#include "dialect/layout/ShapeOps.h"
#include "support/Error.h"
#include "tools/compile/TilesOfLine.h"

#include <CLI/CLI.hpp>

#include <cstdio>
#include <memory>

namespace tessera::tools {

using namespace layout;

namespace {
struct LayoutOptions {
  std::string layout, shape, to;
  int bits = 16;
  int width = 100;
  bool bases = false;
  JobOptions jobs; // of FILE:LINE
};

// Tiles in shared memory are far smaller, and larger tables are not readable.
constexpr int64_t mostElements = int64_t(1) << 20;
} // namespace

// Prints the accesses of a warp between a register layout and a shared layout.
static void printAccesses(const LinearLayout &registers,
                          const LinearLayout &shared, int bits) {
  std::printf("vector          %s\n",
              describeAccess(vectorAccess(registers, shared, bits)).c_str());
  for (bool transposed : {false, true}) {
    const auto access = ldmatrixAccess(registers, shared, bits, transposed);
    std::printf("%-15s %s\n", transposed ? "ldmatrix.trans" : "ldmatrix",
                access ? describeAccess(*access).c_str()
                       : "the layouts do not divide by its tile");
  }
}

// Draws the tiles of a kernel's line.
static int drawLine(const LayoutOptions &options, const std::string &file,
                    uint32_t line) {
  if (!options.to.empty())
    throw Error("--to goes with a layout, not with a line of a kernel",
                "give the layout that --bases prints as linear(...)");
  JobOptions jobs = options.jobs;
  jobs.file = file;
  std::string text;
  for (const TileOfLine &tile : tilesOfLine(jobs, line)) {
    text += (text.empty() ? "" : "\n") + tile.title + "\n";
    const LinearLayout map = parseLayout(tile.layout, tile.shape, tile.bits);
    text +=
        options.bases ? map.str() : drawLayout(map, {tile.bits, options.width});
  }
  std::fputs(text.c_str(), stdout);
  return 0;
}

static int draw(const LayoutOptions &options) {
  if (const auto place = fileAndLine(options.layout))
    return drawLine(options, place->first, place->second);
  if (options.shape.empty())
    throw Error("--shape is required for a layout", "--shape 32x32");
  const auto shape = parseSizes(options.shape, "--shape");
  int64_t elements = 1;
  for (int64_t size : shape) {
    log2Exact(size, "a size in --shape");
    if (size > mostElements || (elements *= size) > mostElements)
      throw Error("a tile of more than " + std::to_string(mostElements) +
                      " elements",
                  "draw a smaller one: layouts repeat");
  }
  if (shape.size() > maxRank)
    throw Error("a tile of " + std::to_string(shape.size()) + " axes",
                "at most " + std::to_string(maxRank));
  if (options.bits != 8 && options.bits != 16 && options.bits != 32 &&
      options.bits != 64)
    throw Error("elements of " + std::to_string(options.bits) + " bits",
                "--bits is 8, 16, 32 or 64");
  const LinearLayout from = parseLayout(options.layout, shape, options.bits);
  if (!from.isSurjective())
    throw Error("the layout leaves out elements of the tile " + options.shape,
                "its bases reach " + std::to_string(int64_t(1) << from.rank()) +
                    " of " + std::to_string(elements));
  if (options.to.empty()) {
    std::fputs(options.bases
                   ? from.str().c_str()
                   : drawLayout(from, {options.bits, options.width}).c_str(),
               stdout);
    return 0;
  }
  const LinearLayout to = parseLayout(options.to, shape, options.bits);
  const bool fromShared = from.hasIn(Dim::Offset),
             toShared = to.hasIn(Dim::Offset);
  if (fromShared && toShared)
    throw Error("both layouts are in shared memory",
                "a conversion needs registers on one side");
  if (fromShared || toShared) {
    printAccesses(dropReplication(fromShared ? to : from),
                  fromShared ? from : to, options.bits);
    return 0;
  }
  ConversionOptions how;
  how.elementBits = options.bits;
  std::fputs(describeConversion(planConversion(from, to, how)).c_str(), stdout);
  return 0;
}

Command addLayout(CLI::App &app) {
  auto options = std::make_shared<LayoutOptions>();
  CLI::App *verb = app.add_subcommand(
      "layout",
      "Draw which lane holds which element of a tile, or of the tiles "
      "of a kernel's line");
  verb->add_option("layout", options->layout,
                   "a constructor, as below, or FILE:LINE of a kernel")
      ->required();
  verb->add_option("--shape", options->shape, "the tile, as 32x32");
  verb->add_option("--to", options->to,
                   "instead of a drawing: how to get to this layout");
  verb->add_option("--bits", options->bits, "of an element (16)");
  verb->add_option("--width", options->width, "of the terminal (100)");
  verb->add_flag("--bases", options->bases, "the bases only");
  addJobOptions(*verb, options->jobs);
  options->jobs.target = "sm_80";
  verb->add_option("--target", options->jobs.target, "of FILE:LINE")
      ->capture_default_str();
  std::string footer = "Layouts:\n";
  for (const Constructor &constructor : constructors())
    footer += "  " + std::string(constructor.example) + "\n      " +
              constructor.help + "\n";
  footer += "\nExamples:\n"
            "  tessera layout \"mma(m16n8, warps=2x2)\" --shape 32x32\n"
            "  tessera layout \"swizzled()\" --shape 16x64\n"
            "  tessera layout \"mma(warps=4x1)\" --shape 64x64 --to "
            "\"dot_a(warps=4x1)\"\n"
            "  tessera layout \"dot_b(warps=4x1)\" --shape 64x64 --to "
            "\"row_major()\"      bank conflicts\n"
            "  tessera layout kernels/nsa/select_fwd.py:45 -i "
            "select_fwd_paper_bf16\n\n"
            "docs/compiler/layouts.md explains what it shows.";
  verb->footer(footer);
  return {verb, [options] {
            try {
              return draw(*options);
            } catch (const LayoutError &error) {
              throw Error(error.message, error.hint);
            }
          }};
}

} // namespace tessera::tools
