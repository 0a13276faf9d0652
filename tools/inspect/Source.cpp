// tools/inspect/Source.cpp - merges the kernel's files into the rows of one
// pane.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "tools/inspect/Source.h"

#include "support/Text.h"
#include "tools/diff/LineDiff.h"

#include <algorithm>
#include <filesystem>

namespace tessera::tools {

std::vector<std::string> linesOf(std::string_view text) {
  std::vector<std::string> lines;
  for (std::string_view line : splitLines(text))
    lines.emplace_back(line.substr(0, line.size() - line.ends_with('\r')));
  return lines;
}

int64_t SourceRows::rowOf(const std::string &file, uint32_t line) const {
  const auto found = rowsOfLines.find(file);
  return found == rowsOfLines.end() || line == 0 || line > found->second.size()
             ? -1
             : found->second[line - 1];
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

namespace {

std::string joinedLines(const std::vector<std::string> &lines) {
  std::string text;
  for (const std::string &line : lines)
    text += line + "\n";
  return text;
}

} // namespace

void SourcePane::add(const language::CompileRequest &request) {
  const size_t side = sides.size();
  std::vector<language::RequestSource> sources = request.sources;
  if (sources.empty())
    sources.push_back({request.file, request.text});
  for (const language::RequestSource &source : sources) {
    const std::string name =
        std::filesystem::path(source.path).filename().string();
    const std::vector<std::string> lines = linesOf(source.text);
    auto file = std::find_if(files.begin(), files.end(), [&](const File &each) {
      return each.name == name;
    });
    if (file == files.end()) {
      files.push_back({name, {}});
      for (size_t i = 0; i < lines.size(); ++i) {
        files.back().rows.push_back({lines[i], {}});
        files.back().rows.back().line[side] = i + 1;
      }
      continue;
    }
    if (side == 0 || std::any_of(file->rows.begin(), file->rows.end(),
                                 [](const Row &row) { return row.line[1]; }))
      continue; // second file of that name in the configuration
    std::vector<std::string> before;
    for (const Row &row : file->rows)
      before.push_back(row.text);
    std::vector<Row> merged;
    size_t first = 0, second = 0; // lines merged so far
    for (const LineEdit &edit :
         diffLines(joinedLines(before), joinedLines(lines)).lines) {
      const bool same =
          edit.kind == LineEdit::Kind::Same && before[first] == lines[second];
      if (same) {
        merged.push_back({before[first], {first + 1, second + 1}});
        ++first;
        ++second;
        continue;
      }
      if (edit.kind != LineEdit::Kind::Added) {
        merged.push_back({before[first], {first + 1, 0}});
        ++first;
      }
      if (edit.kind != LineEdit::Kind::Removed) {
        merged.push_back({lines[second], {0, second + 1}});
        ++second;
      }
    }
    file->rows = std::move(merged);
  }
  sides.emplace_back();
  number();
}

void SourcePane::number() {
  size_t rows = 0;
  for (SourceRows &side : sides)
    side.rowsOfLines.clear();
  for (const File &file : files) {
    rows += files.size() > 1; // its name
    for (const Row &row : file.rows) {
      for (size_t i = 0; i < sides.size(); ++i)
        if (row.line[i]) // in ascending order
          sides[i].rowsOfLines[file.name].push_back(int64_t(rows));
      ++rows;
    }
  }
  for (SourceRows &side : sides)
    side.rows = rows;
}

Json SourcePane::json() const {
  Json text = Json::array(), names = Json::array(), numbers = Json::array(),
       changes = Json::array();
  const auto add = [&](const std::string &line, const std::string &file,
                       size_t number, const char *change) {
    text.push_back(line);
    names.push_back(file);
    numbers.push_back(number);
    changes.push_back(change);
  };
  for (const File &file : files) {
    if (files.size() > 1)
      add("# " + file.name, file.name, 0, "");
    const auto has = [&](size_t side) {
      return std::any_of(file.rows.begin(), file.rows.end(),
                         [&](const Row &row) { return row.line[side] != 0; });
    };
    const bool both = has(0) && has(1);
    for (const Row &row : file.rows) {
      const char *change = !both || (row.line[0] && row.line[1]) ? ""
                           : row.line[0]                         ? "-"
                                                                 : "+";
      add(row.text, file.name, row.line[0] ? row.line[0] : row.line[1], change);
    }
  }
  return {
      {"text", text}, {"file", names}, {"line", numbers}, {"change", changes}};
}

} // namespace tessera::tools
