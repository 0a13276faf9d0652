// support/Names.h - guesses at what a misspelt name should have been.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace tessera {

// Insertions, deletions, replacements and swaps of neighbours.
size_t editDistance(std::string_view a, std::string_view b);

// The candidate closest to `name`, ignoring case; empty when none is near
// enough to be a likely misspelling.
std::string nearestName(std::string_view name,
                        const std::vector<std::string> &candidates);

// "did you mean `x`?" or, with nothing near, "known KIND: a, b, c".
std::string nearestNameHint(std::string_view name,
                            const std::vector<std::string> &candidates,
                            std::string_view kind);

} // namespace tessera
