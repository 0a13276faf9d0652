// tools/bench/Passes.cpp - tessera bench fwd, bwd, decode and step.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "models/Cache.h"
#include "models/Transformer.h"
#include "support/Error.h"
#include "tools/bench/Attention.h"
#include "tools/bench/Options.h"
#include "tools/bench/Work.h"
#include "trainer/loop/Run.h"
#include "trainer/loop/Start.h"
#include "trainer/optim/AdamW.h"

#include <ATen/ATen.h>
#include <memory>
#include <numeric>
#include <torch/csrc/autograd/autograd.h>

namespace tessera::bench {

namespace {

using at::Tensor;

uint64_t totalOf(const std::vector<int64_t> &lengths, int64_t rounds) {
  return uint64_t(rounds + 1) *
         std::accumulate(lengths.begin(), lengths.end(), uint64_t(0));
}

// Runs a pass at each length.
int overLengths(
    Run &run, const std::string &what, const std::vector<int64_t> &lengths,
    int64_t rounds,
    const std::function<void(Result &, int64_t, uint64_t &, uint64_t)> &body) {
  Result result(run.head(what), run.options().out, run.counted(), run.unit());
  uint64_t done = 0;
  for (const int64_t tokens : lengths)
    if (!run.interrupted())
      body(result, tokens, done, totalOf(lengths, rounds));
  return result.finish(run.interrupted());
}

// One model with weights of the run's precision.
struct Model {
  Model(const Run &run, const models::ModelConfig &sizes)
      : weights(sizes, models::KernelSource::Tessera,
                uint64_t(run.config().seed), run.tensors()),
        optimizer(weights.parameters(), run.config()) {}

  // Returns the operations of its matrices for each token in a forward pass.
  double flopPerToken() const {
    return 2 * double(weights.parameterCount() -
                      weights.config().vocabulary * weights.config().dim);
  }

  models::Transformer weights;
  trainer::AdamW optimizer;
};

Tensor tokensOf(const Run &run, int64_t sequences, int64_t length) {
  return at::zeros({sequences, length},
                   at::TensorOptions(at::kLong).device(run.tensors()));
}

} // namespace

int benchForward(Run &run) {
  const int64_t rounds = run.rounds(9);
  return overLengths(
      run, "attention forward, one sequence, one layer",
      run.lengths(run.counts() ? std::vector<int64_t>{256, 512}
                               : std::vector<int64_t>{512, 1024, 2048, 4096}),
      rounds,
      [&](Result &result, int64_t tokens, uint64_t &done, uint64_t total) {
        const at::NoGradGuard noGrad;
        const models::ModelConfig &model = run.config().model;
        const Attention layer(model, tokens, run.tensors(), run.precision(),
                              false);
        measure(run, result,
                {{"tessera NSA", [&] { layer.nsa(); },
                  nsaFlop(model, tokens, false)},
                 {"tessera dense", [&] { layer.dense(); },
                  denseFlop(model, tokens, false)},
                 {"torch SDPA", [&] { layer.sdpa(); },
                  denseFlop(model, tokens, false), Json::object(), false}},
                tokens, rounds, done, total);
      });
}

int benchBackward(Run &run) {
  const int64_t rounds = run.rounds(9);
  return overLengths(
      run, "attention backward, one sequence, one layer",
      run.lengths(run.counts() ? std::vector<int64_t>{256, 512}
                               : std::vector<int64_t>{512, 1024, 2048, 4096}),
      rounds,
      [&](Result &result, int64_t tokens, uint64_t &done, uint64_t total) {
        const models::ModelConfig &model = run.config().model;
        const Attention layer(model, tokens, run.tensors(), run.precision(),
                              true);
        // The first call creates the forward graph outside of the timed rounds.
        const auto gradient = [](std::function<Tensor()> forward,
                                 std::vector<Tensor> leaves) {
          const auto output = std::make_shared<Tensor>();
          return [=] {
            if (!output->defined())
              *output = forward();
            torch::autograd::grad({*output}, leaves, {at::ones_like(*output)},
                                  /*retain_graph=*/true);
          };
        };
        Tensor nsa = layer.nsa(), dense = layer.dense();
        const std::vector<Variant> variants = {
            {"tessera NSA", gradient([nsa] { return nsa; }, layer.nsaLeaves()),
             nsaFlop(model, tokens, true)},
            {"tessera dense",
             gradient([dense] { return dense; }, layer.denseLeaves()),
             denseFlop(model, tokens, true)},
            {"torch SDPA",
             gradient([&] { return layer.sdpa(); }, layer.denseLeaves()),
             denseFlop(model, tokens, true), Json::object(), false}};
        measure(run, result, variants, tokens, rounds, done, total);
      });
}

int benchDecode(Run &run) {
  const models::ModelConfig &sizes = run.config().model;
  if (run.device().kind == BenchDevice::Kind::Cuda)
    throw Error("bench decode does not run on a GPU: decoding computes on the "
                "CPU, as tessera generate does",
                "use --device cpu, or --device sim:sm_80 for counters");
  if (!models::hasCache(sizes))
    throw Error(
        "bench decode needs a cache of keys and values, which attention "
        "from a kernel file does not have",
        "use attention nsa or dense");
  const int64_t rounds = run.rounds(9);
  return overLengths(
      run,
      "one decoded token of one sequence: a forward pass over one token, with "
      "keys and values of the earlier tokens in a cache",
      run.lengths(run.counts() ? std::vector<int64_t>{256}
                               : std::vector<int64_t>{128, 512, 2048}),
      rounds,
      [&](Result &result, int64_t tokens, uint64_t &done, uint64_t total) {
        const at::NoGradGuard noGrad;
        Model model(run, sizes);
        // Each call appends one token: the first call and `rounds` timed ones.
        models::Cache cache(sizes, 1, tokens + rounds + 1);
        model.weights.extend(tokensOf(run, 1, tokens), cache);
        const Tensor next = tokensOf(run, 1, 1);
        measure(run, result,
                {{"one token",
                  [&] { model.weights.extend(next, cache); },
                  model.flopPerToken(),
                  {{"layers", sizes.layers},
                   {"parameters", model.weights.parameterCount()}}}},
                tokens, rounds, done, total);
      });
}

int benchStep(Run &run) {
  const int64_t rounds = run.rounds(9);
  trainer::Config config = run.config();
  if (run.counts()) // layers do the same
    config.model.layers = 1;
  const int64_t sequences = config.deviceBatchSize;
  return overLengths(
      run, "one optimizer step: forward, backward, AdamW",
      run.lengths({config.sequenceLength}), rounds,
      [&](Result &result, int64_t tokens, uint64_t &done, uint64_t total) {
        Model model(run, config.model);
        const Tensor text = tokensOf(run, sequences, tokens);
        const auto step = [&] {
          for (int64_t i = 0; i < config.accumulate; ++i) {
            trainer::backward(model.weights, {text, text}, config.accumulate);
            model.optimizer.gather();
          }
          model.optimizer.clip();
          model.optimizer.step(config.learningRate);
          model.optimizer.zeroGradients();
        };
        const double all =
            double(sequences * config.accumulate) * double(tokens);
        measure(run, result,
                {{"step",
                  step,
                  3 * model.flopPerToken() * all,
                  {{"layers", config.model.layers},
                   {"parameters", model.weights.parameterCount()},
                   {"tokens_per_step", all}}}},
                tokens, rounds, done, total);
      });
}

} // namespace tessera::bench
