// autotune/table/TuneText.h - validates and formats the texts of tables.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "language/Constexprs.h"

#include <cstddef>
#include <string>
#include <string_view>

namespace tessera::tune {

// Maximum bytes of a text in a table.
inline constexpr size_t longestText = 4096;

// True for UTF-8 of at most longestText bytes without control characters.
bool isPlainText(std::string_view text);
// True for a Python identifier in ASCII.
bool isIdentifier(std::string_view text);
// True for a parameter or a field of a tuple: identifiers and numbers separated
// by dots, `S.G`.
bool isParameterName(std::string_view text);
// True for 32 lower-case hexadecimal digits.
bool isTextHash(std::string_view text);
// True for a date such as "2026-01-31".
bool isDate(std::string_view text);

// Returns the text in double quotes, in the syntax of YAML and JSON.
std::string quotedText(std::string_view text);
// Returns a constexpr in the syntax of tables: 64, 0.5, true, null, "text",
// tl.bfloat16.
std::string valueText(const ConstexprValue &value);

} // namespace tessera::tune
