// tools/lsp/Layouts.h - computes layouts of a line's tiles in the background of
// the language server.
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
  // Returns the layouts of the line's tiles of that shape, as Markdown.
  // Compiles the file as stored on disk and waits only briefly. If compilation
  // takes longer, the text reports it, and the next request returns the
  // layouts.
  std::string of(const std::string &path, uint32_t line,
                 const std::vector<int64_t> &shape,
                 const AnalysisOptions &options);

private:
  // The inputs from which the tiles were computed.
  std::tuple<std::string, std::string, std::string, std::string> made;
  std::shared_future<KernelTiles> tiles;
};

} // namespace tessera::tools::lsp
