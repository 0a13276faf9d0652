// tools/lsp/BuiltinDocs.h - the builtins of the language, for completion and
// hover.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace tessera::tools {
// docs/language/builtins.md, which a test keeps equal to the registry.
std::string builtinsPage();
} // namespace tessera::tools

namespace tessera::tools::lsp {

struct BuiltinDoc {
  std::string name;      // "load", "math.exp", "triton.cdiv"
  std::string signature; // "load(pointer, mask=None, ...)"
  std::string meaning;   // one line
  bool isMethod = false; // x.name
  bool isBuiltin = true; // tl.name, or its whole name as it is
  bool isMath = false;   // also tl.math.name
};

// In the order of the page. Rows that are no names (statements) are left out.
std::vector<BuiltinDoc> readBuiltins(std::string_view page);

} // namespace tessera::tools::lsp
