// tools/check/MaskedTiles.h - counts the tiles that an attention kernel
// computes although they are entirely masked.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tools/check/Problem.h"

#include <optional>
#include <string>

namespace tessera::tools {

// Counts of one launch over one sequence and one key/value head.
struct MaskedTiles {
  int64_t tokens = 0;
  int64_t computed = 0; // tiles of scores
  int64_t masked = 0;   // tiles among them that the mask removes
};

// Returns the kernel's file with counters after each `x = tl.where(MASK,
// ..tl.dot(..), -inf or 0.0)` in a loop of the kernel, and with a new first
// argument TILES that receives both counts. Returns nullopt if the kernel has
// no such statement, or if its instances do not list arguments by name.
std::optional<std::string> withTileCounters(const Description &kernel);

// Counts the tiles on the cpu. Returns nullopt if withTileCounters() does, and
// for kernels without packed sequences. Throws Error as a launch does.
std::optional<MaskedTiles> countMaskedTiles(const Description &kernel,
                                            const language::Instance &instance);

} // namespace tessera::tools
