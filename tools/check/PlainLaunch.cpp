// tools/check/PlainLaunch.cpp - builds a launch from the command line alone.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "tools/check/PlainLaunch.h"

#include "language/Evaluate.h"
#include "language/Parser.h"
#include "language/TupleText.h"
#include "support/Error.h"
#include "support/Lists.h"
#include "support/Names.h"
#include "support/Text.h"
#include "tools/compile/ExampleTypes.h"
#include "tools/compile/Jobs.h"

#include <algorithm>
#include <cctype>

namespace tessera::tools {

using language::KernelParameter;
using language::Value;

namespace {

// Element types of a launch's tensors.
constexpr const char *elementNames[] = {
    "fp16", "bf16", "fp32", "fp64", "i1",  "i8",      "i16",  "i32",
    "i64",  "u8",   "u16",  "u32",  "u64", "fp8e4nv", "fp8e5"};

// The element type and the sizes of "fp32[100, 64]"; no value for other texts.
struct TensorText {
  std::string element, sizes;
};
std::optional<TensorText> tensorText(const std::string &text) {
  const size_t open = text.find('[');
  if (open == std::string::npos || open == 0 || text.back() != ']')
    return std::nullopt;
  const std::string element = trimmed(text.substr(0, open));
  for (char c : element)
    if (!std::isalnum(static_cast<unsigned char>(c)))
      return std::nullopt;
  return TensorText{element, text.substr(open + 1, text.size() - open - 2)};
}

std::vector<int64_t> sizesOf(const std::string &name, const TensorText &text) {
  std::vector<int64_t> sizes;
  for (const std::string &part : split(text.sizes, ',')) {
    const auto size = numberFromText<int64_t>(part);
    if (!size || *size < 0)
      throw Error("--arg " + name + ": `" + part + "` is not a size",
                  "write whole numbers: --arg " + name + "=" + text.element +
                      "[100, 64]");
    sizes.push_back(*size);
  }
  return sizes;
}

language::Argument tensorArgument(const KernelParameter &parameter,
                                  const TensorText &text) {
  const auto *known =
      std::find(std::begin(elementNames), std::end(elementNames), text.element);
  if (known == std::end(elementNames))
    throw Error(
        "--arg " + parameter.name + ": tensors have no type `" + text.element +
            "`",
        nearestNameHint(text.element,
                        {std::begin(elementNames), std::end(elementNames)},
                        "types"));
  if (parameter.isConstexpr)
    throw Error("`" + parameter.name + "` is a tl.constexpr, no tensor",
                "give it a value, as in --arg " + parameter.name + "=64");
  return language::argumentFromValue(parameter,
                                     Value("*" + text.element + ":16"));
}

void takeScalar(PlainLaunch &launch, const KernelParameter &parameter,
                const Value &value) {
  language::Argument argument = language::specialize(parameter, value);
  if (value.isNone()) {
    launch.scalars[parameter.name] = nullptr;
  } else if (const bool *truth = value.get<bool>()) {
    launch.scalars[parameter.name] = *truth;
  } else if (const auto number = value.asInt()) {
    if (*number < INT64_MIN || *number > INT64_MAX)
      throw Error("--arg " + parameter.name + " is " + value.repr() +
                      ", which does not fit an int64",
                  "pass a smaller number");
    launch.shape.sizes[parameter.name] = int64_t(*number);
    launch.scalars[parameter.name] = int64_t(*number);
  } else if (const auto real = value.asFloat()) {
    launch.scalars[parameter.name] = *real;
  } else {
    throw Error("--arg " + parameter.name + " is " + value.repr() +
                    ", which is not a number",
                "write a number, or a tensor: --arg " + parameter.name +
                    "=fp32[100]");
  }
  launch.instance.arguments.push_back(std::move(argument));
}

bool isSupplied(const Description &kernel, const KernelParameter &parameter) {
  if (parameter.hasDefault)
    return true;
  const auto has = [&](const std::vector<Value::Config> &configs) {
    return !configs.empty() &&
           std::any_of(configs[0].constexprs.begin(),
                       configs[0].constexprs.end(), [&](const auto &entry) {
                         return entry.first == parameter.name;
                       });
  };
  if (has(kernel.info.configs) || has(kernel.info.hints.cpuConfigs))
    return true;
  return std::any_of(kernel.info.heuristics.begin(),
                     kernel.info.heuristics.end(), [&](const auto &heuristic) {
                       return heuristic.parameter == parameter.name;
                     });
}

std::string exampleOf(const language::KernelInfo &info,
                      const KernelParameter &parameter) {
  return " --arg " + parameter.name +
         (parameter.isConstexpr                    ? "=64"
          : looksLikePointer(info, parameter.name) ? "=fp32[1000]"
                                                   : "=1000");
}

} // namespace

Value argumentValue(const Description &kernel, const std::string &name,
                    const std::string &text) {
  const auto file = std::make_shared<SourceFile>("--arg " + name, text);
  const auto expression = language::parseExpression(file);
  return language::evaluate(*expression,
                            kernel.program->scope(*kernel.info.function), file);
}

bool namesTensor(const std::string &argument) {
  const auto given = nameAndValueOf(argument);
  return given && tensorText(given->second).has_value();
}

PlainLaunch plainLaunch(const Description &kernel,
                        const std::vector<std::string> &arguments) {
  const language::Signature &signature = kernel.info.signature;
  const std::vector<std::string> known =
      namesOf(signature.parameters, &KernelParameter::name);
  std::map<std::string, std::string> texts;
  for (const std::string &argument : arguments) {
    auto [name, text] = nameAndValue(argument, "--arg");
    if (const auto *tuple = signature.findTuple(name);
        tuple && language::isTupleText(text)) {
      std::map<std::string, Value> leaves;
      language::addLeavesOfText(
          signature, *tuple, text,
          [](const std::string &leaf) { return Value(leaf); }, leaves);
      for (const auto &[leaf, value] : leaves)
        texts[leaf] = *value.get<std::string>();
      continue;
    }
    if (signature.find(name) < 0)
      throw Error("kernel `" + signature.kernel + "` has no argument `" + name +
                      "`",
                  nearestNameHint(name, known, "arguments"));
    texts[name] = text;
  }
  PlainLaunch launch;
  launch.instance.name = signature.kernel;
  std::string missing, example;
  for (const KernelParameter &parameter : signature.parameters) {
    const std::string &name = parameter.name;
    auto found = texts.find(name);
    if (found == texts.end()) {
      if (!isSupplied(kernel, parameter)) {
        missing += (missing.empty() ? "`" : ", `") + name + "`";
        example += exampleOf(kernel.info, parameter);
      } else if (!parameter.isConstexpr) {
        takeScalar(launch, parameter, parameter.defaultValue);
      }
      continue;
    }
    if (const auto tensor = tensorText(found->second)) {
      launch.instance.arguments.push_back(tensorArgument(parameter, *tensor));
      launch.shape.tensors[name] = sizesOf(name, *tensor);
    } else if (parameter.isConstexpr) {
      launch.instance.arguments.push_back(language::argumentFromValue(
          parameter, argumentValue(kernel, name, found->second)));
    } else {
      takeScalar(launch, parameter, argumentValue(kernel, name, found->second));
    }
  }
  if (!missing.empty())
    throw Error("nothing says what to pass for " + missing + " of kernel `" +
                    signature.kernel + "`",
                "write a tensor as NAME=fp32[SIZES], a number as NAME=1000:" +
                    example);
  launch.shape.text = "plain";
  return launch;
}

} // namespace tessera::tools
