// language/pattern/PatternKernels.cpp - expands a pattern to its attention
// kernels.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "language/pattern/PatternKernels.h"

#include "language/Parser.h"
#include "language/pattern/Derivative.h"
#include "language/pattern/ParameterValues.h"
#include "language/pattern/Pattern.h"
#include "language/pattern/PatternNames.h"
#include "language/pattern/PatternWriter.h"
#include "language/pattern/SelectedPattern.h"
#include "language/pattern/Visibility.h"
#include "support/DerivedText.h"

#include <filesystem>

namespace tessera::language {
namespace {

// The derived functions follow this line in a printed text.
constexpr std::string_view printedMarker =
    "# The kernels of the pattern above, derived from its functions.";

std::string imports(bool attendsToLaterKeys) {
  return "from kernels.attention.backward import backward\n"
         "from kernels.attention.backward_kv import backward_kv\n"
         "from kernels.attention.backward_q import backward_q\n"
         "from kernels.attention.core import Pattern, Rows, Sizes\n"
         "from kernels.attention.decode import decode" +
         std::string(attendsToLaterKeys ? ", first_reader" : "") +
         "\nfrom kernels.attention.forward import forward\n";
}

std::string listImports(const Selection &selection) {
  const bool learns = selection.scorer == Scorer::Indexer;
  return "from kernels.attention.core import Pattern, Rows, Sizes\n"
         "from kernels.attention.masks import listed_mask\n"
         "from kernels.attention.listed_bwd import backward_kv_lists, "
         "backward_q_lists\n"
         "from kernels.attention.listed_fwd import forward_lists" +
         std::string(learns ? ", masses_of_lists\n" : "\n");
}

bool hasDirective(const Module &module) {
  for (const StmtPtr &statement : module.body)
    if (const auto *function = statement->as<FunctionDef>())
      for (const HintComment &hint : function->hints)
        if (isPatternDirective(hint.text))
          return true;
  return false;
}

} // namespace

bool needsExpansion(std::string_view text) {
  return isPattern(text) &&
         text.find(printedMarker) == std::string_view::npos &&
         text.find(derivedTextMarker) == std::string_view::npos;
}

std::string printedPattern(std::string text) {
  const size_t at = text.find(derivedTextMarker);
  if (at != std::string::npos)
    text.replace(at, derivedTextMarker.size(), printedMarker);
  return text;
}

ExpandedPattern expandPattern(const std::shared_ptr<const SourceFile> &file) {
  ExpandedPattern result;
  const ParseResult parsed = parse(file);
  result.diagnostics = parsed.fileDiagnostics;
  if (!result.diagnostics.empty())
    return result;
  if (!hasDirective(*parsed.module)) { // it was inside a string
    result.text = file->text();
    return result;
  }
  const Pattern pattern = readPattern(*parsed.module, result.diagnostics);
  if (result.diagnostics.empty())
    checkNames(pattern, result.diagnostics);
  if (result.diagnostics.empty())
    checkValues(pattern, defaultValues(pattern), result.diagnostics);
  if (!result.diagnostics.empty())
    return result;
  if (pattern.selection) {
    checkSelectedPattern(pattern, result.diagnostics);
    if (!result.diagnostics.empty() || !pattern.selection->derived) {
      if (result.diagnostics.empty())
        result.text = file->text();
      return result;
    }
  }
  const Visibility visibility = deriveVisibility(pattern);
  const Gradients gradients = deriveGradients(pattern);
  for (const std::string &helper : visibility.helpers)
    if (const FunctionDef *own =
            pattern.selection ? nullptr : parsed.module->findFunction(helper))
      result.diagnostics.push_back(Diagnostic::make(
          DiagnosticId::InvalidHint, parsed.module->file, own->nameRange,
          "the kernels of a pattern import `" + helper + "`",
          "give the function another name"));
  if (pattern.tiles && pattern.tiles->run && !visibility.keyGaps)
    result.diagnostics.push_back(Diagnostic::make(
        DiagnosticId::InvalidHint, parsed.module->file, pattern.tiles->range,
        "RUN has no effect: the keys that a query attends to have no gaps",
        "remove RUN from tiles(...)"));
  for (const auto *found : {&visibility.diagnostics, &gradients.diagnostics})
    result.diagnostics.insert(result.diagnostics.end(), found->begin(),
                              found->end());
  if (!result.diagnostics.empty())
    return result;
  const PatternWriter writer(
      std::filesystem::path(file->path()).stem().string(), pattern, visibility,
      gradients);
  std::string text(file->text());
  if (!text.empty() && text.back() != '\n')
    text += '\n';
  text += "\n\n" + std::string(derivedTextMarker) +
          "\nimport triton\nimport triton.language as tl\n";
  text += pattern.selection
              ? listImports(*pattern.selection)
              : imports(writer.attendsToLaterKeys()) + visibility.importLine();
  // A kernel with lists of blocks does not need ranges of keys.
  if (!pattern.selection && !visibility.text.empty())
    text += "\n\n" + visibility.text;
  if (!gradients.text.empty())
    text += "\n\n" + gradients.text;
  result.text = text + writer.adapters() +
                (pattern.selection ? writer.listKernels() : writer.kernels());
  return result;
}

} // namespace tessera::language
