// support/ShallowJson.h - parses JSON of limited depth, without exceptions.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "support/Json.h"

#include <string_view>

namespace tessera {

// Maximum depth, larger than that of any text that tessera writes. Copying,
// comparing and printing a value are recursive, so deeper values could overflow
// the stack.
inline constexpr int deepestJson = 200;

// True if brackets and braces outside of strings exceed this depth.
bool isDeepJson(std::string_view text);

// Parses a text. Returns a discarded value (is_discarded()) if it is not JSON
// or is nested too deeply.
Json parseShallowJson(std::string_view text);

} // namespace tessera
