// support/Json.cpp - JSON with errors that name the place and the nearest key.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "support/Json.h"

#include <algorithm>

namespace tessera {

Json parseJson(std::string_view text, const std::string &what) {
  // Deeper than anything we write: what walks the value later is recursive.
  constexpr int maxDepth = 200;
  auto shallow = [&](int depth, Json::parse_event_t, const Json &) {
    if (depth > maxDepth)
      throw Error(what + " is nested deeper than " + std::to_string(maxDepth),
                  "flatten it");
    return true;
  };
  try {
    return Json::parse(text, shallow);
  } catch (const Json::exception &error) {
    throw Error(what + " is not valid JSON: " + error.what(),
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
