// trainer/parallel/StateShards.h - shards the optimizer's state over the
// processes of a run; checkpoints gather it in process 0.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "trainer/optim/AdamW.h"
#include "trainer/parallel/DataParallel.h"

namespace tessera::trainer {

/// Returns the shard of the optimizer's state that this process keeps: one of
/// parallel.size() equal shards with runtime.zero_stage=1, else all of it.
Shard shardOf(const Config &config, const DataParallel &parallel);

// All processes must call each of these. Without shards, only shareState()
// communicates.

/// Gathers the weights that the other processes have updated. Call it after
/// AdamW::step().
void shareWeights(AdamW &optimizer, DataParallel &parallel);

/// Returns the complete state in process 0 and undefined tensors in the others.
/// The tensors are copies if the state is sharded, else the optimizer's own.
/// Process 0 also returns undefined tensors if memory for the copies is short.
OptimizerState gatherState(const AdamW &optimizer, DataParallel &parallel);

/// Sends each process its shard of process 0's `whole`, then all weights to
/// all. Without shards, broadcasts own() of process 0 and does not read
/// `whole`, which gatherState() returns as the same tensors.
void shareState(const OptimizerState &whole, AdamW &optimizer,
                DataParallel &parallel);

} // namespace tessera::trainer
