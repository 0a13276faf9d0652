// support/LineTable.h - maps instructions to source lines.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "support/Json.h"

#include <cstdint>
#include <string>
#include <vector>

namespace tessera {

// The line table of one function. A row applies from its offset to the next
// row's offset.
struct LineTable {
  struct Row {
    uint32_t offset = 0; // bytes from the function's first instruction
    uint32_t line = 0;   // 0: none
    uint32_t file = 0;   // index into files
  };

  std::vector<std::string> files; // names without folders
  std::vector<Row> rows;          // by offset, no offset twice

  bool empty() const { return rows.empty(); }
  // Returns the source line of the instruction at this byte, "copy.py:12", or
  // an empty string if unknown.
  std::string placeOf(uint64_t offset) const;

  // {"files": [name...], "rows": [bytes since the row before, line, file...]}
  Json toJson() const;
  // Parses the format of toJson(). Throws Error for other input; `what` names
  // the text.
  static LineTable fromJson(const Json &json, const std::string &what);
};

} // namespace tessera
