// trainer/parallel/StateShards.h - shards the optimizer's state over the
// processes of a run.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "trainer/optim/AdamW.h"
#include "trainer/parallel/DataParallel.h"

namespace tessera::trainer {

/// The part of the state that this process keeps: an equal one with
/// runtime.zero_stage=1, else all of it.
Shard shardOf(const Config &config, const DataParallel &parallel);

// All processes call each of these; one process, and those that keep all of the
// state, exchange nothing but what shareState() says.

/// After AdamW::step(): every process gets the weights that the others updated.
void shareWeights(AdamW &optimizer, DataParallel &parallel);

/// The whole state in the first process, undefined tensors in the others. A
/// copy, unless it is whole anyway. Undefined in the first one, too, where it
/// has no memory for the copy.
OptimizerState gatherState(const AdamW &optimizer, DataParallel &parallel);

/// Gives each process its part of the first one's state and all weights.
void shareState(const OptimizerState &whole, AdamW &optimizer,
                DataParallel &parallel);

} // namespace tessera::trainer
