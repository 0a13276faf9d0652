// trainer/loop/MicroStep.cpp - forward and backward pass of a micro-batch.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "trainer/loop/MicroStep.h"

#include "models/Loss.h"
#include "support/Error.h"
#include "trainer/settings/Phases.h"

#include <ATen/ATen.h>

namespace tessera::trainer {

models::ForwardOptions optionsOf(const Batch &batch) {
  models::ForwardOptions options;
  options.starts = batch.starts;
  options.targets = batch.targets;
  options.perSequence = batch.perSequence;
  return options;
}

namespace {

at::Tensor lossOf(models::Transformer &model, const Batch &batch,
                  const at::Tensor &factor, models::Statistics *statistics) {
  models::ForwardOptions options = optionsOf(batch);
  options.lossFactor = factor;
  options.statistics = statistics;
  return models::meanLoss(model.forward(batch.inputs, options), batch.targets);
}

} // namespace

at::Tensor backward(models::Transformer &model, const Batch &batch,
                    double factor, StageClock *clock,
                    models::Statistics *statistics) {
  const auto enter = [&](Stage stage) {
    if (clock)
      clock->enter(stage);
  };
  enter(Stage::Forward);
  const at::Tensor loss =
      lossOf(model, batch,
             at::full({}, factor,
                      at::TensorOptions(at::kFloat).device(model.device())),
             statistics);
  enter(Stage::Backward);
  (loss * factor).backward();
  return loss.detach();
}

void requireGraphs(const Config &config, c10::Device device) {
  if (!config.cudaGraph)
    return;
  constexpr const char *hint = ", or runtime.cuda_graph=false";
  if (!device.is_cuda())
    throw Error("runtime.cuda_graph is true, but the run computes on the CPU",
                std::string("set runtime.device=cuda") + hint);
  if (config.dataPacking != DataPacking::Joined)
    throw Error("runtime.cuda_graph replays launches of one shape, and with "
                "data.packing=best_fit each micro-batch has its own",
                std::string("set data.packing=joined") + hint);
  if (hasSchedule(config))
    throw Error("runtime.cuda_graph replays launches of one shape, and "
                "train.batch_schedule or train.length_schedule changes it",
                std::string("leave the schedules away") + hint);
  runtime::requireCudaPlugin("runtime.cuda_graph");
}

void MicroStep::capture() {
  auto made = runtime::requireCudaPlugin("runtime.cuda_graph")
                  .graph(model.device().index());
  made->capture([&] {
    const at::Tensor left = lossOf(model, input, factor, nullptr);
    (left * factor).backward();
    optimizer.gather();
    loss = left.detach();
  });
  graph = std::move(made);
}

at::Tensor MicroStep::run(const Batch &batch, double scale, bool replays,
                          StageClock &clock, models::Statistics *statistics) {
  if (!config.cudaGraph || !replays) {
    const at::Tensor found = backward(model, batch, scale, &clock, statistics);
    clock.enter(Stage::Update);
    optimizer.gather();
    return found;
  }
  clock.enter(Stage::Backward);
  const at::NoGradGuard noGrad;
  if (!graph) {
    input = {batch.inputs.clone(), batch.targets.clone()};
    if (batch.perSequence.defined())
      input.perSequence = batch.perSequence.clone();
    factor = at::full({}, scale,
                      at::TensorOptions(at::kFloat).device(model.device()));
    const at::AutoGradMode grad(true);
    capture();
  }
  input.inputs.copy_(batch.inputs);
  input.targets.copy_(batch.targets);
  if (batch.perSequence.defined())
    input.perSequence.copy_(batch.perSequence);
  factor.fill_(scale);
  graph->replay();
  return loss.clone(); // the next replay overwrites `loss`
}

} // namespace tessera::trainer
