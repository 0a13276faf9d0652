// reference/Geometry.cpp - block geometry of NSA: validation, counts and Eq. 9
// weights.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "reference/Geometry.h"

#include <algorithm>
#include <stdexcept>
#include <string>

namespace tessera::reference {
namespace {

void require(bool holds, const std::string &what) {
  if (!holds)
    throw std::invalid_argument("NSA geometry: " + what);
}

std::string show(const char *name, int64_t value) {
  return std::string(name) + " = " + std::to_string(value);
}

} // namespace

void validate(const Geometry &g, int64_t queryHeads, int64_t keyHeads,
              int64_t keyDim) {
  require(g.blockLength > 0,
          show("block length l", g.blockLength) + " must be positive");
  require(g.blockStride > 0,
          show("block stride d", g.blockStride) + " must be positive");
  require(g.blockStride <= g.blockLength,
          show("block stride d", g.blockStride) + " must not exceed " +
              show("block length l", g.blockLength));
  require(g.selectionLength > 0,
          show("selection length l'", g.selectionLength) + " must be positive");
  require(g.selected >= 0,
          show("selected blocks n", g.selected) + " must not be negative");
  require(g.window >= 0, show("window w", g.window) + " must not be negative");
  require(g.initialBlocks >= 0 && g.localBlocks >= 0,
          "forced block counts must not be negative");
  require(g.selected == 0 || g.selected >= g.initialBlocks + g.localBlocks,
          show("selected blocks n", g.selected) +
              " must hold the forced blocks, " +
              show("n_init", g.initialBlocks) + " and " +
              show("n_local", g.localBlocks));
  if (!g.generalOverlap) {
    require(g.blockLength % g.blockStride == 0,
            show("block stride d", g.blockStride) + " must divide " +
                show("block length l", g.blockLength) +
                "; or switch general overlap on");
    require(g.selectionLength % g.blockStride == 0,
            show("block stride d", g.blockStride) + " must divide " +
                show("selection length l'", g.selectionLength) +
                "; or switch general overlap on");
  }
  require(keyHeads > 0 && queryHeads > 0 && queryHeads % keyHeads == 0,
          show("query heads", queryHeads) + " must be a multiple of " +
              show("key heads", keyHeads));
  require(keyDim > 0 && keyDim % 2 == 0,
          show("key head dimension", keyDim) + " must be even and positive");
}

int64_t compressedCount(const Geometry &g, int64_t length) {
  return length < g.blockLength ? 0
                                : (length - g.blockLength) / g.blockStride + 1;
}

int64_t visibleCompressed(const Geometry &g, int64_t t) {
  return compressedCount(g, t + 1);
}

Offsets compressedOffsets(const Geometry &g, const Offsets &cuSeqlens) {
  Offsets offsets{0};
  for (std::size_t b = 0; b + 1 < cuSeqlens.size(); ++b)
    offsets.push_back(static_cast<int32_t>(
        offsets.back() + compressedCount(g, cuSeqlens[b + 1] - cuSeqlens[b])));
  return offsets;
}

int64_t selectionBlocks(const Geometry &g, int64_t length) {
  return (length + g.selectionLength - 1) / g.selectionLength;
}

int64_t overlap(const Geometry &g, int64_t i, int64_t j) {
  const int64_t first = std::max(i * g.blockStride, j * g.selectionLength);
  const int64_t last =
      std::min(i * g.blockStride + g.blockLength, (j + 1) * g.selectionLength);
  return std::max<int64_t>(0, last - first);
}

double scoreWeight(const Geometry &g, int64_t i, int64_t j) {
  return static_cast<double>(overlap(g, i, j)) /
         static_cast<double>(g.generalOverlap ? g.blockLength : g.blockStride);
}

ReadCounts nominalReads(const Geometry &g, int64_t length) {
  return {compressedCount(g, length), g.selected * g.selectionLength,
          std::min(g.window, length)};
}

ReadCounts exactReads(const Geometry &g, int64_t length) {
  // The last query selects min(n, existing) blocks; all but its own are full.
  const int64_t blocks = selectionBlocks(g, length);
  const int64_t chosen = std::min(g.selected, blocks);
  int64_t tokens = chosen * g.selectionLength;
  if (chosen > 0 && g.localBlocks > 0)
    tokens -= blocks * g.selectionLength - length;
  return {compressedCount(g, length), tokens, std::min(g.window, length)};
}

} // namespace tessera::reference
