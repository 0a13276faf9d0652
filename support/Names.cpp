// support/Names.cpp - edit distance and its use in hints.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "support/Names.h"

#include <algorithm>
#include <cctype>

namespace tessera {

// Maximum number of names in a hint; longer lists do not help.
static constexpr size_t mostNames = 48;

size_t editDistance(std::string_view a, std::string_view b) {
  // Keeps three rows of the dynamic programming table, because swaps of
  // adjacent characters refer two rows back.
  std::vector<size_t> before(b.size() + 1), last(b.size() + 1),
      row(b.size() + 1);
  for (size_t j = 0; j <= b.size(); ++j)
    last[j] = j;
  for (size_t i = 1; i <= a.size(); ++i) {
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      row[j] = std::min({last[j] + 1, row[j - 1] + 1,
                         last[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1)});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
        row[j] = std::min(row[j], before[j - 2] + 1);
    }
    std::swap(before, last);
    std::swap(last, row);
  }
  return last[b.size()];
}

static std::string lower(std::string_view text) {
  std::string result(text);
  for (char &c : result)
    c = char(std::tolower(static_cast<unsigned char>(c)));
  return result;
}

std::string nearestName(std::string_view name,
                        const std::vector<std::string> &candidates) {
  const std::string wanted = lower(name);
  size_t best = std::max<size_t>(1, wanted.size() / 3) + 1;
  std::string result;
  for (const std::string &candidate : candidates) {
    size_t distance = editDistance(wanted, lower(candidate));
    if (distance < best && distance < std::max<size_t>(1, candidate.size())) {
      best = distance;
      result = candidate;
    }
  }
  // One name is a prefix of the other, as BLOCK of BLOCK_SIZE.
  for (size_t i = 0; result.empty() && i < candidates.size(); ++i) {
    const std::string other = lower(candidates[i]);
    const auto &[longer, shorter] = wanted.size() > other.size()
                                        ? std::pair(wanted, other)
                                        : std::pair(other, wanted);
    if (shorter.size() >= 3 &&
        longer.compare(0, shorter.size(), shorter) == 0 &&
        longer[shorter.size()] == '_')
      result = candidates[i];
  }
  return result;
}

std::string nearestNameHint(std::string_view name,
                            const std::vector<std::string> &candidates,
                            std::string_view kind) {
  if (std::string near = nearestName(name, candidates); !near.empty())
    return "did you mean `" + near + "`?";
  if (candidates.empty())
    return "there are no " + std::string(kind);
  std::string text = "known " + std::string(kind) + ":";
  const size_t shown = std::min(candidates.size(), mostNames);
  for (size_t i = 0; i < shown; ++i)
    text += (i ? ", " : " ") + candidates[i];
  if (shown < candidates.size())
    text += " and " + std::to_string(candidates.size() - shown) + " more";
  return text;
}

} // namespace tessera
