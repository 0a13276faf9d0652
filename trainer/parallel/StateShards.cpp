// trainer/parallel/StateShards.cpp - gathers and scatters the optimizer's
// state.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "trainer/parallel/StateShards.h"

#include "trainer/settings/Config.h"

#include <ATen/ATen.h>

namespace tessera::trainer {

Shard shardOf(const Config &config, const DataParallel &parallel) {
  if (config.zeroStage == 0)
    return {};
  return {parallel.rank(), parallel.size()};
}

void shareWeights(AdamW &optimizer, DataParallel &parallel) {
  if (optimizer.shard().count > 1)
    parallel.allGather(optimizer.values());
}

OptimizerState gatherState(const AdamW &optimizer, DataParallel &parallel) {
  const OptimizerState own = optimizer.own();
  if (optimizer.shard().count == 1)
    return parallel.first() ? own : OptimizerState();
  OptimizerState whole;
  bool room = true;
  if (parallel.first()) {
    try {
      const auto all = [&](const at::Tensor &part) {
        return at::zeros({part.size(0) * parallel.size()}, part.options());
      };
      whole = {all(own.weight), all(own.first), all(own.second), own.count,
               own.rows};
    } catch (const std::exception &) { // c10::Error or std::bad_alloc
      whole = {};
      room = false;
    }
  }
  if (parallel.fromFirst(room ? "room" : "none") != "room")
    return {};
  parallel.gather(own.weight, whole.weight);
  parallel.gather(own.first, whole.first);
  parallel.gather(own.second, whole.second);
  return whole;
}

void shareState(const OptimizerState &whole, AdamW &optimizer,
                DataParallel &parallel) {
  OptimizerState own = optimizer.own();
  const bool sharded = optimizer.shard().count > 1;
  const auto share = [&](const at::Tensor &from, at::Tensor &to) {
    if (sharded)
      parallel.scatter(from, to);
    else
      parallel.fromFirst(to);
  };
  share(whole.weight, own.weight);
  share(whole.first, own.first);
  share(whole.second, own.second);
  parallel.fromFirst(own.count);
  // Muon's state has no shards (validateOptimizer() in Config.cpp).
  if (own.rows.numel() > 0)
    parallel.fromFirst(own.rows);
  optimizer.refresh();
  shareWeights(optimizer, parallel);
}

} // namespace tessera::trainer
