// support/Json.cpp - JSON with errors that name the place and the nearest key.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "support/Json.h"

#include "support/ShallowJson.h"

#include <algorithm>

namespace tessera {

bool isDeepJson(std::string_view text) {
  int depth = 0;
  bool quoted = false;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '"')
      quoted = !quoted;
    else if (quoted)
      i += c == '\\';
    else if (c == '[' || c == '{')
      ++depth;
    else if (c == ']' || c == '}')
      --depth;
    if (depth > deepestJson)
      return true;
  }
  return false;
}

Json parseShallowJson(std::string_view text) {
  if (isDeepJson(text))
    return Json(Json::value_t::discarded);
  return Json::parse(text, nullptr, /*allow_exceptions=*/false);
}

// Returns where and why a text is not JSON: "at line 1, column 5: unexpected
// end of input". The library puts its own names before and between these.
static std::string syntaxProblem(const std::string &message) {
  const size_t place = message.find("at line ");
  const size_t colon = message.find(": ", place);
  const size_t reason = message.find(" - ", colon);
  if (place == std::string::npos || colon == std::string::npos)
    return ": " + message;
  return " " + message.substr(place, colon - place) + ": " +
         message.substr(reason == std::string::npos ? colon + 2 : reason + 3);
}

Json parseJson(std::string_view text, const std::string &what) {
  if (isDeepJson(text))
    throw Error(what + " is nested deeper than " + std::to_string(deepestJson),
                "flatten it");
  try {
    return Json::parse(text);
  } catch (const Json::exception &error) {
    throw Error(what + " is not valid JSON" + syntaxProblem(error.what()),
                "check it with a JSON validator");
  }
}

void checkKeys(const Json &object, const std::vector<std::string> &known,
               const std::string &what) {
  if (!object.is_object())
    throw Error(what + " must be an object, not " +
                    std::string(object.type_name()),
                "write {\"key\": value, ...}");
  for (const auto &item : object.items())
    if (std::find(known.begin(), known.end(), item.key()) == known.end())
      throw Error(what + " has no key `" + item.key() + "`",
                  nearestNameHint(item.key(), known, "keys"));
}

std::string canonicalJson(const Json &value) {
  try {
    return value.dump();
  } catch (const Json::exception &error) {
    throw Error(std::string("text that is not UTF-8: ") + error.what(),
                "save the file as UTF-8");
  }
}

} // namespace tessera
