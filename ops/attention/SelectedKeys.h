// ops/attention/SelectedKeys.h - gradients of the keys and values of NSA's
// selected branch.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "ops/attention/Branches.h"

namespace tessera::runtime {

// For each list and block, the tokens that selected it, ascending
// (docs/kernel-reference.md).
struct InverseIndex {
  at::Tensor offsets; // int32 [lists, blocks + 1]: PTR
  at::Tensor starts;  // int32 [lists, tiles, blocks]: of each tile's tokens
  // INV [lists, T * n]: int32, or with super-blocks int64, whose upper halves
  // are their bits.
  at::Tensor tokens;
  int64_t blocks; // of all sequences, numbered as tiles are; some are empty
  int64_t tiles, tileTokens;
};

// Inverts a selection. `onCpu`: uses tile sizes for a CPU.
InverseIndex invert(const Attention &a, const Selection &of, bool onCpu);
// Throws c10::ValueError if the index cannot number `entries` entries per token
// in 32 bits, with super-blocks of `superBlock` tokens.
void checkSortedEntries(const Attention &a, int64_t superBlock,
                        int64_t entries);

// Returns rows and keys of a tile for super-blocks.
Constants superTiles(const Attention &a);

// Returns how many tokens of a block's list one program processes: half of the
// mean n * l' of a list, rounded down to a power of two, at least 64. There is
// less than one chunk of that many tokens for each block and half of its mean,
// so that no chunk is longer than 1.5 times their mean, for any indices.
int64_t chunkTokens(int64_t selected, int64_t selectionLength);

// dk and dv of a.k and a.v; `of` may have several lists for each key head,
// whose gradients are added in fp32 and in order. `whole`: a block's list is
// never cut, which takes no scratch memory; else this takes fp32 [Hkv, T * n /
// chunk + blocks, l', D + E] where a list can have more than a chunk: T * (n
// * l' / chunk + 1) * (D + E) numbers for each key head, and as much for a
// block of l' once more for each sequence. Where `parts` has several its sums
// are made, too, in the launch that adds up chunks.
std::tuple<at::Tensor, at::Tensor>
selectedDkDv(const Attention &a, const Selection &of,
             const InverseIndex &inverse, const RowGradient &rows, bool whole,
             const CompressedParts *parts = nullptr);

} // namespace tessera::runtime
