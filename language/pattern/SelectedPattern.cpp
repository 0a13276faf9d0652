// language/pattern/SelectedPattern.cpp - checks a pattern with select(...).
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "language/pattern/SelectedPattern.h"

#include <algorithm>

namespace tessera::language {
namespace {

// True if the function returns `pos <= t` and has no other statement than its
// docstring.
bool isCausal(const FunctionDef &function) {
  const Return *result = nullptr;
  for (const StmtPtr &statement : function.body) {
    if (const auto *found = statement->as<Return>(); found && !result)
      result = found;
    else if (const auto *text = statement->as<ExprStmt>();
             !text || !text->value->is<Constant>())
      return false;
  }
  if (!result || !result->value)
    return false;
  const std::string text = dump(*result->value);
  return text == "(pos <= t)" || text == "(t >= pos)";
}

// Reports what a pattern with derived kernels may not contain.
void checkListKernels(const Pattern &pattern, const auto &report) {
  const Selection &selection = *pattern.selection;
  const FunctionDef &function =
      pattern.modify ? *pattern.modify : *pattern.sees;
  const std::string has =
      "a pattern with select(...) and the function `" + function.name + "` ";
  if (selection.window > 0)
    report(function.nameRange, has + "has a window",
           "remove window from select(...); local=2 selects the last blocks");
  const std::vector<std::string> names = selection.names();
  for (const PatternParameter &one : pattern.parameters)
    if (std::find(names.begin(), names.end(), one.name) != names.end())
      report(one.range, "`" + one.name + "` is a parameter of select(...), too",
             "give it another name");
}

} // namespace

bool hasListKernels(const Pattern &pattern) {
  return pattern.selection && pattern.selection->streams == Streams::One &&
         (pattern.modify || (pattern.sees && !isCausal(*pattern.sees)));
}

void checkSelectedPattern(const Pattern &pattern,
                          std::vector<Diagnostic> &diagnostics) {
  const auto report = [&](const SourceRange &range, std::string message,
                          std::string hint) {
    diagnostics.push_back(
        Diagnostic::make(DiagnosticId::InvalidHint, pattern.module->file, range,
                         std::move(message), std::move(hint)));
  };
  const Selection &selection = *pattern.selection;
  const std::string with =
      std::string("a pattern with ") +
      (selection.streams == Streams::One ? "select(...) " : "streams(...) ");
  for (const PerSequence &one : pattern.perSequence)
    report(one.range, with + "has the value of a sequence `" + one.name + "`",
           "remove it");
  if (pattern.tiles)
    report(pattern.tiles->range, with + "has tiles(...), which has no effect",
           "remove it");
  if (selection.derived)
    return checkListKernels(pattern, report);
  if (pattern.sees && !isCausal(*pattern.sees))
    report(pattern.sees->nameRange, with + "has a `sees` other than `pos <= t`",
           "write return pos <= t");
  if (pattern.modify)
    report(pattern.modify->nameRange, with + "has a function `modify`",
           "remove one of the two");
  for (const PatternParameter &one : pattern.parameters)
    report(one.range, with + "has the parameter `" + one.name + "`",
           "the values inside the directive are its parameters");
  for (const LearnedParameter &one : pattern.learned)
    if (selection.streams == Streams::Gated)
      report(one.range,
             "streams with gates have the learned number `" + one.name + "`",
             "remove it, or write joined in streams(...)");
    else if (one.name != "sink")
      report(one.range, with + "has the learned number `" + one.name + "`",
             "learned(sink=[Hq]) is the one that it may have");
}

} // namespace tessera::language
