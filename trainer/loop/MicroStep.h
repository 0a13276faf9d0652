// trainer/loop/MicroStep.h - loss and gradient of a micro-batch, launch by
// launch or as a CUDA graph.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "models/Forward.h"
#include "ops/launch/CudaPlugin.h"
#include "trainer/data/Batches.h"
#include "trainer/loop/StageClock.h"
#include "trainer/optim/AdamW.h"
#include "trainer/settings/Config.h"

#include <c10/core/Device.h>
#include <memory>

namespace tessera::trainer {

/// What a forward pass takes of the batch besides its inputs.
models::ForwardOptions optionsOf(const Batch &batch);

/// Loss of one micro-batch in nats per token, [] on the model's device, which
/// nothing waits for. Its gradient, times `factor` (the
/// loss scale times the micro-batch's part of a step), is added to the
/// parameters'. `statistics` gets those of its gates and selections.
at::Tensor backward(models::Transformer &model, const Batch &batch,
                    double factor, StageClock *clock = nullptr,
                    models::Statistics *statistics = nullptr);

/// Throws tessera::Error where runtime.cuda_graph is set and the run has no
/// GPU, micro-batches of unlike shapes, or no library that captures.
void requireGraphs(const Config &config, c10::Device device);

/// backward() and AdamW::gather(). With runtime.cuda_graph their launches are
/// captured once and replayed from then on: the same kernels on the same
/// memory, and so the same bits.
class MicroStep {
public:
  MicroStep(const Config &config, models::Transformer &model, AdamW &optimizer)
      : config(config), model(model), optimizer(optimizer) {}

  /// As backward(). `replays`: a graph may do it, which fills no statistics and
  /// tells no caller when a gradient is ready. All kernels have been loaded by
  /// then; a missing one is a tessera::Error that names it. The time of a
  /// replay is Stage::Backward.
  at::Tensor run(const Batch &batch, double factor, bool replays,
                 StageClock &clock, models::Statistics *statistics);

private:
  void capture();

  const Config &config;
  models::Transformer &model;
  AdamW &optimizer;
  std::unique_ptr<runtime::CudaPlugin::Graph> graph; ///< Null: none yet.
  Batch input;                                       ///< What the graph reads.
  at::Tensor factor, loss; ///< fp32 []: what it reads, and what it leaves.
};

} // namespace tessera::trainer
