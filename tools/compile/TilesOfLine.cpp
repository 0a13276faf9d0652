// tools/compile/TilesOfLine.cpp - finds the GPU layouts of the tiles on a
// kernel's line.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "tools/compile/TilesOfLine.h"

#include "runtime/compile/CompileService.h"
#include "runtime/launch/FindFile.h"
#include "support/Error.h"
#include "support/GpuTarget.h"
#include "support/Json.h"
#include "support/Lists.h"
#include "support/Text.h"

#include <algorithm>
#include <filesystem>
#include <set>

namespace tessera::tools {

namespace fs = std::filesystem;

std::optional<std::pair<std::string, uint32_t>>
fileAndLine(const std::string &text) {
  const size_t colon = text.rfind(':');
  if (colon == std::string::npos || !text.substr(0, colon).ends_with(".py"))
    return std::nullopt;
  const std::string number = text.substr(colon + 1);
  const auto line = numberFromText<uint32_t>(number);
  if (!line || *line == 0)
    throw Error("`" + number + "` is not a number of a line",
                "write FILE:LINE, as k.py:18");
  return std::pair(text.substr(0, colon), *line);
}

// Returns a hint with the nearest lines with tiles before and after `line`.
static std::string around(const std::set<uint32_t> &lines, uint32_t line) {
  if (lines.empty())
    return "no line of this kernel has tiles";
  const auto next = lines.upper_bound(line);
  std::string text;
  if (next != lines.begin())
    text = std::to_string(*std::prev(next));
  if (next != lines.end())
    text += (text.empty() ? "" : " and ") + std::to_string(*next);
  return "the nearest lines with tiles: " + text;
}

KernelTiles loadTiles(const JobOptions &options) {
  if (!GpuTarget::looksLike(options.target))
    throw Error("tiles have layouts on GPUs only", "--target sm_80");
  const std::string path = runtime::findTypedFile(options.file);
  const auto program = language::Program::loadFile(path);
  Job job = makeJobs(options, *program)[0];
  job.request.emit = {"tiles"};
  const auto kernel = runtime::CompileService::instance().get(job.request);
  return {fs::path(path).filename().string(), job.name,
          kernel->stages.at("tiles")};
}

std::vector<TileOfLine> tilesOfLine(const KernelTiles &kernel, uint32_t line,
                                    std::set<uint32_t> &lines) {
  const Json all = parseJson(kernel.text, "the stage tiles");
  std::vector<TileOfLine> tiles;
  std::vector<std::vector<std::string>> operations;
  for (const Json &entry : all) {
    bool here = false;
    for (const Json &place : entry["places"])
      if (place[0] == kernel.file) {
        lines.insert(place[1].get<uint32_t>());
        here |= place[1] == line;
      }
    if (!here)
      continue;
    TileOfLine tile;
    tile.layout = entry["layout"];
    tile.shape = entry["shape"].get<std::vector<int64_t>>();
    tile.bits = entry["bits"];
    tile.title = (tile.shape.empty() ? "1" : joined(tile.shape, "x")) + " " +
                 entry["element"].get<std::string>();
    // Operations with the same tile share a drawing.
    const auto same =
        std::find_if(tiles.begin(), tiles.end(), [&](const TileOfLine &other) {
          return other.layout == tile.layout && other.title == tile.title;
        });
    const size_t at = size_t(same - tiles.begin());
    if (same == tiles.end()) {
      tiles.push_back(std::move(tile));
      operations.emplace_back();
    }
    const std::string operation = entry["op"];
    auto &names = operations[at];
    if (std::find(names.begin(), names.end(), operation) == names.end())
      names.push_back(operation);
  }
  for (size_t i = 0; i < tiles.size(); ++i)
    tiles[i].title = kernel.file + ":" + std::to_string(line) + " of " +
                     kernel.job + "  " + joined(operations[i], ", ") + ": " +
                     tiles[i].title;
  return tiles;
}

std::vector<TileOfLine> tilesOfLine(const JobOptions &options, uint32_t line) {
  const KernelTiles kernel = loadTiles(options);
  std::set<uint32_t> lines;
  std::vector<TileOfLine> tiles = tilesOfLine(kernel, line, lines);
  if (tiles.empty())
    throw Error(kernel.file + ":" + std::to_string(line) + " of " + kernel.job +
                    " has no tiles",
                around(lines, line));
  return tiles;
}

} // namespace tessera::tools
