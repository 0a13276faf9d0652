// simulator/machine/ReleaseHistory.cpp - records which accesses the releases in
// global memory cover.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "simulator/machine/ReleaseHistory.h"

#include "simulator/machine/Block.h"

#include <algorithm>

namespace tessera::sim {

ReleasedAt ReleaseHistory::at(uint64_t address) const {
  const auto &map = released[(address >> 12) % released.size()];
  auto found = map.find(address);
  return found == map.end() ? ReleasedAt() : found->second;
}

ReleaseHistory::BlockReleases &ReleaseHistory::of(uint32_t block) {
  std::lock_guard lock(mutex);
  std::unique_ptr<BlockReleases> &found = blocks[block];
  if (!found)
    found = std::make_unique<BlockReleases>();
  return *found;
}

void ReleaseHistory::release(const Warp &w, uint32_t lane, uint64_t address,
                             bool inBlock) {
  const auto block = static_cast<uint32_t>(w.block->linear) + 1;
  const uint32_t epoch = ++currentEpoch;
  ReleasedAt &here = released[(address >> 12) % released.size()][address];
  (inBlock ? here.epochInBlock : here.epoch) = epoch;
  (inBlock ? here.blockOfScope : here.block) = block;
  BlockReleases &mine = of(block);
  std::lock_guard lock(mine.mutex);
  Released &scope = mine.scopes[inBlock];
  scope.warps.resize(w.seen.size());
  for (size_t v = 0; v < w.seen.size(); ++v) {
    std::vector<Covered> &covered = scope.warps[v];
    if (w.seen[v] && (covered.empty() || covered.back().stamp < w.seen[v]))
      covered.push_back({w.seen[v], epoch});
  }
  scope.threads[w.id * Lanes + lane].push_back(epoch);
}

bool ReleaseHistory::cover(const PastAccess &access, uint32_t limit,
                           bool inBlock) {
  if (access.epoch >= limit)
    return false;
  BlockReleases &its = of(access.block);
  std::lock_guard lock(its.mutex);
  const Released &scope = its.scopes[inBlock];
  const size_t warp = access.thread / Lanes;
  if (warp < scope.warps.size()) {
    const std::vector<Covered> &covered = scope.warps[warp];
    auto first = std::lower_bound(
        covered.begin(), covered.end(), access.stamp,
        [](const Covered &c, uint32_t stamp) { return c.stamp < stamp; });
    if (first != covered.end() && first->epoch <= limit)
      return true;
  }
  auto own = scope.threads.find(access.thread);
  if (own == scope.threads.end())
    return false;
  auto first =
      std::upper_bound(own->second.begin(), own->second.end(), access.epoch);
  return first != own->second.end() && *first <= limit;
}

} // namespace tessera::sim
