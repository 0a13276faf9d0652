// autotune/table/TuneText.h - what tables say in words.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "language/Constexprs.h"

#include <cstddef>
#include <string>
#include <string_view>

namespace tessera::tune {

// Of a text in a table.
inline constexpr size_t longestText = 4096;

// UTF-8 of at most longestText bytes without control characters.
bool isPlainText(std::string_view text);
// A name of Python in ASCII.
bool isIdentifier(std::string_view text);
// A parameter, or a value of a tuple: identifiers and numbers with dots between
// them, `S.G`.
bool isParameterName(std::string_view text);
// 32 lower-case hexadecimal digits.
bool isTextHash(std::string_view text);
// "2026-01-31".
bool isDate(std::string_view text);

// In double quotes, as YAML and JSON have them.
std::string quotedText(std::string_view text);
// A constexpr as it stands in a table: 64, 0.5, true, null, "text",
// tl.bfloat16.
std::string valueText(const ConstexprValue &value);

} // namespace tessera::tune
