// tools/lsp/Layouts.h - layouts of a line's tiles, found beside the work of the
// language server.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tools/compile/TilesOfLine.h"
#include "tools/lsp/Analysis.h"

#include <chrono>
#include <future>
#include <string>
#include <tuple>

namespace tessera::tools::lsp {

class Layouts {
public:
  // Of tiles of that shape, as Markdown. Compiles the file as it is on the
  // disk; waits for that a short while only, and says so when it takes longer:
  // the next question has it.
  std::string of(const std::string &path, uint32_t line,
                 const std::vector<int64_t> &shape,
                 const AnalysisOptions &options);

private:
  // What the tiles were made from.
  std::tuple<std::string, std::string, std::string, std::string> made;
  std::shared_future<KernelTiles> tiles;
};

} // namespace tessera::tools::lsp
