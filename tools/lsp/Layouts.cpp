// tools/lsp/Layouts.cpp - computes layouts of a line's tiles in the background
// of the language server.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "tools/lsp/Layouts.h"

#include "dialect/layout/Parse.h"
#include "support/Error.h"
#include "support/File.h"

#include <algorithm>
#include <set>
#include <utility>

namespace tessera::tools::lsp {

// Formats tiles. Tiles with the same layout form a group: "tile.dot: 64x64
// f32", then the layout.
static std::string written(const std::vector<TileOfLine> &tiles,
                           const std::vector<int64_t> &shape,
                           const std::string &target) {
  std::vector<std::pair<std::string, std::string>> groups; // layout, titles
  for (const TileOfLine &tile : tiles) {
    if (tile.shape != shape)
      continue;
    const std::string layout =
        layout::parseLayout(tile.layout, tile.shape, tile.bits).str();
    const std::string title = tile.title.substr(tile.title.rfind("  ") + 2);
    const auto found =
        std::find_if(groups.begin(), groups.end(),
                     [&](const auto &group) { return group.first == layout; });
    if (found == groups.end())
      groups.emplace_back(layout, title);
    else
      found->second += "; " + title;
  }
  std::string text;
  for (const auto &[layout, titles] : groups)
    text += (text.empty() ? "Layouts on " + target + "\n\n" : "\n\n") + titles +
            "\n```\n" + layout + (layout.ends_with('\n') ? "```" : "\n```");
  return text;
}

std::string Layouts::of(const std::string &path, uint32_t line,
                        const std::vector<int64_t> &shape,
                        const AnalysisOptions &options) {
  constexpr std::chrono::milliseconds patience(1500);
  std::tuple wanted(path, tryReadFile(path).value_or(""), options.target,
                    options.instance);
  if (!tiles.valid() || wanted != made) {
    // Only one compilation runs at a time: waits for the current one.
    if (tiles.valid())
      tiles.wait();
    JobOptions job;
    job.file = path;
    job.target = options.target;
    if (!options.instance.empty())
      job.instances = {options.instance};
    tiles = std::async(std::launch::async, [job] {
              return loadTiles(job);
            }).share();
    made = std::move(wanted);
  }
  if (tiles.wait_for(patience) != std::future_status::ready)
    return "compiling for " + options.target + " ...";
  try {
    std::set<uint32_t> lines;
    return written(tilesOfLine(tiles.get(), line, lines), shape,
                   options.target);
  } catch (const Error &error) {
    return options.target + ": " + error.message;
  }
}

} // namespace tessera::tools::lsp
