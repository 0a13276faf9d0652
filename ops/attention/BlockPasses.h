// ops/attention/BlockPasses.h - the forward pass and dq of selected blocks by
// programs that visit blocks with the tokens that selected them.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "ops/attention/SelectedKeys.h"

namespace tessera::runtime {

// Whether this is faster than a program for each token: on a CPU, where the
// heads of a list are few and so are the rows of a token's products.
bool visitsBlocks(const Attention &listed);

// Whether so small blocks are to be gathered in super-blocks, and the selection
// of super-blocks: at most 16 tokens each, in ascending order.
bool needsSuperBlocks(int64_t block);
Selection superBlocks(const Attention &listed, const Selection &of);

// As selectedForward() and the first half of selectedGradients(). The forward
// pass takes fp32 [lists, T, G, E] of memory, and dq [T, Hq, D] if it has
// another type than fp32.
void blocksForward(const Attention &a, const Selection &of, const Output &to);
void blocksDq(const Attention &a, const Selection &of,
              const InverseIndex &inverse, const RowGradient &rows,
              const QueryGradient &to);

} // namespace tessera::runtime
