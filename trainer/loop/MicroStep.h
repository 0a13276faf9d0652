// trainer/loop/MicroStep.h - computes loss and gradient of a micro-batch,
// eagerly or as a CUDA graph.
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

/// Returns the options of a forward pass that the batch determines.
models::ForwardOptions optionsOf(const Batch &batch);

/// Runs the forward and backward pass of one micro-batch. Returns the loss in
/// nats per token, [] on the model's device, without a synchronization. Adds
/// the gradient times `factor` (the loss scale times the micro-batch's share of
/// a step) to the parameters' gradients. Adds to `statistics` unless null.
at::Tensor backward(models::Transformer &model, const Batch &batch,
                    double factor, StageClock *clock = nullptr,
                    models::Statistics *statistics = nullptr);

/// Throws tessera::Error if runtime.cuda_graph is set but the run has no GPU,
/// has micro-batches of different shapes (packed rows or schedules), or lacks
/// the CUDA plug-in.
void requireGraphs(const Config &config, c10::Device device);

/// Runs backward() and AdamW::gather(). With runtime.cuda_graph it captures
/// their launches once and then replays them: the same kernels on the same
/// memory, hence bitwise the same results.
class MicroStep {
public:
  MicroStep(const Config &config, models::Transformer &model, AdamW &optimizer)
      : config(config), model(model), optimizer(optimizer) {}

  /// Does what backward() does. `replays` allows a graph, which does not fill
  /// `statistics` and does not run gradient hooks. The graph requires that all
  /// kernels are loaded; otherwise throws tessera::Error with the kernel's
  /// name. A replay's time counts as Stage::Backward.
  at::Tensor run(const Batch &batch, double factor, bool replays,
                 StageClock &clock, models::Statistics *statistics);

private:
  void capture();

  const Config &config;
  models::Transformer &model;
  AdamW &optimizer;
  std::unique_ptr<runtime::CudaPlugin::Graph> graph; ///< Null until capture.
  Batch input;                                       ///< Input of the graph.
  at::Tensor factor, loss; ///< fp32 []: input and output of the graph.
};

} // namespace tessera::trainer
