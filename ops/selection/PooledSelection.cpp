// ops/selection/PooledSelection.cpp - the op that selects blocks by their
// pooled keys.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "ops/Register.h"
#include "ops/launch/EmptyTensor.h"
#include "ops/selection/BlockSelection.h"

#include <ATen/ops/empty.h>

namespace tessera::runtime {
namespace {
namespace pooled_selection_op {

using at::Tensor;

constexpr const char *opName = "pooled_select";
constexpr int64_t kStep = 16; // BJ of the kernel's configurations

bool usesMaximum(c10::string_view pool) {
  TESSERA_CHECK(pool == "mean" || pool == "max", opName, "pool is \"",
                std::string(pool), "\"; pass \"mean\" or \"max\"");
  return pool == "max";
}

// Returns one key for each block, [blocks, Hkv, D].
Tensor poolKeys(const Attention &a, int64_t block, bool maximum) {
  const int64_t blocks = tileCount(a.tokens, block, a.sequences);
  const Tensor pooled =
      emptyTensor({blocks, a.keyHeads, a.keyDim}, a.k.options());
  Launch launch("kernels/selection/pool_keys.py", "pool_keys");
  launch.tensor(a.k).tensor(pooled).tensor(a.cuSeqlens).integer(a.sequences);
  launch.strides(a.k).strides(pooled);
  launch.padded("BLOCK", "BP", block).padded("D", "DP", a.keyDim);
  launch.constant("MAX", maximum).sequence(a.maxSeqlen);
  launch.run(blocks, a.keyHeads);
  return pooled;
}

Tensor select(const Tensor &q, const Tensor &k, const Tensor &cuSeqlens,
              int64_t maxSeqlen, int64_t block, int64_t top, int64_t lists,
              int64_t first, int64_t local, c10::string_view pool) {
  const BlockSelection selection{block, top, first, local};
  checkSelection(opName, selection);
  const bool maximum = usesMaximum(pool);
  TESSERA_CHECK(local >= 1, opName,
                "local is 0; pass 1 or more: pooled keys rank the blocks "
                "before the query's own, which is always selected");
  const Attention a =
      checkAttention(opName, q, k, k, cuSeqlens, maxSeqlen, std::nullopt);
  const ListHeads heads = listHeads(opName, lists, a.queryHeads, a.keyHeads);
  Tensor indices = at::empty({lists, a.tokens, top}, cuSeqlens.options());
  if (a.tokens == 0)
    return indices;
  const Tensor pooled = poolKeys(a, block, maximum);
  Launch launch("kernels/selection/pooled_select.py", "pooled_select");
  launch.tensor(a.q).tensor(pooled).tensor(indices).tensor(a.cuSeqlens);
  launch.integer(a.tokens).integer(a.sequences).strides(a.q).strides(pooled);
  launch.constant("HEADS", heads.heads).constant("SHARE", heads.share);
  launch.constant("KEYS", heads.keys);
  setSelection(launch, selection, kStep);
  launch.keyHead(a.keyDim).sequence(a.maxSeqlen);
  launch.run(tileCount(a.tokens, launch.tile("BT"), a.sequences), lists);
  return indices;
}

Tensor meta(const Tensor &q, const Tensor &, const Tensor &cuSeqlens,
            c10::SymInt, int64_t, int64_t top, int64_t lists, int64_t, int64_t,
            c10::string_view) {
  return at::empty_symint({lists, q.sym_size(0), top}, cuSeqlens.options());
}

TESSERA_OP(opName, select, meta);

} // namespace pooled_selection_op
} // namespace
} // namespace tessera::runtime
