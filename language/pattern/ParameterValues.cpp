// language/pattern/ParameterValues.cpp - looks for divisions by zero and shifts
// of the functions of a pattern, with given parameters.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "language/pattern/ParameterValues.h"

#include "language/pattern/Straighten.h"
#include "language/pattern/UniformType.h"
#include "support/Error.h"

#include <algorithm>
#include <optional>
#include <set>

namespace tessera::language {
namespace {

std::optional<Int> constantOf(const Symbol &symbol) {
  return symbol.kind == SymbolKind::Constant ? symbol.value.asInt()
                                             : std::nullopt;
}

bool isWide(const Symbol &symbol) {
  return symbol.kind == SymbolKind::Cast
             ? symbol.name == "i64" || symbol.name == "u64"
             : std::any_of(
                   symbol.operands.begin(), symbol.operands.end(),
                   [](const SymbolPtr &operand) { return isWide(*operand); });
}

// Returns "divides by 0" or "shifts by -1" for the outermost operation; empty
// if the operation has a result.
std::string problemOf(const Symbol &symbol) {
  const bool isCeiling =
      symbol.kind == SymbolKind::Call && symbol.name == "cdiv";
  if (symbol.operands.size() != 2 ||
      (symbol.kind != SymbolKind::Binary && !isCeiling))
    return "";
  const std::optional<Int> right = constantOf(*symbol.operands[1]);
  if (!right)
    return "";
  const BinaryOp op = symbol.binary;
  if (isCeiling || op == BinaryOp::FloorDiv || op == BinaryOp::Mod)
    return *right == 0 ? "divides by 0" : "";
  const Int most = isWide(*symbol.operands[0]) ? 63 : 31;
  const bool shifts = op == BinaryOp::LShift || op == BinaryOp::RShift;
  return shifts && (*right < 0 || *right > most)
             ? "shifts by " + symbol.operands[1]->value.repr()
             : "";
}

class Search {
public:
  Search(const Pattern &pattern, const FunctionDef &function,
         const ParameterValues &values, std::vector<Diagnostic> &diagnostics)
      : pattern(pattern), function(function), values(values),
        diagnostics(diagnostics) {}

  void run() {
    StraightenOptions options;
    options.isPredicate = &function == pattern.sees;
    options.bools = boolParameters(pattern);
    options.values = &values;
    try {
      visit(straighten(*pattern.module, function, options));
    } catch (const CompileError &) {
      // The derivation reports constructs that it does not support.
    }
  }

private:
  // Returns true if a problem was found.
  bool visit(const StraightPath &path) {
    if (!path.condition)
      return visit(path.result);
    return visit(path.condition) || visit(*path.yes) || visit(*path.no);
  }

  bool visit(const SymbolPtr &symbol) {
    if (!symbol || !seen.insert(symbol.get()).second)
      return false;
    for (const SymbolPtr &operand : symbol->operands)
      if (visit(operand))
        return true;
    const std::string problem = problemOf(*symbol);
    if (problem.empty())
      return false;
    report(*symbol, problem);
    return true;
  }

  void report(const Symbol &symbol, const std::string &problem) {
    std::string given;
    for (const Parameter &parameter : function.parameters)
      if (const auto value = values.find(parameter.name); value != values.end())
        given += (given.empty() ? " with " : ", ") + parameter.name + "=" +
                 value->second.repr();
    const bool divides = problem.starts_with("divides");
    diagnostics.push_back(Diagnostic::make(
        DiagnosticId::InvalidHint, pattern.module->file,
        symbol.range.known() ? symbol.range : function.nameRange,
        "`" + function.name + "` " + problem + given,
        std::string("choose another value") +
            (divides ? "" : ", from 0 to 31 bits") +
            ", or keep the expression in an arm of an `if` on the parameter"));
  }

  const Pattern &pattern;
  const FunctionDef &function;
  const ParameterValues &values;
  std::vector<Diagnostic> &diagnostics;
  std::set<const Symbol *> seen;
};

} // namespace

ParameterValues defaultValues(const Pattern &pattern) {
  ParameterValues values;
  for (const PatternParameter &parameter : pattern.parameters)
    values[parameter.name] = parameter.defaultValue;
  return values;
}

void checkValues(const Pattern &pattern, const ParameterValues &values,
                 std::vector<Diagnostic> &diagnostics) {
  const size_t before = diagnostics.size();
  for (const PatternParameter &parameter : pattern.parameters) {
    const auto found = values.find(parameter.name);
    const Int *value =
        found == values.end() ? nullptr : found->second.get<Int>();
    if (value && (*value > largestParameter || *value < -largestParameter))
      diagnostics.push_back(Diagnostic::make(
          DiagnosticId::InvalidHint, pattern.module->file, parameter.range,
          "`" + parameter.name + "` is outside of -2^30 to 2^30",
          "positions are int32: write 2**30, or 1073741824, for no limit"));
  }
  if (diagnostics.size() != before)
    return;
  for (const FunctionDef *function : {pattern.sees, pattern.modify})
    if (function)
      Search(pattern, *function, values, diagnostics).run();
}

} // namespace tessera::language
