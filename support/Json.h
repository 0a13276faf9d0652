// support/Json.h - JSON with errors that name the place and the nearest key.
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

// `what` names the document in the error: "manifest", "request of the worker".
Json parseJson(std::string_view text, const std::string &what);

// Throws when the value is not an object or has a key that is not listed.
void checkKeys(const Json &object, const std::vector<std::string> &known,
               const std::string &what);

// Keys in order, no spaces: equal values give equal text. Bytes that are not
// UTF-8 throw an Error.
std::string canonicalJson(const Json &value);

// A member that must be there and of the wanted type.
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

// The same with a value to use where the key is missing.
template <typename T>
T memberOr(const Json &object, const char *key, T otherwise,
           const std::string &what) {
  if (object.is_object() && !object.contains(key))
    return otherwise;
  return member<T>(object, key, what);
}

} // namespace tessera
