// ops/attention/BlockPasses.h - the forward pass and dq of selected blocks by
// programs that visit blocks with the tokens that selected them.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "ops/attention/SelectedKeys.h"

namespace tessera::runtime {

// True if this is faster than a program per token: on a CPU, if a list has few
// heads and a token's products few rows.
bool visitsBlocks(const Attention &listed);

// needsSuperBlocks() is true if blocks of this size should be grouped.
// superBlocks() returns the selection of super-blocks of at most 16 tokens, in
// ascending order.
bool needsSuperBlocks(int64_t block);
Selection superBlocks(const Attention &listed, const Selection &of);

// Like selectedForward() and the dq half of selectedGradients(). The forward
// pass needs fp32 [lists, T, G, E] of scratch memory, and dq needs [T, Hq, D]
// unless its type is fp32.
void blocksForward(const Attention &a, const Selection &of, const Output &to);
void blocksDq(const Attention &a, const Selection &of,
              const InverseIndex &inverse, const RowGradient &rows,
              const QueryGradient &to);

} // namespace tessera::runtime
