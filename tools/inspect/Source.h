// tools/inspect/Source.h - the kernel's files as the rows of one pane, to which
// all other panes are linked. Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "compiler/syntax/Request.h"
#include "support/Json.h"

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace tessera::tools {

class SourceRows {
public:
  // Adds the files of a request; one that is there already (by the last part
  // of its path, which is all that places have) is not added again.
  void add(const syntax::CompileRequest &request);

  // Row of a line, from 0; -1 where there is none.
  int64_t rowOf(const std::string &file, uint32_t line) const;
  // The rows of places [["k.py", 31], ...], those that there are, in order.
  Json rowsOf(const Json &places) const;

  size_t size() const { return rows; }
  // {"text": [...], "file": [...], "line": [...]}, one of each for a row. A
  // file that is not the only one has a row with its name above it, line 0.
  Json json() const;

private:
  struct File {
    std::string name;
    std::vector<std::string> lines;
  };
  std::vector<File> files;
  std::map<std::string, size_t> firstRow;
  size_t rows = 0;
};

// The lines of a text; a last one without line end counts, an empty one not.
std::vector<std::string> linesOf(std::string_view text);

} // namespace tessera::tools
