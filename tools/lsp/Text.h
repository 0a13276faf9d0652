// tools/lsp/Text.h - converts positions and file names to and from the Language
// Server Protocol.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "support/Diagnostics.h"
#include "support/Json.h"

#include <cstdint>
#include <string>
#include <string_view>

namespace tessera::tools::lsp {

// Line and character count from 0; characters are UTF-16 units.
struct Position {
  uint32_t line = 0;
  uint32_t character = 0;
};

// Converts a byte's column (from 1) in a line of UTF-8 to a character of the
// protocol. Bytes that are not valid UTF-8 count as one character each.
uint32_t characterOf(std::string_view line, uint32_t column);
// Converts back; past the end of the line, returns one past its last byte.
uint32_t columnOf(std::string_view line, uint32_t character);

Position positionOf(const SourceFile &file, uint32_t line, uint32_t column);
// Returns a range of the protocol. An unknown end becomes that of the word, or
// that of the line without a word.
Json rangeJson(const SourceFile &file, const SourceRange &range);

// Parses a position. Throws Error for another value.
Position readPosition(const Json &json);

// Convert "file:///a%20b.py" to "/a b.py" and back. Other schemes give an empty
// path.
std::string pathOfUri(std::string_view uri);
std::string uriOfPath(std::string_view path);

} // namespace tessera::tools::lsp
