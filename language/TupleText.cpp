// language/TupleText.cpp - parses tuples in hints and on command lines.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "language/TupleText.h"

#include "support/Error.h"
#include "support/Text.h"

#include <cctype>

namespace tessera::language {

static std::string_view trimmed(std::string_view text) {
  return trimSpaces(text, " \t\n");
}

static bool isWord(std::string_view text) {
  if (text.empty() || std::isdigit(static_cast<unsigned char>(text[0])))
    return false;
  for (char c : text)
    if (!std::isalnum(static_cast<unsigned char>(c)) && c != '_')
      return false;
  return true;
}

std::vector<std::string> splitOutsideBrackets(std::string_view text,
                                              char separator) {
  std::vector<std::string> parts;
  int depth = 0;
  char quote = 0;
  size_t begin = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (quote) {
      quote = c == quote ? 0 : quote;
    } else if (c == '"' || c == '\'') {
      quote = c;
    } else if (c == '(' || c == '[' || c == '{') {
      ++depth;
    } else if (c == ')' || c == ']' || c == '}') {
      --depth;
    } else if (c == separator && depth == 0) {
      parts.emplace_back(trimmed(text.substr(begin, i - begin)));
      begin = i + 1;
    }
  }
  if (const std::string_view last = trimmed(text.substr(begin)); !last.empty())
    parts.emplace_back(last);
  return parts;
}

bool isTupleText(std::string_view text) {
  text = trimmed(text);
  const size_t open = text.find('(');
  return open != std::string_view::npos && text.back() == ')' &&
         (open == 0 || isWord(text.substr(0, open)));
}

static Value
valueOfText(const Signature &signature, const std::string &name,
            std::string_view text,
            const std::function<Value(const std::string &)> &leaf) {
  const TupleParameter *tuple = signature.findTuple(name);
  if (!tuple || !isTupleText(text))
    return leaf(std::string(text));
  const size_t open = text.find('(');
  const std::string_view type = text.substr(0, open);
  if (!type.empty() && type != tuple->type)
    throw Error("`" + name + "` is " +
                    (tuple->type.empty() ? "a tuple without names"
                                         : "a " + tuple->type) +
                    ", and a " + std::string(type) + " is given",
                "give the values as " + formOf(*tuple));
  Value::Tuple result;
  for (const std::string &part :
       splitOutsideBrackets(text.substr(open + 1, text.size() - open - 2))) {
    const size_t equals = part.find('=');
    const bool isNamed =
        equals != std::string::npos && isWord(trimmed(part.substr(0, equals)));
    const size_t place = result.items.size();
    const std::string field =
        isNamed ? std::string(trimmed(part.substr(0, equals)))
        : place < tuple->fields.size() ? tuple->fields[place]
                                       : std::to_string(place);
    if (isNamed || !tuple->type.empty())
      result.names.push_back(field);
    const std::string value =
        isNamed ? std::string(trimmed(part.substr(equals + 1))) : part;
    result.items.push_back(
        valueOfText(signature, name + "." + field, value, leaf));
  }
  // addLeaves() reports values past the last field.
  if (result.items.size() > tuple->fields.size())
    result.names.clear();
  return result;
}

void addLeavesOfText(const Signature &signature, const TupleParameter &tuple,
                     std::string_view text,
                     const std::function<Value(const std::string &)> &leaf,
                     std::map<std::string, Value> &leaves) {
  addLeaves(signature, tuple,
            valueOfText(signature, tuple.name, trimmed(text), leaf), leaves);
}

} // namespace tessera::language
