// ops/attention/SuperBlocks.cpp - converts lists of small blocks to lists of
// larger blocks.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "ops/attention/BlockPasses.h"

#include <ATen/ops/empty.h>
#include <algorithm>

namespace tessera::runtime {
namespace {
namespace super_blocks {

// Minimum number of keys of a matrix product.
constexpr int64_t kKeys = 16;

// super_lists sums the bits of a list in int32. One entry adds at most 2^15.
constexpr int64_t kMostEntries = 0x7fff;

} // namespace super_blocks
} // namespace

bool needsSuperBlocks(int64_t block) {
  return 2 * block <= super_blocks::kKeys;
}

Selection superBlocks(const Attention &a, const Selection &of) {
  using namespace super_blocks;
  const int64_t entries = of.indices.size(2), lists = of.indices.size(0);
  TESSERA_CHECK(entries <= kMostEntries, a.op, "indices has ", entries,
                " entries for each token; pass at most ", kMostEntries,
                ", for example with larger blocks");
  const int64_t per = kKeys / of.length;
  Selection to = of;
  to.sub = of.length;
  to.length = per * of.length;
  to.byBlocks = true;
  const int64_t most =
      std::min(entries, std::max<int64_t>(ceilDiv(a.maxSeqlen, to.length), 1));
  checkSortedEntries(a, to.length, most);
  to.indices = at::empty({lists, a.tokens, most}, of.indices.options());
  to.bits = at::empty(to.indices.sizes(), of.indices.options());
  const int64_t padded = std::max<int64_t>(nextPowerOfTwo(entries), 2);
  const int64_t sorted = takesCpuKernels(a.q) ? 64 : 2048;
  const int64_t tokens = std::clamp<int64_t>(sorted / padded, 1, 8);
  Launch launch("kernels/nsa/super_blocks.py", "super_lists");
  launch.tensor(of.indices).tensor(to.indices).tensor(to.bits);
  launch.tensor(a.cuSeqlens).integer(a.tokens).integer(a.sequences);
  launch.constant("LSEL", of.length).constant("PER", per);
  launch.constant("NSEL", entries).constant("NP", padded);
  launch.constant("NOUT", most).constant("BT", tokens).sequence(a.maxSeqlen);
  launch.run(tileCount(a.tokens, tokens, a.sequences), lists);
  return to;
}

} // namespace tessera::runtime
