// tests/unit/language/pattern/Helpers.h - patterns from text.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "language/Parser.h"
#include "language/pattern/Pattern.h"

#include <memory>
#include <string>
#include <vector>

namespace tessera::language {

// A module and the pattern that it is.
struct ReadPattern {
  std::unique_ptr<Module> module;
  Pattern pattern;
  std::vector<Diagnostic> diagnostics;
};

inline ReadPattern patternOf(const std::string &text) {
  ParseResult parsed = parse(std::make_shared<SourceFile>("p.py", text));
  ReadPattern result;
  result.module = std::move(parsed.module);
  result.diagnostics = std::move(parsed.diagnostics);
  result.pattern = readPattern(*result.module, result.diagnostics);
  return result;
}

// "3: message / hint" of each diagnostic.
inline std::string described(const std::vector<Diagnostic> &diagnostics) {
  std::string text;
  for (const Diagnostic &one : diagnostics)
    text += std::to_string(one.range.line) + ": " + one.message + " / " +
            one.hint + "\n";
  return text;
}

} // namespace tessera::language
