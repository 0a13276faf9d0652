// tools/sim/SassLines.h - groups machine code by the kernel's lines.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace tessera::tools {

// The instructions of one line, from anywhere in the code.
struct SassLine {
  std::string file; // last part of the path; empty: no line
  uint32_t line = 0;
  std::vector<std::string> code; // "0a10  LDG.E.128 R4, [R2.64]", by address
};

// Groups the output of nvdisasm -g -c: files by name, lines by number, and
// instructions without a line at the end. An inlined instruction counts for the
// helper's line.
std::vector<SassLine> sassLines(std::string_view sass);

// Returns each line with its text, the number of its instructions, and the
// instructions. `texts` contains the lines of the available files.
std::string
sassText(const std::vector<SassLine> &lines,
         const std::map<std::string, std::vector<std::string>> &texts);

} // namespace tessera::tools
