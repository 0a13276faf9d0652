// ops/launch/ConstexprText.cpp - reads the constexprs of a launch from text.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "ops/launch/ConstexprText.h"

#include "language/Arithmetic.h"
#include "language/ConstexprValues.h"
#include "language/Evaluate.h"
#include "language/Parser.h"
#include "ops/Check.h"
#include "runtime/launch/KernelState.h"

namespace tessera::runtime {
namespace constexpr_text {

// Resolves `tl` and the functions of a kernel file. The kernel file is not
// known here, so every name that Python does not define is a kernel function.
class Names : public language::Scope {
public:
  std::optional<language::Value> find(std::string_view name) const override {
    if (name == "tl")
      return language::Value(language::Value::Named{"triton.language"});
    if (language::pythonName(std::string(name)))
      return std::nullopt;
    return language::Value(
        language::Value::KernelFunction{std::string(name), ""});
  }
};

// Adds the value. A dict, whose keys are field names, is added as the fields of
// a tuple.
void add(Configuration &values, const std::string &name,
         const language::Value &value) {
  const auto *fields = value.get<language::Value::Dict>();
  if (!fields && !values.emplace(name, value).second)
    throw Error("`" + name + "` is there twice");
  if (!fields)
    return;
  for (const auto &[field, item] : fields->items) {
    const auto *key = field.get<std::string>();
    if (!key)
      throw Error("`" + name + "` has a field " + field.repr());
    add(values, name + "." + *key, item);
  }
}

// Evaluates NAME=EXPRESSION pairs, separated by commas as in a call. Throws
// Error.
Configuration evaluateAll(std::string_view text) {
  const auto file = std::make_shared<SourceFile>(
      "constexprs", "dict(" + std::string(text) + ")");
  const language::ExprPtr expression = language::parseExpression(file);
  const auto *call = expression->as<language::Call>();
  if (!call || !call->arguments.empty() ||
      !call->function->as<language::Name>())
    throw Error("not each value has a name");
  const auto scope = std::make_shared<Names>();
  Configuration values;
  for (const language::Keyword &keyword : call->keywords) {
    if (keyword.name.empty())
      throw Error("`**` has no name");
    add(values, keyword.name, language::evaluate(*keyword.value, scope, file));
  }
  return values;
}

// Removes an option of the launch from the constexprs and returns its value.
std::optional<int64_t> takeOption(const char *op, const char *name,
                                  int64_t least, Constexprs &constexprs) {
  const auto found = constexprs.find(name);
  if (found == constexprs.end())
    return std::nullopt;
  const auto *number = std::get_if<int64_t>(&found->second);
  TESSERA_CHECK(number && *number >= least && *number <= 64, op, name, " is ",
                language::toValue(found->second).repr(),
                "; pass an integer from ", least, " to 64");
  const int64_t value = *number;
  constexprs.erase(found);
  return value;
}

// Returns the message without source locations, which refer to generated text.
std::string messageOf(const Error &error) {
  const auto *compile = dynamic_cast<const CompileError *>(&error);
  return compile && !compile->diagnostics.empty()
             ? compile->diagnostics.front().message
             : error.message;
}

} // namespace constexpr_text

Constexprs parseConstexprs(const char *op, std::string_view text) {
  Constexprs result;
  if (text.empty())
    return result;
  try {
    for (const auto &[name, value] : constexpr_text::evaluateAll(text))
      result[name] = language::fromValue(name, value);
  } catch (const Error &error) {
    TESSERA_CHECK(false, op, "constexprs is `", text,
                  "`: ", constexpr_text::messageOf(error),
                  "; write NAME=value, separated by commas: BLOCK=64, "
                  "ACT=\"relu\", TYPE=tl.float32");
  }
  return result;
}

LaunchOptions takeOptions(const char *op, Constexprs &constexprs) {
  LaunchOptions options;
  options.numWarps = constexpr_text::takeOption(op, "num_warps", 1, constexprs);
  options.numStages =
      constexpr_text::takeOption(op, "num_stages", 0, constexprs);
  return options;
}

} // namespace tessera::runtime
