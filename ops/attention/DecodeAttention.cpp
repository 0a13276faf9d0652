// ops/attention/DecodeAttention.cpp - attention of one token per sequence over
// a cache, whose keys are split among programs.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "ops/Autograd.h"
#include "ops/Check.h"
#include "ops/Register.h"
#include "ops/launch/Launch.h"

#include <ATen/ops/empty.h>
#include <ATen/ops/full.h>
#include <ATen/ops/zeros.h>
#include <cmath>
#include <limits>

namespace tessera::runtime {
namespace {
namespace decode_attention_op {

using at::Tensor;
using MaybeTensor = std::optional<Tensor>;
using Pair = std::tuple<Tensor, Tensor>;

constexpr const char *name = "decode_attention";
constexpr const char *file = "kernels/nsa/decode.py";

// Keys of a step, the minimum number of steps of a share, and the maximum
// number of shares. The split depends only on the number of keys, so the same
// cache gives the same bits on every device.
constexpr int64_t kStepKeys = 64, kLeastSteps = 4, kMostShares = 64;

// Returns the number of steps of each share, for `splits` shares or, if
// `splits` is 0, for the number of shares that fits `steps`.
int64_t shareSteps(int64_t steps, int64_t splits) {
  if (splits == 0)
    splits = std::clamp<int64_t>(steps / kLeastSteps, 1, kMostShares);
  return ceilDiv(steps, std::min(splits, steps));
}

void check(const Tensor &q, const Tensor &k, const Tensor &v, int64_t first,
           int64_t last, const MaybeTensor &indices, int64_t selectionLength,
           int64_t splits) {
  checkRank(name, "q", q, 3);
  checkCache(name, q, k, v);
  TESSERA_CHECK(0 <= first && first <= last && last <= k.size(2), name, "keys ",
                first, " to ", last, " of a cache of ", k.size(2),
                "; pass 0 <= first <= last <= capacity");
  checkNotNegative(name, "splits", splits);
  if (!indices)
    return;
  checkInt32(name, "indices", *indices);
  checkPositive(name, "selection_length", selectionLength);
  checkRank(name, "indices", *indices, 3);
  checkShape(name, "indices", *indices,
             {q.size(0), k.size(1), indices->size(2)},
             "[sequences, key heads, selected]");
}

// Returns x with the elements of a row adjacent. The row stride may be
// arbitrary.
Tensor unitRows(const Tensor &x) {
  return x.stride(3) == 1 ? x : x.contiguous();
}

void cacheStrides(Launch &launch, const Tensor &x) {
  launch.integer(x.stride(0)).integer(x.stride(1)).integer(x.stride(2));
}

Pair forward(const Tensor &q, const Tensor &k, const Tensor &v, int64_t first,
             int64_t last, const MaybeTensor &indices, int64_t selectionLength,
             int64_t splits, std::optional<double> scale) {
  check(q, k, v, first, last, indices, selectionLength, splits);
  const int64_t batch = q.size(0), heads = q.size(1), keyHeads = k.size(1);
  const int64_t group = heads / keyHeads, size = v.size(3);
  const int64_t selected = indices ? indices->size(2) : 0;
  const int64_t steps = indices ? selected * ceilDiv(selectionLength, kStepKeys)
                                : ceilDiv(last - first, kStepKeys);
  const auto numbers = q.options().dtype(at::kFloat);
  if (steps == 0 || last == 0)
    return {at::zeros({batch, heads, size}, q.options()),
            at::full({batch, heads}, -std::numeric_limits<double>::infinity(),
                     numbers)};
  const Tensor query = unitLast(q), keys = unitRows(k), values = unitRows(v);
  const Tensor blocks =
      indices ? indices->contiguous()
              : at::empty({1}, q.options().dtype(at::kInt)); // not read
  const int64_t share = shareSteps(steps, splits);
  const int64_t shares = ceilDiv(steps, share);
  const Tensor part =
                   at::empty({batch, keyHeads, shares, group, size}, numbers),
               state = at::empty({batch, keyHeads, shares, 2, group}, numbers);
  Tensor o = at::empty({batch, heads, size}, q.options()),
         lse = at::empty({batch, heads}, numbers);
  Launch launch(file, "decode_split");
  launch.tensor(query).tensor(keys).tensor(values).tensor(blocks);
  launch.tensor(part).tensor(state);
  launch.real(checkScale(name, scale, q.size(2)));
  launch.integer(first).integer(last).integer(share).strides(query);
  cacheStrides(launch, keys);
  cacheStrides(launch, values);
  launch.padded("G", "GP", group);
  launch.constant("LSEL", indices ? selectionLength : 0);
  launch.constant("NSEL", selected).keyHead(q.size(2));
  launch.padded("E", "EP", size).constant("BN", kStepKeys);
  launch.run(shares, keyHeads, batch);
  Launch sum(file, "decode_combine");
  sum.tensor(part).tensor(state).tensor(o).tensor(lse).integer(shares);
  sum.strides(o).padded("G", "GP", group).padded("E", "EP", size);
  sum.run(keyHeads, batch);
  return {o, lse};
}

Pair meta(const Tensor &q, const Tensor &, const Tensor &v, int64_t, int64_t,
          const MaybeTensor &, int64_t, int64_t, std::optional<double>) {
  return {at::empty_symint({q.sym_size(0), q.sym_size(1), v.sym_size(3)},
                           q.options()),
          at::empty_symint({q.sym_size(0), q.sym_size(1)},
                           q.options().dtype(at::kFloat))};
}

TESSERA_OP(name, forward, meta);

} // namespace decode_attention_op
} // namespace
} // namespace tessera::runtime
