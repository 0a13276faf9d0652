// trainer/loop/KernelList.cpp - runs a small model to record its launches.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "trainer/loop/KernelList.h"

#include "autotune/table/TuneTable.h"
#include "models/Transformer.h"
#include "support/Options.h"
#include "trainer/generate/HellaSwag.h"
#include "trainer/loop/Determinism.h"
#include "trainer/loop/Evaluate.h"
#include "trainer/loop/Run.h"
#include "trainer/loop/Start.h"
#include "trainer/observe/SdpaComparison.h"
#include "trainer/settings/Config.h"
#include "trainer/settings/Phases.h"
#include "trainer/settings/Plan.h"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <algorithm>
#include <numeric>

namespace tessera::trainer {

models::ModelConfig kernelsOnly(models::ModelConfig model) {
  // One layer of each kind.
  const int64_t kinds = std::max<int64_t>(1, int64_t(model.kinds.size()));
  const int64_t tables = model.valueTables(), layers = model.layers;
  model.layers = std::min(layers, kinds);
  // Value embeddings change the strides of values.
  model.valueEmbeddings = {tables == layers ? model.layers : 0, {}};
  if (tables > 0 && tables < layers) {
    for (int64_t layer = 0; layer < kinds; ++layer)
      model.valueEmbeddings.listed.push_back(layer);
    model.layers = 2 * kinds;
  }
  model.bigramEmbeddings = std::min<int64_t>(model.bigramEmbeddings, 64);
  // The full vocabulary decides whether the loss is fused.
  model.fusedLoss =
      models::fusesLoss(model) ? models::FusedLoss::On : models::FusedLoss::Off;
  model.vocabulary = std::min<int64_t>(model.vocabulary, 64);
  model.mlpDim = std::min<int64_t>(model.mlpDim, 64);
  return model;
}

namespace {

/// Returns the cu_seqlens of `count` sequences of one token each.
std::vector<int32_t> tokenByToken(int64_t count) {
  std::vector<int32_t> starts(size_t(count) + 1);
  std::iota(starts.begin(), starts.end(), 0);
  return starts;
}

} // namespace

std::vector<std::string> listKernels(const Corpus &corpus, const Config &config,
                                     bool prepare, at::Device device) {
  const models::ModelConfig small = kernelsOnly(modelOf(config));
  models::Transformer model(small, config.kernels, uint64_t(config.seed),
                            device);
  // The optimizer converts the weights to the type that the run computes in.
  const AdamW optimizer(model.parameters(), config);
  const auto tokensOf = [&](int64_t sequences, int64_t length) {
    return at::zeros({sequences, length},
                     at::TensorOptions(at::kLong).device(device));
  };
  const auto tokens = [&](int64_t sequences) {
    return tokensOf(sequences, config.sequenceLength);
  };
  const auto valuesOf = [&](int64_t sequences) {
    return promptValues(readSequenceSources(config.perSequence), sequences, 0,
                        device);
  };
  const auto choiceShapes = choicesOf(config).shapes();
  const auto evaluation = [&](int64_t windows, int without) {
    const at::NoGradGuard noGrad;
    models::ForwardOptions options;
    options.without = without;
    options.wantIndices = small.has(models::AttentionKind::Nsa);
    options.targets = tokens(windows);
    options.perSequence = valuesOf(windows);
    model.forward(options.targets, options);
  };
  return model.kernels().listLaunches(
      [&] {
        for (const Phase &phase : phasesOf(config)) {
          const at::Tensor some =
              tokensOf(phase.batch / config.processes, phase.length);
          backward(model, {some, some, {}, 0, valuesOf(some.size(0))},
                   1.0 / double(config.accumulate));
          // Packed rows contain several documents; kernels depend on the
          // number.
          if (config.dataPacking == DataPacking::BestFit)
            backward(model,
                     {some, some, tokenByToken(some.numel()), 0,
                      valuesOf(some.numel())},
                     1.0 / double(config.accumulate));
        }
        for (const int64_t windows : evaluationBatches(corpus, config)) {
          evaluation(windows, -1);
          if (small.has(models::AttentionKind::Nsa))
            for (int branch = 0; branch < 3; ++branch)
              evaluation(windows, branch);
        }
        const at::NoGradGuard noGrad;
        for (const auto &[sequences, length] : choiceShapes) {
          models::ForwardOptions options;
          options.perSequence = valuesOf(sequences);
          model.forward(tokensOf(sequences, length), options);
        }
      },
      prepare);
}

std::vector<std::string> listKernels(const Config &given) {
  computeDeterministically(given);
  const Corpus corpus = loadCorpus(given);
  std::vector<std::string> all =
      listKernels(corpus, withVocabulary(given, corpus), /*prepare=*/false);
  // A run on a GPU has no panel.
  if (given.panel && optionText(Option::Device) == "cpu") {
    const auto kernels = models::makeKernels(given.kernels);
    for (std::string &request : listPanel(*kernels, /*prepare=*/false))
      if (std::find(all.begin(), all.end(), request) == all.end())
        all.push_back(std::move(request));
  }
  return all;
}

/// Runs a micro-batch of the config's sizes, without schedules.
static void runMicroBatchOf(const Config &config, const Corpus &corpus,
                            models::Transformer &model) {
  const int64_t length =
      std::max(config.sequenceLength, tune::bucketOf(config.sequenceLength));
  // Uses the run's text, which repeats if it is too short.
  const int64_t count = config.deviceBatchSize * length;
  const int64_t size = corpus.training.size();
  std::vector<int64_t> text(size_t(std::min(size, count + 1)));
  corpus.training.read(0, int64_t(text.size()), text.data());
  TokenBatch tokens;
  for (size_t i = 0; i <= size_t(count); ++i) {
    const int64_t token = text[i % text.size()] % model.config().vocabulary;
    if (i < size_t(count))
      tokens.inputs.push_back(token);
    if (i > 0)
      tokens.targets.push_back(token);
  }
  std::vector<int64_t> numbers(size_t(config.deviceBatchSize));
  std::iota(numbers.begin(), numbers.end(), int64_t(0));
  SequenceValues(config).addTo(tokens, numbers);
  backward(model, toBatch(tokens, length), 1.0 / double(config.accumulate));
}

void runMicroBatch(const Config &given) {
  useThreads(given);
  const Corpus corpus = loadCorpus(given);
  const Config config = withVocabulary(given, corpus);
  models::Transformer model(kernelsOnly(modelOf(config)), config.kernels,
                            uint64_t(config.seed), at::kCPU);
  const AdamW optimizer(model.parameters(), config);
  for (const Phase &phase : phasesOf(config))
    runMicroBatchOf(withSizes(config, phase), corpus, model);
}

} // namespace tessera::trainer
