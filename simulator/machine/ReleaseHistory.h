// simulator/machine/ReleaseHistory.h - what releases in global memory cover.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
//
// Every release begins an epoch and leaves its number at the address. A lane
// that acquires there counts every release of an earlier epoch, by any block,
// as acquired: an order is never overlooked, though a conflict may be. What a
// release covers is exact: the accesses of the releasing thread, and those of
// other threads that barriers put before it.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <vector>

namespace tessera::sim {

struct Warp;

// The last releases at an address: of gpu or sys scope, and of `.cta` scope.
struct ReleasedAt {
  uint32_t epoch = 0, block = 0; // 0: none; + 1
  uint32_t epochInBlock = 0, blockOfScope = 0;
};

// An access of the past.
struct PastAccess {
  uint32_t block; // + 1
  uint32_t thread;
  uint32_t stamp; // Warp::now
  uint32_t epoch; // when it happened
};

class ReleaseHistory {
public:
  uint32_t epoch() const { return currentEpoch.load(); }

  // These two with the lock of `address` held (GlobalMemory::lockFor).
  ReleasedAt at(uint64_t address) const;
  void release(const Warp &w, uint32_t lane, uint64_t address, bool inBlock);

  // Whether a release up to epoch `limit` covers the access; `inBlock`: one of
  // `.cta` scope.
  bool cover(const PastAccess &access, uint32_t limit, bool inBlock);

private:
  struct Covered {
    uint32_t stamp, epoch; // accesses up to the stamp, since the epoch
  };
  // Of one block and scope. Stamps and epochs ascend.
  struct Released {
    std::vector<std::vector<Covered>> warps;
    std::unordered_map<uint32_t, std::vector<uint32_t>> threads; // their own
  };
  struct BlockReleases {
    std::mutex mutex;
    std::array<Released, 2> scopes; // gpu or sys, cta
  };
  BlockReleases &of(uint32_t block);

  std::array<std::unordered_map<uint64_t, ReleasedAt>, 64> released;
  std::mutex mutex; // of `blocks`
  std::unordered_map<uint32_t, std::unique_ptr<BlockReleases>> blocks;
  std::atomic<uint32_t> currentEpoch{1};
};

} // namespace tessera::sim
