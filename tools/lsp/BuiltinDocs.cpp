// tools/lsp/BuiltinDocs.cpp - reads the builtins of the language from their
// page, for completion and hover.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "tools/lsp/BuiltinDocs.h"
#include "support/Text.h"

#include <algorithm>
#include <cctype>
#include <cstdint>

namespace tessera::tools::lsp {

// Reads a row "| `.name(arguments)` | meaning | yes | ...", or for attributes
// "| `x.shape`, `x.dtype` | meaning | yes | ...".
static void readRow(std::string_view row, std::vector<BuiltinDoc> &docs) {
  const size_t bar = row.find(" | ", 2);
  if (bar == std::string_view::npos)
    return;
  std::string_view names = row.substr(2, bar - 2);
  const std::string_view rest = row.substr(bar + 3);
  const std::string meaning(rest.substr(0, rest.find(" | ")));
  while (true) {
    const size_t begin = names.find('`');
    const size_t end =
        begin == names.npos ? names.npos : names.find('`', begin + 1);
    if (end == names.npos)
      return;
    BuiltinDoc doc;
    std::string_view text = names.substr(begin + 1, end - begin - 1);
    names.remove_prefix(end + 1);
    const size_t prefix = text.starts_with('.')    ? 1
                          : text.starts_with("x.") ? 2
                                                   : 0;
    doc.isMethod = prefix != 0;
    doc.isBuiltin = prefix != 2;
    text.remove_prefix(prefix);
    size_t length = 0;
    while (length < text.size() && (std::isalnum(uint8_t(text[length])) ||
                                    text[length] == '_' || text[length] == '.'))
      ++length;
    if (length == 0 || (length < text.size() && text[length] != '('))
      continue; // `a = b`
    doc.name = std::string(text.substr(0, length));
    doc.signature = std::string(text);
    doc.meaning = meaning;
    docs.push_back(std::move(doc));
  }
}

std::vector<BuiltinDoc> readBuiltins(std::string_view page) {
  std::vector<BuiltinDoc> docs;
  bool statements = false, math = false, python = false;
  for (const std::string_view line : splitLines(page)) {
    if (line.starts_with("## ")) {
      statements = line == "## Statements";
      python = line == "## Python and triton";
    }
    if (statements || !line.starts_with("| `"))
      continue;
    const size_t before = docs.size();
    readRow(line, docs);
    // Reads "Those from `exp` to `minimum` are members of `tl.math` too."
    for (size_t i = before; i < docs.size(); ++i) {
      math |= docs[i].name == "exp";
      docs[i].isMath = math;
      math &= docs[i].name != "minimum";
      // Python's `max` differs from tl.max.
      docs[i].isBuiltin &= !python || docs[i].name.starts_with("triton.");
    }
  }
  return docs;
}

} // namespace tessera::tools::lsp
