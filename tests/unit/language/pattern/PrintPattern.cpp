// tests/unit/language/pattern/PrintPattern.cpp - prints what is derived from
// patterns.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
//
// Reads patterns from the standard input, separated by lines of "====". For
// each it prints "text", a line "gaps KEY QUERY", an import and the functions,
// or "error" and the diagnostics, then "====".
#include "language/Parser.h"
#include "language/pattern/Derivative.h"
#include "language/pattern/Visibility.h"

#include <iostream>
#include <iterator>

using namespace tessera;

static void printPattern(const std::string &text) {
  const auto parsed =
      language::parse(std::make_shared<SourceFile>("pattern.py", text));
  std::vector<Diagnostic> diagnostics = parsed.diagnostics;
  const language::Pattern pattern =
      language::readPattern(*parsed.module, diagnostics);
  const language::Visibility visibility = language::deriveVisibility(pattern);
  diagnostics.insert(diagnostics.end(), visibility.diagnostics.begin(),
                     visibility.diagnostics.end());
  const language::Gradients gradients = language::deriveGradients(pattern);
  diagnostics.insert(diagnostics.end(), gradients.diagnostics.begin(),
                     gradients.diagnostics.end());
  if (!diagnostics.empty())
    std::cout << "error\n" << renderDiagnostics(diagnostics) << "\n";
  else
    std::cout << "text\ngaps " << visibility.keyGaps << " "
              << visibility.queryGaps << "\n"
              << visibility.importLine() << visibility.text
              << (gradients.text.empty() ? "" : "\n\n") << gradients.text;
}

int main() {
  std::string text;
  for (std::string line; std::getline(std::cin, line);) {
    if (line != "====") {
      text += line + "\n";
      continue;
    }
    printPattern(text);
    std::cout << "====\n";
    text.clear();
  }
}
