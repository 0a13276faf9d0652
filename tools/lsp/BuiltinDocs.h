// tools/lsp/BuiltinDocs.h - reads the builtins of the language from their page,
// for completion and hover.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace tessera::tools {
// Returns docs/language/builtins.md; a test compares it with the registry.
std::string builtinsPage();
} // namespace tessera::tools

namespace tessera::tools::lsp {

struct BuiltinDoc {
  std::string name;      // "load", "math.exp", "triton.cdiv"
  std::string signature; // "load(pointer, mask=None, ...)"
  std::string meaning;   // one line
  bool isMethod = false; // x.name
  bool isBuiltin = true; // tl.name, or the complete name
  bool isMath = false;   // also tl.math.name
};

// Returns the builtins in the order of the page, without rows that are not
// names (statements).
std::vector<BuiltinDoc> readBuiltins(std::string_view page);

} // namespace tessera::tools::lsp
