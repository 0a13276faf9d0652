// support/DerivedText.h - the kernels that tessera appends to a pattern's text
// when it reads the file.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "support/Diagnostics.h"

#include <string_view>

namespace tessera {

// The line that begins the derived part. `tessera compile --emit pattern`
// prints another line, so that a file with the printed text is the user's.
inline constexpr std::string_view derivedTextMarker =
    "# The kernels of the pattern above, derived when its file was read.";

// True if a line was appended by tessera and is not in the user's file.
inline bool isDerivedLine(const SourceFile &file, uint32_t line) {
  const std::string &text = file.text();
  const size_t marker = text.find(derivedTextMarker);
  if (marker == std::string::npos || line == 0 || line > file.lineCount())
    return false;
  return size_t(file.line(line).data() - text.data()) >= marker;
}

} // namespace tessera
