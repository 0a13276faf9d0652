// codegen/gpu/lower/shared/Plans.cpp - caches plans of layout conversions.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "codegen/gpu/lower/shared/Plans.h"

#include "dialect/layout/ShapeOps.h"

#include "llvm/ADT/STLFunctionalExtras.h"

#include <algorithm>
#include <map>
#include <mutex>

using tessera::layout::ConversionPlan;
using tessera::layout::Dim;
using tessera::layout::LinearLayout;
using tessera::layout::Word;

namespace tessera::codegen::gpu {

int64_t scratchLimit(const GpuOptions &options) {
  return std::min<int64_t>(options.target.sharedPerBlock, 64 * 1024);
}

// Returns all numbers that the plan depends on.
static std::vector<Word> keyOf(const LinearLayout &src, const LinearLayout &dst,
                               int64_t elementBytes, int64_t limit) {
  std::vector<Word> key = {Word(elementBytes), Word(limit)};
  for (const LinearLayout *layout : {&src, &dst}) {
    for (const layout::Extents *extents : {&layout->ins(), &layout->outs()}) {
      key.push_back(extents->size());
      for (const layout::Extent &extent : *extents)
        key.push_back(Word(extent.dim) << 8 | Word(extent.bits));
    }
    key.insert(key.end(), layout->columns().begin(), layout->columns().end());
  }
  return key;
}

// Returns the cached result for `key`, or computes it. Each type of result has
// a separate cache.
template <typename T>
static std::shared_ptr<const T> remembered(std::vector<Word> key,
                                           llvm::function_ref<T()> make) {
  static std::mutex mutex;
  static std::map<std::vector<Word>, std::shared_ptr<const T>> known;
  constexpr size_t most = 4096; // some megabytes
  {
    std::lock_guard lock(mutex);
    if (auto found = known.find(key); found != known.end())
      return found->second;
  }
  auto made = std::make_shared<const T>(make());
  std::lock_guard lock(mutex);
  if (known.size() >= most)
    known.clear();
  known.emplace(std::move(key), made);
  return made;
}

std::shared_ptr<const ConversionPlan> planOf(const LinearLayout &src,
                                             const LinearLayout &dst,
                                             int64_t elementBytes,
                                             const GpuOptions &options) {
  layout::ConversionOptions how;
  how.elementBits = int(8 * elementBytes);
  how.maxScratchBytes = scratchLimit(options);
  return remembered<ConversionPlan>(
      keyOf(src, dst, elementBytes, how.maxScratchBytes),
      [&] { return layout::planConversion(src, dst, how); });
}

std::shared_ptr<const layout::SharedTrip>
tripOf(const LinearLayout &src, const LinearLayout &dst, int64_t elementBytes) {
  layout::SearchOptions how;
  how.elementBits = int(8 * elementBytes);
  how.ldmatrix = false;
  return remembered<layout::SharedTrip>(keyOf(src, dst, elementBytes, 0), [&] {
    return layout::findSharedTrip(src, dst, how);
  });
}

bool staysInWarp(const ConversionPlan &plan, const LinearLayout &src) {
  return plan.withinWarp &&
         (!src.hasIn(Dim::Warp) || src.freeBits(Dim::Warp) == 0);
}

} // namespace tessera::codegen::gpu
