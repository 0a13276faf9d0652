// support/Names.h - suggests the intended name for a misspelt one.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace tessera {

// Returns the number of insertions, deletions, replacements and swaps of
// adjacent characters between two texts.
size_t editDistance(std::string_view a, std::string_view b);

// Returns the candidate closest to `name`, ignoring case, or an empty string if
// no candidate is a likely misspelling.
std::string nearestName(std::string_view name,
                        const std::vector<std::string> &candidates);

// Returns "did you mean `x`?" or, without a close name, "known KIND: a, b, c".
std::string nearestNameHint(std::string_view name,
                            const std::vector<std::string> &candidates,
                            std::string_view kind);

} // namespace tessera
