// tools/sim/SassLines.cpp - groups machine code by the kernel's lines.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "tools/sim/SassLines.h"

#include "ptx/Listing.h"
#include "tools/inspect/Source.h"

#include <algorithm>
#include <fmt/format.h>
#include <tuple>

namespace tessera::tools {
namespace {

// Returns "0a10  LDG.E.128 R4, [R2.64]" for "/*0a10*/  LDG.E.128 R4, [R2.64]
// ;".
std::string instructionText(const std::string &line) {
  const size_t begin = line.find("/*"), end = line.find("*/");
  if (begin == std::string::npos || end == std::string::npos)
    return line;
  const size_t code =
      std::min(line.find_first_not_of(' ', end + 2), line.size());
  return line.substr(begin + 2, end - begin - 2) + "  " +
         line.substr(code, line.find(" ;", code) - code);
}

} // namespace

std::vector<SassLine> sassLines(std::string_view sass) {
  const std::vector<std::string> rows = linesOf(sass);
  const ptx::Listing listing = ptx::readSass(sass);
  std::map<std::tuple<bool, std::string, uint32_t>, SassLine> byLine;
  for (const ptx::ListedInstruction &instruction : listing.code) {
    const ptx::SourcePlace place = instruction.inner;
    const std::string file =
        place.line ? listing.files.at(place.file) : std::string();
    SassLine &line = byLine[{file.empty(), file, place.line}];
    line.file = file;
    line.line = place.line;
    line.code.push_back(instructionText(rows.at(instruction.textLine - 1)));
  }
  std::vector<SassLine> lines;
  for (auto &[key, line] : byLine)
    lines.push_back(std::move(line));
  return lines;
}

std::string
sassText(const std::vector<SassLine> &lines,
         const std::map<std::string, std::vector<std::string>> &texts) {
  std::string all;
  for (const SassLine &line : lines) {
    std::string source;
    if (const auto found = texts.find(line.file);
        found != texts.end() && line.line && line.line <= found->second.size())
      source = found->second[line.line - 1];
    source.erase(0, source.find_first_not_of(" \t"));
    all += (line.file.empty() ? "(no line)"
                              : fmt::format("{}:{}", line.file, line.line)) +
           fmt::format("  {} instruction{}", line.code.size(),
                       line.code.size() == 1 ? "" : "s") +
           (source.empty() ? "" : "  " + source) + "\n";
    for (const std::string &code : line.code)
      all += "    " + code + "\n";
  }
  return all;
}

} // namespace tessera::tools
