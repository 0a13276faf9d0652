// tools/check/MaskedTiles.h - tiles that an attention kernel computes in vain.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tools/check/Problem.h"

#include <optional>
#include <string>

namespace tessera::tools {

// Of one launch over one sequence and one key/value head.
struct MaskedTiles {
  int64_t tokens = 0;
  int64_t computed = 0; // tiles of scores
  int64_t masked = 0;   // of these, without an element that the mask keeps
};

// The kernel's file with counters: after each `x = tl.where(MASK, ..tl.dot(..),
// -inf or 0.0)` in a loop of the kernel, and a first argument TILES that gets
// both counts. None where the kernel has no such statement, or its instances
// are not written out by name.
std::optional<std::string> withTileCounters(const Description &kernel);

// Counts them on the cpu. Returns nullopt if withTileCounters() does, and for
// kernels without packed sequences. Throws Error as a launch does.
std::optional<MaskedTiles> countMaskedTiles(const Description &kernel,
                                            const language::Instance &instance);

} // namespace tessera::tools
