// support/LineTable.h - which line of a source an instruction comes from.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "support/Json.h"

#include <cstdint>
#include <string>
#include <vector>

namespace tessera {

// Of one function. A row holds from its offset to that of the next.
struct LineTable {
  struct Row {
    uint32_t offset = 0; // bytes from the function's first instruction
    uint32_t line = 0;   // 0: none
    uint32_t file = 0;   // index into files
  };

  std::vector<std::string> files; // names without folders
  std::vector<Row> rows;          // by offset, no offset twice

  bool empty() const { return rows.empty(); }
  // Where the instruction that holds this byte comes from, "copy.py:12"; empty
  // where that is not known.
  std::string placeOf(uint64_t offset) const;

  // {"files": [name...], "rows": [bytes since the row before, line, file...]}
  Json toJson() const;
  // Throws Error for anything else than toJson() makes; `what` names the text.
  static LineTable fromJson(const Json &json, const std::string &what);
};

} // namespace tessera
