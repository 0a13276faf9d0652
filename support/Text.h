// support/Text.h - text by lines, for readers of reports and assembly.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <string_view>
#include <vector>

namespace tessera {

// Returns the lines of `text` without their newlines.
inline std::vector<std::string_view> splitLines(std::string_view text) {
  std::vector<std::string_view> lines;
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    lines.push_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return lines;
}

// Returns `text` without spaces, tabs and carriage returns at both ends.
inline std::string_view trimSpaces(std::string_view text) {
  constexpr std::string_view blank = " \t\r";
  const size_t begin = text.find_first_not_of(blank);
  if (begin == text.npos)
    return {};
  return text.substr(begin, text.find_last_not_of(blank) - begin + 1);
}

// Returns "k.py" of "/home/me/kernels/k.py".
inline std::string_view lastPart(std::string_view path) {
  return path.substr(path.rfind('/') + 1);
}

} // namespace tessera
