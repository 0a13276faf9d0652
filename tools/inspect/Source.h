// tools/inspect/Source.h - the kernel's files as the rows of one pane, to which
// all other panes are linked.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "language/Request.h"
#include "support/Json.h"

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace tessera::tools {

// The rows of one configuration's lines.
class SourceRows {
public:
  // Row of a line, from 0; -1 where there is none. Of a path the last part is
  // all that places have.
  int64_t rowOf(const std::string &file, uint32_t line) const;
  // The rows of places [["k.py", 31], ...], those that there are, in order.
  Json rowsOf(const Json &places) const;
  // Of the pane: rows of the other configuration count.
  size_t size() const { return rows; }

private:
  friend class SourcePane;
  std::map<std::string, std::vector<int64_t>> rowsOfLines; // by file
  size_t rows = 0;
};

// The files of one configuration or of two. Where both have a file by the same
// name with other text, as of two commits, its rows are those of both: what is
// the same is there once.
class SourcePane {
public:
  // Of the first configuration, then of the second.
  void add(const language::CompileRequest &request);

  const SourceRows &side(size_t i) const { return sides.at(i); }
  // {"text": [...], "file": [...], "line": [...], "change": [...]}, one of each
  // for a row. A file that is not the only one has a row with its name above
  // it, line 0. change: "-" of a row that only the first configuration has
  // where the second has other text, "+" the other way round, else "".
  Json json() const;

private:
  struct Row {
    std::string text;
    std::array<size_t, 2> line{}; // of each configuration, from 1; 0: not there
  };
  struct File {
    std::string name;
    std::vector<Row> rows;
  };
  void number(); // fills `sides`

  std::vector<File> files;
  std::vector<SourceRows> sides;
};

// The lines of a text; a last one without line end counts, an empty one not.
std::vector<std::string> linesOf(std::string_view text);

} // namespace tessera::tools
