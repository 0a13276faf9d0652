// compiler/semantics/ValueLog.h - what the expressions of a kernel turned out
// to be, for editors.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "compiler/semantics/Value.h"
#include "support/Diagnostics.h"

#include <map>
#include <memory>
#include <string>
#include <tuple>
#include <vector>

namespace tessera::semantics {

/// Filled while a kernel is visited. A place that is visited several times, as
/// in a helper or an unrolled loop, keeps its first few different values.
class ValueLog {
public:
  void add(const std::shared_ptr<const SourceFile> &file,
           const SourceRange &range, const Value &value);

  /// An array, innermost order unspecified, of
  ///   {"file": PATH, "range": [line, column, endLine, endColumn],
  ///    "values": ["fp32[16, 64]", ...], "defined": {"file", "line", "column"}}
  /// where "defined" is there for functions of kernel files. Lines and columns
  /// as in SourceRange.
  std::string json() const;

private:
  using Place = std::tuple<std::string, uint32_t, uint32_t, uint32_t, uint32_t>;
  struct Entry {
    std::vector<std::string> values;
    const language::FunctionDef *function = nullptr;
  };
  std::map<Place, Entry> entries;
};

} // namespace tessera::semantics
