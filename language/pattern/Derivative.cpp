// language/pattern/Derivative.cpp - differentiates `modify` and writes the
// result.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "language/pattern/Derivative.h"

#include "language/pattern/Simplify.h"
#include "language/pattern/Straighten.h"
#include "support/Error.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <set>

namespace tessera::language {

namespace {

class Differentiator {
public:
  // `remedy` is the hint of errors.
  Differentiator(const FunctionDef &function, std::string variable,
                 std::string remedy)
      : function(function), variable(std::move(variable)),
        remedy(std::move(remedy)) {}

  SymbolPtr derivative(const SymbolPtr &symbol) {
    const auto known = results.find(symbol.get());
    if (known != results.end())
      return known->second;
    SymbolPtr result =
        mentions(*symbol, {variable}) ? ofVarying(symbol) : realNumber(0);
    constexpr size_t maxSize = 5000;
    if (result->size > maxSize)
      fail(*symbol);
    results[symbol.get()] = result;
    return result;
  }

private:
  [[noreturn]] void fail(const Symbol &symbol) const {
    throw CompileError({Diagnostic::make(
        DiagnosticId::UnsupportedSyntax, function.file, symbol.range,
        "`" + print(symbol).text + "` of `" + function.name +
            "` cannot be differentiated by `" + variable + "`",
        remedy)});
  }

  SymbolPtr ofVarying(const SymbolPtr &symbol) {
    const auto &operands = symbol->operands;
    switch (symbol->kind) {
    case SymbolKind::Name:
      return realNumber(1);
    case SymbolKind::Binary:
      return ofBinary(*symbol);
    case SymbolKind::Negate:
      return negativeOf(derivative(operands[0]));
    case SymbolKind::Compare: // constant but for jumps
    case SymbolKind::Not:
    case SymbolKind::And:
    case SymbolKind::Or:
      return realNumber(0);
    case SymbolKind::Cast:
      if (!symbol->name.starts_with("fp") && symbol->name != "bf16")
        fail(*symbol);
      return derivative(operands[0]);
    case SymbolKind::Choice: {
      const SymbolPtr a = derivative(operands[1]), b = derivative(operands[2]);
      return printText(a) == printText(b) ? a : makeChoice(operands[0], a, b);
    }
    case SymbolKind::Call:
      return ofCall(*symbol);
    default:
      fail(*symbol);
    }
  }

  SymbolPtr ofBinary(const Symbol &symbol) {
    const SymbolPtr &a = symbol.operands[0], &b = symbol.operands[1];
    switch (symbol.binary) {
    case BinaryOp::Add:
      return sumOf(derivative(a), derivative(b));
    case BinaryOp::Sub:
      return differenceOf(derivative(a), derivative(b));
    case BinaryOp::Mul:
      return sumOf(productOf(derivative(a), b), productOf(a, derivative(b)));
    case BinaryOp::Div: { // a' / b - a b' / b^2
      const SymbolPtr db = derivative(b);
      const SymbolPtr first = quotientOf(derivative(a), b);
      if (isNumber(db, 0))
        return first;
      return differenceOf(first,
                          quotientOf(quotientOf(productOf(a, db), b), b));
    }
    default:
      fail(symbol);
    }
  }

  // where(condition, a, b)
  static SymbolPtr choose(SymbolPtr condition, SymbolPtr a, SymbolPtr b) {
    if (printText(a) == printText(b))
      return a;
    return makeCall("where", "tl.where",
                    {std::move(condition), std::move(a), std::move(b)});
  }

  // A function of the same library: tl.cos for tl.sin.
  static SymbolPtr sibling(const Symbol &call, const std::string &name) {
    const size_t dot = call.written.rfind('.');
    return makeCall(name,
                    dot == std::string::npos
                        ? name
                        : call.written.substr(0, dot + 1) + name,
                    call.operands);
  }

  SymbolPtr ofCall(const Symbol &call) {
    const std::string &name = call.name;
    const auto &operands = call.operands;
    if (name == "where" && operands.size() == 3)
      return choose(operands[0], derivative(operands[1]),
                    derivative(operands[2]));
    const bool isMinimum = name == "minimum" || name == "min";
    if ((isMinimum || name == "maximum" || name == "max") &&
        operands.size() == 2)
      return choose(makeCompare(isMinimum ? CompareOp::Lt : CompareOp::Gt,
                                operands[0], operands[1]),
                    derivative(operands[0]), derivative(operands[1]));
    if (operands.size() != 1)
      fail(call);
    const SymbolPtr &x = operands[0];
    const SymbolPtr dx = derivative(x);
    const auto y = std::make_shared<Symbol>(call);
    if (name == "abs")
      return choose(makeCompare(CompareOp::Ge, x, realNumber(0)), dx,
                    negativeOf(dx));
    if (name == "floor" || name == "ceil")
      return realNumber(0);
    return productOf(slope(call, y, x), dx);
  }

  // The derivative of y = f(x) by x.
  SymbolPtr slope(const Symbol &call, const SymbolPtr &y, const SymbolPtr &x) {
    const std::string &name = call.name;
    const SymbolPtr one = realNumber(1);
    if (name == "exp")
      return y;
    if (name == "exp2")
      return productOf(realNumber(std::numbers::ln2), y);
    if (name == "log")
      return quotientOf(one, x);
    if (name == "log2")
      return quotientOf(realNumber(std::numbers::log2e), x);
    if (name == "sqrt")
      return quotientOf(realNumber(0.5), y);
    if (name == "rsqrt")
      return productOf(realNumber(-0.5), productOf(y, productOf(y, y)));
    if (name == "sin")
      return sibling(call, "cos");
    if (name == "cos")
      return negativeOf(sibling(call, "sin"));
    if (name == "sigmoid")
      return productOf(y, differenceOf(one, y));
    if (name == "tanh")
      return differenceOf(one, productOf(y, y));
    fail(call);
  }

  const FunctionDef &function;
  const std::string variable, remedy;
  std::map<const Symbol *, SymbolPtr> results;
};

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

  // "modify_grad and modify_grad_slope", without those of the module.
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

  // Integers of the run time become fp32.
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

  // A name that neither a parameter nor the module has.
  std::string localName(std::string name) const {
    const std::vector<std::string> names = moduleNames(*pattern.module);
    while (takes(name) ||
           std::find(names.begin(), names.end(), name) != names.end())
      name += "_";
    return name;
  }

  // How often each expression is in the text, by its text.
  using Counts = std::map<std::string, size_t>;
  static void count(const SymbolPtr &symbol, Counts &counts) {
    if (++counts[printText(symbol)] > 1)
      return;
    for (const SymbolPtr &operand : symbol->operands)
      count(operand, counts);
  }

  // Calls, and longer expressions, that the text has more than once get a
  // name.
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
