// compiler/semantics/ValueLog.cpp - records the values of a kernel's
// expressions for editors.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "compiler/semantics/ValueLog.h"

#include "language/Tree.h"
#include "support/Json.h"

#include <algorithm>

namespace tessera::semantics {

// More values per expression would not help a reader.
static constexpr size_t mostValues = 4;

void ValueLog::add(const std::shared_ptr<const SourceFile> &file,
                   const SourceRange &range, const Value &value) {
  if (!file || !range.known() || value.as<ModuleRef>())
    return;
  Entry &entry = entries[{file->path(), range.line, range.column, range.endLine,
                          range.endColumn}];
  if (const auto *function = value.as<FunctionRef>())
    entry.function = function->def;
  if (entry.values.size() >= mostValues)
    return;
  std::string text = value.describe();
  if (std::find(entry.values.begin(), entry.values.end(), text) ==
      entry.values.end())
    entry.values.push_back(std::move(text));
}

std::string ValueLog::json() const {
  Json all = Json::array();
  for (const auto &[place, entry] : entries) {
    const auto &[file, line, column, endLine, endColumn] = place;
    Json one = {{"file", file},
                {"range", {line, column, endLine, endColumn}},
                {"values", entry.values}};
    if (entry.function && entry.function->file)
      one["defined"] = {{"file", entry.function->file->path()},
                        {"line", entry.function->nameRange.line},
                        {"column", entry.function->nameRange.column}};
    all.push_back(std::move(one));
  }
  return all.dump(-1, ' ', false, Json::error_handler_t::replace);
}

} // namespace tessera::semantics
