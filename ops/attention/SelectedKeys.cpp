// ops/attention/SelectedKeys.cpp - gradients of the keys and values of NSA's
// selected branch, computed with the inverse index.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "ops/attention/SelectedKeys.h"

#include <ATen/ops/empty.h>
#include <bit>

namespace tessera::runtime {
namespace {
namespace selected_keys_op {

using at::Tensor;

constexpr const char *indexFile = "kernels/nsa/inverse_index.py";
constexpr const char *superFile = "kernels/nsa/super_blocks.py";

// Number of list entries that a program of the inverse index sorts at once; it
// determines the tokens of a tile. The counts of all tiles are int32 [Hkv,
// tiles, blocks]. A CPU sorts fewer entries at once, in fewer steps.
constexpr int64_t kSortedPicks = 2048, kSortedOnCpu = 64;

int64_t sortedTokens(int64_t selected, bool onCpu) {
  const int64_t picks = onCpu ? kSortedOnCpu : kSortedPicks;
  return std::clamp<int64_t>(picks / nextPowerOfTwo(selected), 8, 128);
}

// Chunk size that no list reaches: larger than any sequence.
constexpr int64_t kWholeLists = int64_t(1) << 30;

constexpr const char *file = "kernels/nsa/select_bwd_dkdv.py";

// Sums x [T, Hkv * lists, size] over lists to [T, Hkv, size] of the given type.
// With one list, returns x unchanged.
Tensor addLists(const Tensor &x, int64_t lists, at::ScalarType type) {
  if (lists == 1)
    return x;
  return x.unflatten(1, {x.size(1) / lists, lists}).sum(2).to(type);
}

} // namespace selected_keys_op
} // namespace

void checkSortedEntries(const Attention &a, int64_t superBlock,
                        int64_t entries) {
  using namespace selected_keys_op;
  const int64_t sorted =
      sortedTokens(entries, takesCpuKernels(a.q)) * nextPowerOfTwo(entries);
  TESSERA_CHECK(ceilDiv(a.maxSeqlen, superBlock) < 0x7fffffff / sorted &&
                    a.tokens * entries <= 0x7fffffff,
                a.op, "indices has ", entries, " entries for each of ",
                a.maxSeqlen,
                " tokens of a sequence, more than can be numbered "
                "in 32 bits; pass larger blocks");
}

Constants superTiles(const Attention &a) {
  return {{"BM", takesCpuKernels(a.q) ? 64 : 32}, {"BN", 16}};
}

InverseIndex invert(const Attention &a, const Selection &of, bool onCpu) {
  using namespace selected_keys_op;
  const Tensor &indices = of.indices;
  InverseIndex inverse;
  inverse.blocks = tileCount(a.tokens, of.length, a.sequences);

  const int64_t selected = indices.size(2),
                tokens = sortedTokens(selected, onCpu);
  const int64_t tiles = tileCount(a.tokens, tokens, a.sequences);
  inverse.tiles = tiles;
  inverse.tileTokens = tokens;
  const auto options = indices.options();
  // For each block and tile: the number of tokens, and where their list begins.
  Tensor counts = at::empty({a.keyHeads, tiles, inverse.blocks}, options);
  inverse.starts = at::empty(counts.sizes(), options);
  inverse.offsets = at::empty({a.keyHeads, inverse.blocks + 1}, options);
  inverse.tokens = at::empty({a.keyHeads, a.tokens * selected},
                             options.dtype(of.sub > 0 ? at::kLong : at::kInt));
  const auto overTokens = [&](Launch &launch) {
    launch.tensor(a.cuSeqlens).integer(a.tokens).integer(a.sequences);
    launch.integer(inverse.blocks).constant("LSEL", of.length);
    launch.padded("NSEL", "NP", selected).constant("BT", tokens);
    launch.sequence(a.maxSeqlen);
    launch.run(tiles, a.keyHeads);
  };
  Launch count(indexFile, "inverse_count");
  overTokens(count.tensor(indices).tensor(counts));
  Launch prefix(indexFile, "inverse_prefix");
  prefix.tensor(counts).tensor(inverse.starts).tensor(inverse.offsets);
  prefix.integer(tiles).integer(inverse.blocks).sequence(a.maxSeqlen);
  prefix.run(ceilDiv(inverse.blocks + 1, prefix.tile("BC")), a.keyHeads);
  Launch fill(of.sub > 0 ? superFile : indexFile,
              of.sub > 0 ? "inverse_fill_bits" : "inverse_fill");
  fill.tensor(indices);
  if (of.sub > 0)
    fill.tensor(of.bits);
  overTokens(fill.tensor(inverse.starts).tensor(inverse.tokens));
  return inverse;
}

int64_t chunkTokens(int64_t selected, int64_t selectionLength) {
  const auto half = static_cast<uint64_t>(selected * selectionLength / 2);
  return std::max<int64_t>(64, static_cast<int64_t>(std::bit_floor(half)));
}

std::tuple<at::Tensor, at::Tensor>
selectedDkDv(const Attention &a, const Selection &of,
             const InverseIndex &inverse, const RowGradient &rows, bool whole,
             const CompressedParts *parts) {
  using namespace selected_keys_op;
  const int64_t selectionLength = of.length;
  const int64_t selected = of.indices.size(2);
  // A block's list contains each token of its sequence at most once.
  const int64_t chunk =
      whole ? kWholeLists : chunkTokens(selected, selectionLength);
  const int64_t chunks = a.tokens * selected / chunk + inverse.blocks;
  const bool cut = a.maxSeqlen > chunk;
  const Tensor part = at::empty(
      {a.keyHeads, cut ? chunks : 0, selectionLength, a.keyDim + a.valueDim},
      rows.lse.options());
  const auto type = of.gradients.value_or(a.k.scalar_type());
  const auto options = a.k.options().dtype(of.share > 1 ? at::kFloat : type);
  // With several lists per key head, these are the gradients of each list.
  const Tensor dk = at::empty({a.tokens, a.keyHeads, a.keyDim}, options),
               dv = at::empty({a.tokens, a.keyHeads, a.valueDim}, options);

  const ListKernels *const own = of.kernels;
  const std::string path = own ? own->file : file;
  const std::string kernel =
      own ? own->name + "_list_bwd_dkdv" : "select_bwd_dkdv";
  const std::string text = backwardOptions(a, own ? own->constants : "");
  Launch launch(path, kernel, text);
  if (own && own->learned.defined())
    launch.rows("LEARNED", own->learned);
  addRows(launch, a, rows).tensor("PTR", inverse.offsets);
  launch.tensor("INV", inverse.tokens).tensor("PART", part);
  launch.rows("dk", dk).rows("dv", dv).tensor("CU", a.cuSeqlens);
  launch.real("scale", a.scale).integer("T", a.tokens);
  launch.integer("nseq", a.sequences).integer("nblk", inverse.blocks);
  launch.constant("G", a.group).constant("LSEL", selectionLength);
  launch.constant("NSEL", selected).constant("CHUNK", chunk);
  for (const auto &[name, value] : keyRule(of))
    launch.constant(name, value);
  launch.keyHead(a.keyDim).padded("E", "EP", a.valueDim);
  launch.sequence(a.maxSeqlen);
  wholeTokens(launch, a.group);
  setTiles(launch, of.sub > 0 ? superTiles(a) : wideTiles(a, true),
           a.group > kLeastTileRows);
  launch.run(a.keyHeads, chunks * ceilDiv(selectionLength, launch.tile("BN")));
  const ListChunks made{part,           inverse.offsets, dk,   dv,
                        inverse.blocks, selectionLength, chunk};
  if (parts && !whole && (cut || parts->parts > 1))
    addBoth(a, made, *parts);
  else if (cut)
    addChunks(a, made);
  return {addLists(dk, of.share, type), addLists(dv, of.share, type)};
}

} // namespace tessera::runtime
