// support/ShallowJson.h - JSON of a limited depth, without exceptions.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "support/Json.h"

#include <string_view>

namespace tessera {

// Deeper than any text that tessera writes. Copying, comparing and printing a
// value are recursive, so that a deeper one would overflow the stack.
inline constexpr int deepestJson = 200;

// True if brackets and braces outside of strings are nested deeper than that.
bool isDeepJson(std::string_view text);

// Returns a discarded value (is_discarded()) for text that is not JSON or is
// nested too deeply.
Json parseShallowJson(std::string_view text);

} // namespace tessera
