// support/Json.h - JSON access; errors name the place and the nearest key.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "support/Error.h"
#include "support/Names.h"

#include <nlohmann/json.hpp>

#include <string>
#include <string_view>
#include <vector>

namespace tessera {

using Json = nlohmann::json;

// Parses a document; `what` names it in the Error: "manifest", "request of the
// worker".
Json parseJson(std::string_view text, const std::string &what);

// Throws Error if the value is not an object or has an unlisted key.
void checkKeys(const Json &object, const std::vector<std::string> &known,
               const std::string &what);

// Returns JSON with sorted keys and without spaces, so equal values give equal
// text. Throws Error for bytes that are not UTF-8.
std::string canonicalJson(const Json &value);

// Returns a required member of the type T. Throws Error.
template <typename T>
T member(const Json &object, const char *key, const std::string &what) {
  auto found = object.is_object() ? object.find(key) : object.end();
  if (found == object.end())
    throw Error(what + ": `" + key + "` is missing",
                "add `" + std::string(key) + "`");
  try {
    return found->template get<T>();
  } catch (const nlohmann::json::exception &) {
    throw Error(what + ": `" + key +
                    "` has the wrong type: " + std::string(found->type_name()),
                "correct the value of `" + std::string(key) + "`");
  }
}

// Returns a member, or `otherwise` if the key is missing.
template <typename T>
T memberOr(const Json &object, const char *key, T otherwise,
           const std::string &what) {
  if (object.is_object() && !object.contains(key))
    return otherwise;
  return member<T>(object, key, what);
}

} // namespace tessera
