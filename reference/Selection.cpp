// reference/Selection.cpp - block scores (Eqs. 9 and 10), top-n selection and
// ranges.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "reference/Selection.h"

#include <algorithm>
#include <cmath>
#include <set>

namespace tessera::reference {

void blockScores(Tensor q, Tensor kc, Tensor lse, const Geometry &geometry,
                 const Offsets &cuSeqlens, double scale, Tensor scores) {
  const int64_t group = q.size(1) / kc.size(1);
  const KeysOf keys = compressedKeys(geometry, cuSeqlens);
  for (int64_t t = 0; t < q.size(0); ++t) {
    for (int64_t keyHead = 0; keyHead < kc.size(1); ++keyHead) {
      for (int64_t j = 0; j < scores.size(2); ++j)
        scores(keyHead, t, j) = 0;
      const auto [first, last] = keys(t, keyHead).front();
      for (int64_t head = keyHead * group; head < (keyHead + 1) * group; ++head)
        for (int64_t key = first; key < last; ++key) {
          double s = 0;
          for (int64_t c = 0; c < q.size(2); ++c)
            s += q(t, head, c) * kc(key, keyHead, c);
          const double p = std::exp(scale * s - lse(head, t));
          for (int64_t j = 0; j < scores.size(2); ++j)
            scores(keyHead, t, j) += scoreWeight(geometry, key - first, j) * p;
        }
    }
  }
}

std::vector<int32_t> selectBlocks(const Geometry &geometry, int64_t t,
                                  const std::function<double(int64_t)> &score) {
  const int64_t current = t / geometry.selectionLength;
  if (geometry.selected == 0)
    return {};
  std::set<int32_t> chosen;
  for (int64_t j = 0; j < geometry.initialBlocks && j <= current; ++j)
    chosen.insert(static_cast<int32_t>(j));
  for (int64_t j = current; j > current - geometry.localBlocks && j >= 0; --j)
    chosen.insert(static_cast<int32_t>(j));

  std::vector<int32_t> candidates;
  for (int64_t j = 0; j <= current; ++j)
    if (!chosen.count(static_cast<int32_t>(j)))
      candidates.push_back(static_cast<int32_t>(j));
  // Stable, so that equal scores stay in the order of the index.
  std::stable_sort(candidates.begin(), candidates.end(),
                   [&](int32_t a, int32_t b) {
                     const double x = score(a), y = score(b);
                     if (std::isnan(x) || std::isnan(y))
                       return !std::isnan(x) && std::isnan(y);
                     return x > y;
                   });
  for (int32_t j : candidates) {
    if (static_cast<int64_t>(chosen.size()) >= geometry.selected)
      break;
    chosen.insert(j);
  }
  return {chosen.begin(), chosen.end()};
}

void select(const Geometry &geometry, const Offsets &cuSeqlens, Tensor scores,
            IndexTensor indices) {
  for (int64_t keyHead = 0; keyHead < indices.size(0); ++keyHead)
    for (int64_t t = 0; t < indices.size(1); ++t) {
      const int64_t position = t - cuSeqlens[sequenceOf(cuSeqlens, t)];
      const std::vector<int32_t> blocks = selectBlocks(
          geometry, position, [&](int64_t j) { return scores(keyHead, t, j); });
      for (int64_t slot = 0; slot < indices.size(2); ++slot)
        indices(keyHead, t, slot) =
            slot < static_cast<int64_t>(blocks.size()) ? blocks[slot] : -1;
    }
}

Ranges blockRanges(const Geometry &geometry, int64_t t,
                   const std::vector<int32_t> &blocks) {
  const std::set<int32_t> unique(blocks.begin(), blocks.end());
  Ranges ranges;
  for (int64_t j : unique) {
    const int64_t first = j * geometry.selectionLength;
    const int64_t last = std::min(first + geometry.selectionLength, t + 1);
    if (j < 0 || first >= last)
      continue;
    if (!ranges.empty() && ranges.back().second == first)
      ranges.back().second = last;
    else
      ranges.push_back({first, last});
  }
  return ranges;
}

void selectedRanges(const Geometry &geometry, const Offsets &cuSeqlens,
                    IndexTensor indices, IndexTensor out) {
  for (int64_t keyHead = 0; keyHead < indices.size(0); ++keyHead)
    for (int64_t t = 0; t < indices.size(1); ++t) {
      std::vector<int32_t> blocks;
      for (int64_t slot = 0; slot < indices.size(2); ++slot)
        blocks.push_back(indices(keyHead, t, slot));
      const Ranges ranges = blockRanges(
          geometry, t - cuSeqlens[sequenceOf(cuSeqlens, t)], blocks);
      for (int64_t slot = 0; slot < indices.size(2); ++slot) {
        const bool used = slot < static_cast<int64_t>(ranges.size());
        out(keyHead, t, slot, 0) =
            used ? static_cast<int32_t>(ranges[slot].first) : 0;
        out(keyHead, t, slot, 1) =
            used ? static_cast<int32_t>(ranges[slot].second) : 0;
      }
    }
}

} // namespace tessera::reference
