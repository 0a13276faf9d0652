// language/KnownNames.cpp - corrections of misspelt names of triton's modules.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "language/KnownNames.h"

#include "support/Error.h"
#include "support/Names.h"

#include <algorithm>

namespace tessera::language {

namespace {
constexpr std::string_view kLanguage = "triton.language.";
} // namespace

std::string quotedName(std::string_view path) {
  if (path.starts_with(kLanguage))
    return "`tl." + std::string(path.substr(kLanguage.size())) + "`";
  return "`" + std::string(path) + "`";
}

std::string nearestTypeHint(std::string_view path) {
  if (!path.starts_with(kLanguage))
    return "";
  static const std::vector<std::string> types = {
      "int1",   "int8",   "int16",   "int32",    "int64",   "uint8",  "uint16",
      "uint32", "uint64", "float16", "bfloat16", "float32", "float64"};
  const std::string near = nearestName(path.substr(kLanguage.size()), types);
  return near.empty() ? "" : "did you mean `tl." + near + "`?";
}

static bool isKnown(const Program &program, const FunctionDef &function,
                    const std::string &name) {
  try {
    return program.lookup(function, name).has_value();
  } catch (const CompileError &) {
    return true; // a failed import is reported where the name is used
  }
}

static std::string headOf(const Expr &decorator) {
  const auto *call = decorator.as<Call>();
  return dump(call ? *call->function : decorator);
}

// Returns an error if a decorator below triton.jit may replace the function
// that triton.jit receives.
static std::optional<Diagnostic> changesFunction(const FunctionDef &function) {
  if (!function.isJit)
    return std::nullopt;
  for (size_t i = function.jitDecorator + 1; i < function.decorators.size();
       ++i) {
    const std::string head = headOf(*function.decorators[i]);
    if (head.find("autotune") == head.npos &&
        head.find("heuristics") == head.npos &&
        head.find("constexpr") == head.npos)
      return Diagnostic::make(
          DiagnosticId::InvalidDecorator, function.file,
          function.decorators[i]->range,
          "unknown decorator `" + head + "` of the function of a kernel",
          "write it above triton.jit, where it wraps the launch, or leave it "
          "out");
  }
  return std::nullopt;
}

std::vector<Diagnostic> checkJitDecorators(const Program &program,
                                           const FunctionDef &function) {
  static const std::vector<std::string> known = {"triton.jit",
                                                 "triton.constexpr_function"};
  std::vector<Diagnostic> found;
  for (size_t i = 0; i < function.decorators.size(); ++i) {
    const ExprPtr &decorator = function.decorators[i];
    const auto *call = decorator->as<Call>();
    const Expr *head = call ? call->function.get() : decorator.get();
    const Expr *root = head;
    while (const auto *attribute = root->as<Attribute>())
      root = attribute->value.get();
    const auto *name = root->as<Name>();
    const std::string text = dump(*head);
    if (!name || isKnown(program, function, name->id) ||
        (program.hasUnknownNames(function) &&
         !(function.isJit && i == function.jitDecorator)))
      continue;
    const std::string near = nearestName(text, known);
    std::string hint = "import `" + name->id + "` at the top of the file";
    if (std::find(known.begin(), known.end(), text) != known.end())
      hint = "add `import triton` at the top of the file";
    else if (!near.empty())
      hint = "did you mean `" + near + "`?";
    found.push_back(Diagnostic::make(DiagnosticId::InvalidDecorator,
                                     function.file, root->range,
                                     "the decorator `" + text + "` names `" +
                                         name->id + "`, which is not defined",
                                     hint));
  }
  if (auto wrong = changesFunction(function))
    found.push_back(std::move(*wrong));
  return found;
}

} // namespace tessera::language
