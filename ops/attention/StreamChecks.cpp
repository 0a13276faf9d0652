// ops/attention/StreamChecks.cpp - checks the arguments of
// tessera::selected_attention.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "ops/attention/BlockPasses.h"
#include "ops/attention/KeyStreams.h"

#include <ATen/ops/empty.h>
#include <algorithm>

namespace tessera::runtime {
namespace {
namespace stream_checks {

using at::Tensor;

constexpr int64_t kMostBlock = 128;
// The kernels add a window or a stride to positions in int32.
constexpr int64_t kMostDistance = int64_t{1} << 30;

void checkLists(const Attention &a, const Tensor &indices, int64_t block) {
  TESSERA_CHECK(1 <= block && block <= kMostBlock, a.op, "block is ", block,
                "; pass the tokens of a block, 1 to ", kMostBlock);
  checkInt32(a.op, "indices", indices);
  checkRank(a.op, "indices", indices, 3);
  const int64_t scopes = indices.size(0);
  TESSERA_CHECK(scopes == 1 || scopes == a.keyHeads || scopes == a.queryHeads,
                a.op, "indices has ", scopes, " lists for each token; pass 1, ",
                "one for each key head (", a.keyHeads,
                ") or one for each query head (", a.queryHeads, ")");
  checkShape(a.op, "indices", indices, {scopes, a.tokens, indices.size(2)},
             "[lists, tokens, selected]");
  checkSameDevice(a.op, "indices", indices, "q", a.q);
  // The kernels number the entries of one list for all tokens in 32 bits.
  TESSERA_CHECK(a.tokens * indices.size(2) <= 0x7fffffff, a.op, "indices has ",
                a.tokens, " tokens with ", indices.size(2),
                " entries; pass at most 2^31 - 1 entries for each list, for "
                "example with larger blocks");
}

void checkSink(const Attention &a, const std::optional<Tensor> &sink) {
  if (!sink)
    return;
  TESSERA_CHECK(sink->scalar_type() == at::kFloat, a.op, "sink is ",
                sink->scalar_type(), "; pass float32");
  checkRank(a.op, "sink", *sink, 1);
  checkShape(a.op, "sink", *sink, {a.queryHeads}, "[query heads]");
  checkSameDevice(a.op, "sink", *sink, "q", a.q);
}

// Checks the prefix sums of the keys of each sequence. Reads the contents in
// host memory only, as checkSequences does.
void checkExtraOffsets(const Attention &a, const Tensor &offsets,
                       int64_t keys) {
  const char *name = "extra_cu_seqlens";
  checkInt32(a.op, name, offsets);
  TESSERA_CHECK(offsets.sizes() == a.cuSeqlens.sizes(), a.op, name,
                " has shape ", offsets.sizes(),
                " and must have that of cu_seqlens, ", a.cuSeqlens.sizes());
  checkSameDevice(a.op, name, offsets, "q", a.q);
  if (!offsets.device().is_cpu())
    return;
  const int32_t *first = offsets.const_data_ptr<int32_t>();
  TESSERA_CHECK(first[0] == 0, a.op, name, " starts with ", first[0],
                " and must start with 0");
  for (int64_t b = 0; b < a.sequences; ++b)
    TESSERA_CHECK(first[b] <= first[b + 1], a.op, name, " falls from ",
                  first[b], " to ", first[b + 1], " at entry ", b + 1,
                  "; it must not decrease");
  TESSERA_CHECK(first[a.sequences] == keys, a.op, name, " ends with ",
                first[a.sequences], " but extra_k has ", keys,
                " rows; its last entry must be their number");
}

void checkExtra(const Attention &a, const StreamArguments &in) {
  const bool all = in.extraK && in.extraV && in.extraCu;
  TESSERA_CHECK(all || (!in.extraK && !in.extraV && !in.extraCu), a.op,
                "extra_k, extra_v and extra_cu_seqlens belong together; pass "
                "all three or none of them");
  if (!all)
    return;
  const Tensor &k = *in.extraK, &v = *in.extraV;
  checkRank(a.op, "extra_k", k, 3);
  checkRank(a.op, "extra_v", v, 3);
  checkSameType(a.op, "extra_k", k, "q", a.q);
  checkSameType(a.op, "extra_v", v, "q", a.q);
  checkShape(a.op, "extra_k", k, {k.size(0), a.keyHeads, a.keyDim},
             "[keys, key heads, head size] as k has them");
  checkShape(a.op, "extra_v", v, {k.size(0), a.keyHeads, a.valueDim},
             "[keys of extra_k, key heads, value size] as v has them");
  checkSameDevice(a.op, "extra_k", k, "q", a.q);
  checkSameDevice(a.op, "extra_v", v, "q", a.q);
  checkPositive(a.op, "extra_length", in.extraLength);
  checkPositive(a.op, "extra_stride", in.extraStride);
  TESSERA_CHECK(in.extraLength <= kMostDistance &&
                    in.extraStride <=
                        kMostDistance / std::max<int64_t>(k.size(0), 1),
                a.op, "extra_length is ", in.extraLength,
                " and extra_stride is ", in.extraStride, " for ", k.size(0),
                " keys; the last position that they reach must be below 2^30");
  checkExtraOffsets(a, *in.extraCu, k.size(0));
}

// Returns `a` with one key head per list. If query heads have separate lists,
// each group has one head.
Attention perList(const Attention &a, int64_t lists) {
  Attention listed = a;
  listed.keyHeads = lists;
  listed.group = a.queryHeads / lists;
  return listed;
}

} // namespace stream_checks
} // namespace

KeyStreams checkStreams(const char *op, const at::Tensor &q,
                        const at::Tensor &k, const at::Tensor &v,
                        const StreamArguments &in) {
  using namespace stream_checks;
  const Attention a =
      checkAttention(op, q, k, v, in.cuSeqlens, in.maxSeqlen, in.scale);
  checkSameDevice(op, "k", k, "q", q);
  checkSameDevice(op, "v", v, "q", q);
  checkLists(a, in.indices, in.block);
  // A window beyond the longest sequence contains every key.
  const int64_t window = std::min(in.window, kMostDistance);
  checkNotNegative(op, "window", window);
  checkSink(a, in.sink);
  checkExtra(a, in);
  KeyStreams s{a, a, {in.indices, in.block}, 0, {}, a, {}, 1, 1};
  s.window = s.selection.hidden = window;
  if (in.sink)
    s.sink = in.sink->contiguous();
  // Repeats the list of all heads for each key head.
  const int64_t scopes = in.indices.size(0);
  if (scopes < a.keyHeads)
    s.selection.indices =
        in.indices.expand({a.keyHeads, in.indices.size(1), in.indices.size(2)})
            .contiguous();
  s.listed = perList(a, std::max(scopes, a.keyHeads));
  s.selection.share = s.listed.keyHeads / a.keyHeads;
  s.selection.byBlocks = visitsBlocks(s.listed);
  if (in.extraK) {
    s.extra.k = unitLast(*in.extraK);
    s.extra.v = unitLast(*in.extraV);
    s.extraCu = *in.extraCu;
    s.extraLength = in.extraLength;
    s.extraStride = in.extraStride;
  }
  return s;
}

} // namespace tessera::runtime
