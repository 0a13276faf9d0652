// language/pattern/PatternNames.cpp - rejects names that a pattern cannot use.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "language/pattern/PatternNames.h"

#include "support/Lists.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <string>

namespace tessera::language {
namespace {

template <size_t count>
bool contains(const std::array<std::string_view, count> &list,
              std::string_view name) {
  return std::find(list.begin(), list.end(), name) != list.end();
}

// Returns true for a name that the derived text imports.
bool isImported(std::string_view name) {
  static constexpr std::array<std::string_view, 11> names = {
      "Pattern",      "Rows",        "Sizes",      "forward",
      "backward",     "backward_kv", "backward_q", "decode",
      "first_reader", "tl",          "triton"};
  return contains(names, name);
}

// Returns true for a name that the derived text of a pattern with selected
// blocks imports.
bool isImportedForLists(std::string_view name) {
  static constexpr std::array<std::string_view, 5> names = {
      "forward_lists", "backward_q_lists", "backward_kv_lists",
      "masses_of_lists", "listed_mask"};
  return contains(names, name);
}

// Returns true for a parameter of the kernels of a pattern that selects blocks.
bool isOfListKernels(std::string_view name) {
  static constexpr std::array<std::string_view, 10> names = {
      "k", "v", "o", "do", "lse", "delta", "dq", "dk", "dv", "nblk"};
  return contains(names, name) || isImportedForLists(name);
}

// Returns true for a parameter or variable of the kernels.
bool isOfKernels(const std::string &name) {
  static constexpr std::array<std::string_view, 26> names = {
      "acc",      "base",   "d",    "e",      "extra",   "head", "head0",
      "head1",    "inputs", "keys", "length", "learned", "nseq", "p",
      "peak",     "pos",    "pos0", "pos1",   "q",       "s",    "scale",
      "sequence", "start",  "t",    "t0",     "t1"};
  static constexpr std::array<std::string_view, 4> more = {"shares", "total",
                                                           "values", "weight"};
  const bool isStride =
      name.size() > 2 && name[0] == 's' &&
      (name.back() == 't' || name.back() == 'h' || name.back() == 'b') &&
      contains(std::array<std::string_view, 10>{"q", "k", "v", "o", "do", "dq",
                                                "dk", "dv", "lse", "delta"},
               std::string_view(name).substr(1, name.size() - 2));
  return isStride || isImported(name) || contains(names, name) ||
         contains(more, name) ||
         std::any_of(name.begin(), name.end(),
                     [](unsigned char c) { return std::isupper(c); });
}

bool isKeyword(std::string_view name) {
  static constexpr std::array<std::string_view, 35> words = {
      "False",  "None",   "True",    "and",      "as",       "assert", "async",
      "await",  "break",  "class",   "continue", "def",      "del",    "elif",
      "else",   "except", "finally", "for",      "from",     "global", "if",
      "import", "in",     "is",      "lambda",   "nonlocal", "not",    "or",
      "pass",   "raise",  "return",  "try",      "while",    "with",   "yield"};
  return contains(words, name);
}

bool isPatternFunction(std::string_view name) {
  static constexpr std::array<std::string_view, 6> names = {
      "sees", "modify", "modify_grad", "sees_tile", "key_range", "query_range"};
  return contains(names, name);
}

// Returns true if a file of this name can be a pattern: the name becomes the
// name of a kernel and the beginning of others.
bool isKernelName(const std::string &name) {
  return !name.empty() && !std::isdigit(static_cast<unsigned char>(name[0])) &&
         std::all_of(
             name.begin(), name.end(),
             [](unsigned char c) { return std::isalnum(c) || c == '_'; }) &&
         !isImported(name) && !isKeyword(name) && !isPatternFunction(name) &&
         name != "kernels";
}

// Returns true if the value of an expression cannot be a condition.
bool isNumber(const Expr &expr) {
  if (const auto *constant = expr.as<Constant>())
    return constant->value.is<Int>() || constant->value.is<double>();
  if (const auto *name = expr.as<Name>())
    return name->id == "t" || name->id == "pos" || name->id == "head";
  if (const auto *unary = expr.as<UnaryOpExpr>())
    return unary->op != UnaryOp::Not && isNumber(*unary->operand);
  const auto *binary = expr.as<BinOp>();
  if (!binary)
    return false;
  const bool logical = binary->op == BinaryOp::And ||
                       binary->op == BinaryOp::Or ||
                       binary->op == BinaryOp::Xor;
  return !logical || isNumber(*binary->left) || isNumber(*binary->right);
}

class Checker {
public:
  Checker(const Pattern &pattern, std::vector<Diagnostic> &diagnostics)
      : pattern(pattern), diagnostics(diagnostics),
        file(std::filesystem::path(pattern.module->file->path())
                 .stem()
                 .string()) {}

