// language/pattern/Derivative.cpp - differentiates `modify` and writes the
// result.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "language/pattern/Derivative.h"

#include "language/pattern/Differentiate.h"
#include "language/pattern/Simplify.h"
#include "language/pattern/Straighten.h"
#include "language/pattern/UniformType.h"
#include "support/Error.h"

#include <algorithm>
#include <set>

namespace tessera::language {

namespace {

using Lines = std::vector<std::string>;

// Writes the functions of one pattern.
class GradientWriter {
public:
  GradientWriter(const Pattern &pattern, Gradients &result)
      : pattern(pattern), modify(*pattern.modify), result(result) {}

  void write() {
    const std::string needed = neededFunctions();
    if (needed.empty())
      return;
    StraightenOptions options;
    options.bools = boolParameters(pattern);
    options.remedy = "write " + needed + " in the module";
    const StraightPath path = straighten(*pattern.module, modify, options);
    if (!pattern.modifyGrad)
      writeFunction(path, "modify_grad", "s");
    for (size_t i = 0; i < pattern.learned.size(); ++i)
      if (const std::string &name = pattern.learned[i].name; takes(name)) {
        result.learned.push_back(name);
        if (!pattern.modifyGradOf[i])
          writeFunction(path, "modify_grad_" + name, name);
      }
  }

private:
  bool takes(const std::string &name) const {
    return std::any_of(
        modify.parameters.begin(), modify.parameters.end(),
        [&](const Parameter &parameter) { return parameter.name == name; });
  }

  // Returns the functions to derive: "modify_grad and modify_grad_slope",
  // without those that the module defines.
  std::string neededFunctions() const {
    std::string needed = pattern.modifyGrad ? "" : "modify_grad";
    for (size_t i = 0; i < pattern.learned.size(); ++i)
      if (takes(pattern.learned[i].name) && !pattern.modifyGradOf[i])
        needed += (needed.empty() ? "" : " and ") +
                  ("modify_grad_" + pattern.learned[i].name);
    return needed;
  }

  void writeFunction(const StraightPath &path, const std::string &name,
                     const std::string &variable) {
    Differentiator differentiator(modify, variable,
                                  "write " + name + " in the module");
    bool isUnit = true;
    const Lines body = branches(path, differentiator, isUnit);
    if (variable == "s")
      result.unitSlope = isUnit;
    if (!result.text.empty())
      result.text += "\n\n";
    std::string header = dump(modify);
    const size_t begin = header.find("def modify(");
    header = header.substr(begin + 11, header.find(":\n", begin) - begin - 11);
    result.text += "@triton.jit\ndef " + name + "(" + header +
                   ":\n    \"\"\"Returns the derivative of modify by " +
                   variable + ".\"\"\"\n";
    for (const std::string &line : body)
      result.text += "    " + line + "\n";
  }

  Lines branches(const StraightPath &path, Differentiator &differentiator,
                 bool &isUnit, bool isOnly = true) {
    if (!path.condition) {
      const SymbolPtr gradient = asReal(differentiator.derivative(path.result));
      isUnit &= isNumber(gradient, 1);
      return leaf(gradient, isOnly);
    }
    const Lines yes = branches(*path.yes, differentiator, isUnit, false);
    const Lines no = branches(*path.no, differentiator, isUnit, false);
    Lines lines;
    if (yes == no) {
      lines = yes;
    } else {
      lines.push_back("if " + printText(path.condition) + ":");
      for (const std::string &line : yes)
        lines.push_back("    " + line);
      lines.emplace_back("else:");
      for (const std::string &line : no)
        lines.push_back("    " + line);
    }
    if (isOnly)
      lines.push_back("return " + localName("grad"));
    return lines;
  }

  // Converts run-time integers to fp32.
  SymbolPtr asReal(const SymbolPtr &gradient) const {
    if (gradient->kind == SymbolKind::Constant)
      return realNumber(*gradient->value.asFloat());
    if (isReal(*gradient))
      return gradient;
    if (mentions(*gradient, {"t", "pos", "head"}))
      return makeCast(gradient, "fp32", "tl.float32");
    return makeBinary(BinaryOp::Mul, gradient, realNumber(1));
  }

