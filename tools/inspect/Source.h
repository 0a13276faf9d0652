// tools/inspect/Source.h - merges the kernel's files into the rows of one pane,
// to which all other panes are linked.
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
  // Returns the row of a line, from 0, or -1. Source locations contain only the
  // last component of a path, so only that is compared.
  int64_t rowOf(const std::string &file, uint32_t line) const;
  // Returns the rows of locations [["k.py", 31], ...], in order, without
  // unknown locations.
  Json rowsOf(const Json &places) const;
  // Returns the number of rows of the pane, which includes rows of the other
  // configuration.
  size_t size() const { return rows; }

private:
  friend class SourcePane;
  std::map<std::string, std::vector<int64_t>> rowsOfLines; // by file
  size_t rows = 0;
};

// The files of one configuration or of two. If both have a file of the same
// name with different text, as for two commits, its rows are those of both
// texts, and equal lines appear once.
class SourcePane {
public:
  // Adds the files of the first configuration, then those of the second.
  void add(const language::CompileRequest &request);

  const SourceRows &side(size_t i) const { return sides.at(i); }
  // Returns {"text": [...], "file": [...], "line": [...], "change": [...]},
  // with one element per row. If there are several files, each starts with a
  // row for its name, line 0. change: "-" for a row that only the first
  // configuration has, "+" for a row that only the second has, otherwise "".
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

// Returns the lines of a text. A last line without a line end counts, an empty
// one does not.
std::vector<std::string> linesOf(std::string_view text);

} // namespace tessera::tools
