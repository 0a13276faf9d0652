// tools/lsp/Text.h - places and files as the Language Server Protocol writes
// them.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "support/Diagnostics.h"
#include "support/Json.h"

#include <cstdint>
#include <string>
#include <string_view>

namespace tessera::tools::lsp {

// Both count from 0, characters in units of UTF-16.
struct Position {
  uint32_t line = 0;
  uint32_t character = 0;
};

// Converts a byte's column (from 1) in a line of UTF-8 to a character of the
// protocol. Bytes that are not valid UTF-8 count as one character each.
uint32_t characterOf(std::string_view line, uint32_t column);
// And back; past the end of the line: one past its last byte.
uint32_t columnOf(std::string_view line, uint32_t character);

Position positionOf(const SourceFile &file, uint32_t line, uint32_t column);
// A range of the protocol. An unknown end is that of the word, or of the line
// where there is none.
Json rangeJson(const SourceFile &file, const SourceRange &range);

// Parses a position. Throws Error for another value.
Position readPosition(const Json &json);

// "file:///a%20b.py" to "/a b.py" and back. Other schemes have no path: empty.
std::string pathOfUri(std::string_view uri);
std::string uriOfPath(std::string_view path);

} // namespace tessera::tools::lsp