  bool isReal(const Symbol &symbol) const {
    switch (symbol.kind) {
    case SymbolKind::Name: {
      if (symbol.name == "s" || pattern.findLearned(symbol.name))
        return true;
      if (const auto *parameter = pattern.findParameter(symbol.name))
        return parameter->defaultValue.is<double>();
      const auto *value = pattern.findPerSequence(symbol.name);
      return value && value->type.starts_with("fp");
    }
    case SymbolKind::Constant:
      return symbol.value.is<double>();
    case SymbolKind::Cast:
      return !symbol.name.starts_with("i") && !symbol.name.starts_with("u");
    case SymbolKind::Binary:
      if (symbol.binary == BinaryOp::Div)
        return true;
      break;
    case SymbolKind::Call: {
      static const std::set<std::string> same = {
          "abs", "min", "max", "where", "minimum", "maximum", ""};
      if (!same.contains(symbol.name))
        return symbol.name != "cdiv";
      break;
    }
    case SymbolKind::Negate:
    case SymbolKind::Choice:
      break;
    default:
      return false;
    }
    const bool hasCondition =
        symbol.kind == SymbolKind::Choice || symbol.name == "where";
    return std::any_of(
        symbol.operands.begin() + (hasCondition ? 1 : 0), symbol.operands.end(),
        [&](const SymbolPtr &operand) { return isReal(*operand); });
  }

  // Returns a name that neither a parameter nor the module uses.
  std::string localName(std::string name) const {
    const std::vector<std::string> names = moduleNames(*pattern.module);
    while (takes(name) ||
           std::find(names.begin(), names.end(), name) != names.end())
      name += "_";
    return name;
  }

  // The number of occurrences of each expression, by its text.
  using Counts = std::map<std::string, size_t>;
  static void count(const SymbolPtr &symbol, Counts &counts) {
    if (++counts[printText(symbol)] > 1)
      return;
    for (const SymbolPtr &operand : symbol->operands)
      count(operand, counts);
  }

  // Assigns repeated calls and repeated longer expressions to names.
  void nameRepeated(const SymbolPtr &symbol, const Counts &counts,
                    SymbolNames &names, std::map<std::string, std::string> &own,
                    Lines &lines) const {
    const std::string text = printText(symbol);
    if (const auto known = own.find(text); known != own.end()) {
      names[symbol.get()] = known->second;
      return;
    }
    for (const SymbolPtr &operand : symbol->operands)
      nameRepeated(operand, counts, names, own, lines);
    constexpr size_t longSize = 4;
    const bool isLong =
        symbol->kind == SymbolKind::Call || symbol->size >= longSize;
    if (counts.at(text) < 2 || !isLong)
      return;
    const std::string name =
        localName(own.empty() ? "y" : "y" + std::to_string(own.size() + 1));
    lines.push_back(name + " = " + print(*symbol, &names).text);
    own[text] = name;
    names[symbol.get()] = name;
  }

  Lines leaf(const SymbolPtr &gradient, bool isOnly) const {
    Counts counts;
    count(gradient, counts);
    Lines lines;
    SymbolNames names;
    std::map<std::string, std::string> own;
    nameRepeated(gradient, counts, names, own, lines);
    lines.push_back((isOnly ? "return " : localName("grad") + " = ") +
                    print(*gradient, &names).text);
    return lines;
  }

  const Pattern &pattern;
  const FunctionDef &modify;
  Gradients &result;
};

} // namespace

Gradients deriveGradients(const Pattern &pattern) {
  Gradients result;
  result.unitSlope = !pattern.modify && !pattern.modifyGrad;
  if (pattern.modifyGrad)
    result.userDefined.emplace_back("modify_grad");
  for (size_t i = 0; i < pattern.learned.size(); ++i)
    if (pattern.modifyGradOf[i])
      result.userDefined.push_back("modify_grad_" + pattern.learned[i].name);
  if (!pattern.modify)
    return result;
  try {
    GradientWriter(pattern, result).write();
  } catch (const CompileError &error) {
    result.text.clear();
    result.diagnostics = error.diagnostics;
  }
  return result;
}

} // namespace tessera::language
