// language/FormatScan.h - finds the parts of an f-string.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
//
// A replacement field may contain strings with the quotes of the f-string
// itself (PEP 701), so the scanner must read the field to find its end.
#pragma once

#include <cstddef>
#include <string_view>

namespace tessera::language {

// True if the letters before a quote are a prefix of a string literal.
bool isStringPrefix(std::string_view letters);

// Returns the length in bytes of the f-string that begins at text[0] with
// `prefix` letters, or 0 if it is not closed.
size_t formattedLength(std::string_view text, size_t prefix);

// A replacement field: {expression!conversion:format}. Offsets into the text.
struct FormatField {
  size_t expressionEnd = 0;
  size_t conversion = 0; // of `!`, 0 if there is none
  size_t format = 0;     // of `:`, 0 if there is none
  size_t close = 0;      // of `}`, 0 if the field is not closed
};

// Returns the field whose `{` is text[open].
FormatField scanField(std::string_view text, size_t open);

} // namespace tessera::language
