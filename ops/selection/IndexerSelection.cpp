// ops/selection/IndexerSelection.cpp - the op that selects blocks by a learned
// indexer.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "ops/Register.h"
#include "ops/selection/BlockSelection.h"

#include <ATen/ops/empty.h>

#include <bit>

namespace tessera::runtime {
namespace {
namespace indexer_selection_op {

using at::Tensor;

constexpr const char *opName = "indexer_select";
constexpr int64_t kColumns = 64; // tokens of a step, unless a block has more

// Positions of compressed keys: key i of a sequence covers the tokens i *
// stride .. i * stride + length - 1. Without offsets, each token has one key.
struct KeyPlaces {
  std::optional<Tensor> offsets;
  int64_t length, stride;
};

void checkTensors(const Tensor &q, const Tensor &k, const Tensor &weights,
                  const Tensor &cuSeqlens, const KeyPlaces &places) {
  checkRank(opName, "q", q, 4);
  checkRank(opName, "k", k, 2);
  checkFloating(opName, "q", q);
  checkSameType(opName, "k", k, "q", q);
  checkSameDevice(opName, "k", k, "q", q);
  checkSameDevice(opName, "weights", weights, "q", q);
  TESSERA_CHECK(weights.scalar_type() == at::kFloat, opName, "weights is ",
                weights.scalar_type(),
                "; pass float32, for example weights.float()");
  TESSERA_CHECK(
      places.length >= 1 && places.stride >= 1 &&
          (places.offsets || (places.length == 1 && places.stride == 1)),
      opName, "length is ", places.length, " and stride is ", places.stride,
      "; pass positive numbers, and k_cu_seqlens for keys of more "
      "than one token");
  checkShape(opName, "k", k,
             {places.offsets ? k.size(0) : q.size(0), q.size(3)},
             "[tokens, width] of q");
  if (places.offsets)
    checkCompressed(opName, cuSeqlens, *places.offsets, places.length,
                    places.stride, "the number of rows of k", k.size(0));
  checkShape(opName, "weights", weights, q.sizes().slice(0, 3),
             "[tokens, lists, heads] of q");
  TESSERA_CHECK(q.size(1) > 0 && q.size(2) > 0 && q.size(3) > 0, opName,
                "q has shape ", q.sizes(),
                "; pass at least one list, one head and one channel");
}

std::tuple<Tensor, Tensor>
select(const Tensor &q, const Tensor &k, const Tensor &weights,
       const Tensor &cuSeqlens, int64_t maxSeqlen, int64_t block, int64_t top,
       int64_t first, int64_t local, const std::optional<Tensor> &keyOffsets,
       int64_t length, int64_t stride) {
  const BlockSelection selection{block, top, first, local};
  checkSelection(opName, selection);
  checkSequences(opName, cuSeqlens, maxSeqlen, q.size(0), "q", q);
  checkTensors(q, k, weights, cuSeqlens, {keyOffsets, length, stride});
  checkSameDevice(opName, "cu_seqlens", cuSeqlens, "q", q);
  const int64_t tokens = q.size(0), lists = q.size(1);
  const int64_t sequences = cuSeqlens.numel() - 1;
  Tensor indices = at::empty({lists, tokens, top}, cuSeqlens.options());
  Tensor best = at::empty_like(indices);
  if (tokens == 0 || k.size(0) == 0)
    return {indices.fill_(-1), best.fill_(-1)};
  const Tensor query = unitLast(q), key = unitLast(k), w = unitLast(weights);
  const int64_t padded = nextPowerOfTwo(block);
  const int64_t step = std::max<int64_t>(2, kColumns / padded);
  Launch launch("kernels/selection/indexer_select.py", "indexer_select");
  launch.tensor(query).tensor(key).tensor(w).tensor(indices).tensor(best);
  launch.tensor(cuSeqlens).tensor(keyOffsets.value_or(cuSeqlens));
  launch.integer(tokens).integer(sequences);
  for (int64_t stride : {query.stride(0), query.stride(1), query.stride(2),
                         key.stride(0), w.stride(0), w.stride(1), w.stride(2)})
    launch.integer(stride);
  launch.constant("HEADS", q.size(2)).constant("BP", padded);
  launch.constant("BJ", step).constant("L", length);
  launch.constant("STRIDE", stride);
  setSelection(launch, selection, step);
  launch.keyHead(q.size(3)).sequence(maxSeqlen);
  launch.run(tileCount(tokens, launch.tile("BT"), sequences), lists);
  return {indices, best};
}

std::tuple<Tensor, Tensor> meta(const Tensor &q, const Tensor &, const Tensor &,
                                const Tensor &cuSeqlens, c10::SymInt, int64_t,
                                int64_t top, int64_t, int64_t,
                                const std::optional<Tensor> &, int64_t,
                                int64_t) {
  const Tensor indices = at::empty_symint({q.sym_size(1), q.sym_size(0), top},
                                          cuSeqlens.options());
  return {indices, at::empty_like(indices)};
}

TESSERA_OP(opName, select, meta);

} // namespace indexer_selection_op
} // namespace
} // namespace tessera::runtime
