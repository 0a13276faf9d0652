// language/HintTypes.cpp - reads the hint types(...), which all instances
// share.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "language/HintTypes.h"

#include "language/KnownNames.h"
#include "language/TupleText.h"
#include "support/Error.h"
#include "support/Names.h"
#include "support/Text.h"

#include <algorithm>
#include <charconv>

namespace tessera::language {

static const char *const form =
    "write types(\"Q K V: *T:16\", \"scale: fp32\", \"s*: i32:16\")";

bool HintTypes::Pattern::matches(std::string_view name) const {
  const std::string_view all = text;
  return all.front() == '*' ? name.ends_with(all.substr(1))
                            : name.starts_with(all.substr(0, all.size() - 1));
}

static bool isName(std::string_view text) {
  return !text.empty() && !std::isdigit(static_cast<unsigned char>(text[0])) &&
         text.find_first_not_of("abcdefghijklmnopqrstuvwxyz"
                                "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_") ==
             std::string_view::npos;
}

// True if the text can be part of a leaf's name: "token", ".token", "q.".
static bool isLeafName(std::string_view text) {
  std::string word(text);
  std::replace(word.begin(), word.end(), '.', '_');
  return isName(word) || (text.size() > 1 && isName(word.substr(1)));
}

HintTypes::Type HintTypes::typeOf(const Signature &signature,
                                  std::string_view text) {
  Type type;
  type.text = text;
  int64_t number = 0;
  const auto [end, error] =
      std::from_chars(text.data(), text.data() + text.size(), number);
  if (error == std::errc() && end == text.data() + text.size()) {
    type.constant = Value(number);
    return type;
  }
  for (const auto &[word, constant] : {std::pair{"None", Value()},
                                       {"True", Value(true)},
                                       {"False", Value(false)}})
    if (text == word) {
      type.constant = constant;
      return type;
    }
  if (ArgClass::parse(text))
    return type;
  std::string_view element = text;
  if (element.starts_with('*'))
    element.remove_prefix(1);
  if (element.ends_with(":16"))
    element.remove_suffix(3);
  // Variables begin with a capital letter; other names are misspelt types.
  const bool capital =
      isName(element) && element[0] >= 'A' && element[0] <= 'Z';
  if (!capital)
    throw Error(quotedName(text) + " is not a type",
                "write a class such as *fp32:16 or i32, or a capital such as "
                "*T:16 whose type each instance gives");
  type.variable = element;
  if (signature.find(element) >= 0)
    throw Error("the type `" + type.variable + "` has the name of a parameter",
                "give it another name");
  ++variables[type.variable];
  return type;
}

void HintTypes::set(const std::string &name, const Type &type) {
  if (!types.emplace(name, type).second)
    throw Error("types() says twice what `" + name + "` is",
                "remove one of the two");
}

void HintTypes::addTuple(const Signature &signature,
                         const TupleParameter &tuple, const std::string &text) {
  std::map<std::string, Value> leaves;
  addLeavesOfText(
      signature, tuple, text,
      [](const std::string &leaf) { return Value(leaf); }, leaves);
  for (const auto &[name, leaf] : leaves)
    if (const auto *type = leaf.get<std::string>())
      addName(signature, name, *type);
    else
      throw Error("`" + name + "` is one value, and a tuple is given",
                  "give the values as " + formOf(tuple));
}

// Adds a name that is neither a pattern nor a tuple.
void HintTypes::addName(const Signature &signature, const std::string &name,
                        const std::string &text) {
  const int index = signature.find(name);
  if (index < 0) {
    std::vector<std::string> known;
    for (const KernelParameter &parameter : signature.parameters)
      known.push_back(parameter.name);
    for (const TupleParameter &tuple : signature.tuples)
      known.push_back(tuple.name);
    throw Error("`" + signature.kernel + "` has no parameter " +
                    quotedName(name),
                nearestNameHint(name, known, "parameters"));
  }
  if (isTupleText(text))
    throw Error("`" + name + "` is one value, and a tuple is given",
                "annotate the parameter with the tuple's type: " + name +
                    ": Rows for a class of NamedTuple, or " + name +
                    ": tuple[tl.tensor, tl.tensor]");
  const Type type = typeOf(signature, text);
  if (signature.parameters[size_t(index)].isConstexpr && !type.constant)
    throw Error("`" + name + "` is a tl.constexpr",
                "types() has the other parameters; instances say " + name +
                    "=64");
  set(name, type);
}

void HintTypes::add(const Signature &signature, const std::string &entry) {
  const size_t colon = entry.find(':');
  if (colon == std::string::npos)
    throw Error(quotedName(entry) + " has no type", form);
  const std::string text(
      trimSpaces(std::string_view(entry).substr(colon + 1), " "));
  std::string_view names =
      trimSpaces(std::string_view(entry).substr(0, colon), " ");
  if (names.empty())
    throw Error(quotedName(entry) + " names no parameter", form);
  while (!names.empty()) {
    const size_t end = std::min(names.find(' '), names.size());
    const std::string name(names.substr(0, end));
    names = trimSpaces(names.substr(end), " ");
    if (name.size() > 1 && (name.front() == '*') != (name.back() == '*') &&
        isLeafName(name.front() == '*' ? name.substr(1)
                                       : name.substr(0, name.size() - 1))) {
      patterns.push_back({name, typeOf(signature, text)});
      continue;
    }
    if (const TupleParameter *tuple = signature.findTuple(name))
      addTuple(signature, *tuple, text);
    else
      addName(signature, name, text);
  }
}

void HintTypes::resolve(const Signature &signature) {
  const std::map<std::string, Type> named = types;
  for (const Pattern &pattern : patterns) {
    bool used = false;
    for (const KernelParameter &parameter : signature.parameters)
      if (!parameter.isConstexpr && !named.count(parameter.name) &&
          pattern.matches(parameter.name)) {
        set(parameter.name, pattern.type);
        used = true;
      }
    if (!used)
      throw Error("`" + signature.kernel + "` has no parameter `" +
                      pattern.text + "` that types() does not name",
                  "remove it");
  }
}

std::vector<std::string> HintTypes::variableNames() const {
  std::vector<std::string> names;
  for (const auto &[name, uses] : variables)
    names.push_back(name);
  return names;
}

std::optional<Value>
HintTypes::valueOf(const std::string &parameter,
                   const std::map<std::string, std::string> &elements,
                   const std::string &instance) const {
  const auto found = types.find(parameter);
  if (found == types.end())
    return std::nullopt;
  const Type &type = found->second;
  if (type.constant)
    return type.constant;
  if (type.variable.empty())
    return Value(type.text);
  const auto element = elements.find(type.variable);
  if (element == elements.end())
    throw Error("the instance `" + instance + "` does not say which type `" +
                    type.variable + "` is",
                "add " + type.variable + "=\"fp32\"");
  std::string text = type.text;
  text.replace(text.find(type.variable), type.variable.size(), element->second);
  return Value(text);
}

} // namespace tessera::language
