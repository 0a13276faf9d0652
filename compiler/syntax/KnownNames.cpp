// compiler/syntax/KnownNames.cpp - what a name of triton's modules should have
// been. Copyright the tessera authors. SPDX-License-Identifier: Apache-2.0
#include "compiler/syntax/KnownNames.h"

#include "support/Names.h"

#include <algorithm>

namespace tessera::syntax {

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

std::vector<Diagnostic> checkJitDecorators(const Program &program,
                                           const FunctionDef &function) {
  static const std::vector<std::string> known = {"triton.jit",
                                                 "triton.constexpr_function"};
  std::vector<Diagnostic> found;
  for (const ExprPtr &decorator : function.decorators) {
    const auto *call = decorator->as<Call>();
    const Expr *head = call ? call->function.get() : decorator.get();
    const Expr *root = head;
    while (const auto *attribute = root->as<Attribute>())
      root = attribute->value.get();
    const auto *name = root->as<Name>();
    if (!name || program.lookup(function, name->id))
      continue;
    const std::string text = dump(*head);
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
  return found;
}

} // namespace tessera::syntax
