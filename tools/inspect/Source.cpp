// tools/inspect/Source.cpp - the kernel's files as the rows of one pane.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "tools/inspect/Source.h"

#include <algorithm>
#include <filesystem>

namespace tessera::tools {

std::vector<std::string> linesOf(std::string_view text) {
  std::vector<std::string> lines;
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    lines.emplace_back(text.substr(0, end));
    if (!lines.back().empty() && lines.back().back() == '\r')
      lines.back().pop_back();
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return lines;
}

void SourceRows::add(const syntax::CompileRequest &request) {
  std::vector<syntax::RequestSource> sources = request.sources;
  if (sources.empty())
    sources.push_back({request.file, request.text});
  for (const syntax::RequestSource &source : sources) {
    const std::string name =
        std::filesystem::path(source.path).filename().string();
    if (firstRow.count(name))
      continue;
    files.push_back({name, linesOf(source.text)});
    firstRow[name] = 0;
  }
  rows = 0;
  for (const File &file : files) {
    rows += files.size() > 1; // its name
    firstRow[file.name] = rows;
    rows += file.lines.size();
  }
}

int64_t SourceRows::rowOf(const std::string &file, uint32_t line) const {
  const auto found = firstRow.find(file);
  if (found == firstRow.end() || line == 0)
    return -1;
  for (const File &each : files)
    if (each.name == file)
      return line <= each.lines.size() ? int64_t(found->second + line - 1) : -1;
  return -1;
}

Json SourceRows::rowsOf(const Json &places) const {
  Json result = Json::array();
  for (const Json &place : places)
    if (const int64_t row =
            rowOf(place[0].get<std::string>(), place[1].get<uint32_t>());
        row >= 0 &&
        std::find(result.begin(), result.end(), row) == result.end())
      result.push_back(row);
  return result;
}

Json SourceRows::json() const {
  Json text = Json::array(), names = Json::array(), numbers = Json::array();
  const auto add = [&](const std::string &line, const std::string &file,
                       size_t number) {
    text.push_back(line);
    names.push_back(file);
    numbers.push_back(number);
  };
  for (const File &file : files) {
    if (files.size() > 1)
      add("# " + file.name, file.name, 0);
    for (size_t i = 0; i < file.lines.size(); ++i)
      add(file.lines[i], file.name, i + 1);
  }
  return {{"text", text}, {"file", names}, {"line", numbers}};
}

} // namespace tessera::tools