  void check() {
    if (!isKernelName(file))
      report({}, "`" + file + "` cannot be the name of a pattern",
             "its kernels are named after the file: use letters, digits and _, "
             "and no name of Python, of a function of patterns or of the core");
    for (const PatternParameter &p : pattern.parameters)
      checkName(p.name, p.range);
    for (const PerSequence &p : pattern.perSequence)
      checkName(p.name, p.range);
    size_t scores = 0;
    for (const LearnedParameter &p : pattern.learned) {
      checkName(p.name, p.range);
      checkLearned(p);
      if (takes(p.name) && ++scores > 1)
        report(p.range, "`modify` takes two learned parameters",
               "a score may depend on one learned number of each head; combine "
               "them into one");
    }
    for (const StmtPtr &statement : pattern.module->body)
      checkStatement(*statement);
    checkResult();
  }

private:
  void report(SourceRange range, std::string message, std::string hint) {
    diagnostics.push_back(
        Diagnostic::make(DiagnosticId::InvalidHint, pattern.module->file, range,
                         std::move(message), std::move(hint)));
  }
  bool takes(std::string_view parameter) const {
    return pattern.modify &&
           std::any_of(pattern.modify->parameters.begin(),
                       pattern.modify->parameters.end(),
                       [&](const auto &p) { return p.name == parameter; });
  }
  void checkName(const std::string &name, SourceRange range) {
    if (isOfKernels(name) || (pattern.selection && isOfListKernels(name)))
      report(range, "the kernels of a pattern use the name `" + name + "`",
             "give the parameter a longer name in lower case");
  }
  void checkLearned(const LearnedParameter &p) {
    if (!std::all_of(p.name.begin(), p.name.end(),
                     [](char c) { return c >= 'a' && c <= 'z'; }))
      report(p.range,
             "the learned parameter `" + p.name +
                 "` has a character that is not a lower-case letter",
             "its strides are named after it: write for example slope=[Hq]");
    if (p.shape != std::vector<std::string>{"Hq"})
      report(p.range,
             "the learned parameter `" + p.name + "` has the shape [" +
                 joined(p.shape, ", ") + "]",
             "write " + p.name + "=[Hq]: one number for each query head");
    if (p.name == "sink" && takes(p.name))
      report(p.range, "`modify` takes `sink`, which joins the denominator",
             "give the number of `modify` another name");
    if (!takes(p.name) && p.name != "sink")
      report(p.range,
             "no function takes the learned parameter `" + p.name + "`",
             "`modify` may take it; a parameter named sink joins the "
             "denominator of the softmax");
  }
  // Reports a function or constant that the derived text defines, too.
  void checkDefined(const std::string &name, SourceRange range) {
    static const std::vector<std::string> endings = {
        "",        "_mask",       "_keys",         "_queries", "_visible",
        "_score",  "_score_grad", "_learned_grad", "_load",    "_ref",
        "_bwd_dq", "_bwd_dkdv",   "_bwd",          "_decode",  "_first_reader"};
    static const std::vector<std::string> more = {
        "_list", "_list_bwd_dq", "_list_bwd_dkdv", "_list_mass", "_scores"};
    const auto isFileWith = [&](const std::string &ending) {
      return name == file + ending;
    };
    const bool derived =
        std::any_of(endings.begin(), endings.end(), isFileWith) ||
        (pattern.selection &&
         (std::any_of(more.begin(), more.end(), isFileWith) ||
          isImportedForLists(name)));
    if (derived || (isImported(name) && name != "tl" && name != "triton"))
      report(range, "the kernels of a pattern define `" + name + "`",
             "give it another name");
  }
  void checkStatement(const Stmt &statement) {
    if (const auto *function = statement.as<FunctionDef>())
      return checkDefined(function->name, function->nameRange);
    if (const auto *assign = statement.as<Assign>())
      for (const ExprPtr &target : assign->targets)
        if (const auto *name = target->as<Name>())
          checkDefined(name->id, name->range);
  }
  void checkResult() {
    if (!pattern.sees || pattern.sees->body.empty())
      return;
    const auto *result = pattern.sees->body.back()->as<Return>();
    if (result && result->value && isNumber(*result->value))
      report(result->value->range, "`sees` returns a number",
             "return a condition, for example a comparison with != 0");
  }

  const Pattern &pattern;
  std::vector<Diagnostic> &diagnostics;
  const std::string file;
};

} // namespace

void checkNames(const Pattern &pattern, std::vector<Diagnostic> &diagnostics) {
  Checker(pattern, diagnostics).check();
}

} // namespace tessera::language
