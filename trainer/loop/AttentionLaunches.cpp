// trainer/loop/AttentionLaunches.cpp - what the attention of a pattern
// launches, without a model and without data.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "trainer/loop/AttentionLaunches.h"

#include "autotune/table/TuneTable.h"
#include "models/Kernels.h"
#include "runtime/launch/PatternFile.h"
#include "support/Error.h"
#include "trainer/loop/Determinism.h"
#include "trainer/optim/AdamW.h"
#include "trainer/settings/Config.h"

#include <ATen/ATen.h>
#include <algorithm>

namespace tessera::trainer {
namespace {

models::CustomAttention patternOf(const Config &config) {
  models::CustomAttention custom = config.model.attentionOf(0).custom;
  if (custom.pattern.empty())
    throw Error("the attention is not a pattern",
                "name a file of a pattern: attention=kernels/patterns/moba.py");
  return custom;
}

models::PatternInputs inputsOf(const Config &config,
                               const models::CustomAttention &custom,
                               int64_t tokens) {
  const models::ModelConfig &m = config.model;
  at::manual_seed(uint64_t(config.seed));
  const auto draw = [&](at::IntArrayRef shape) {
    return at::randn(shape).to(computeType(config.precision)).requires_grad_();
  };
  models::PatternInputs in;
  const auto selection =
      runtime::selectionOfPattern(custom.file, custom.constexprs);
  const int64_t streams = selection ? selection->pairs() : 1;
  in.query = draw({tokens, m.heads, m.keyDim});
  in.key = draw({tokens, streams * m.kvHeads, m.keyDim});
  in.value = draw({tokens, streams * m.kvHeads, m.valueDim});
  if (selection && selection->streams == runtime::Streams::Gated)
    in.gateLogits = draw({tokens, m.kvHeads, streams});
  const auto learned =
      int64_t(runtime::readPatternFile(custom.file)->learned.size());
  if (learned > 0)
    in.learned = at::zeros({learned, m.heads}).requires_grad_();
  if (!selection || selection->scorer != runtime::Scorer::Indexer)
    return in;
  const int64_t lists = selection->lists(m.heads, m.kvHeads);
  in.indexQuery = draw({tokens, lists, selection->heads, selection->width});
  in.indexKey = draw({tokens, selection->width});
  in.indexWeights =
      at::randn({tokens, lists, selection->heads}).requires_grad_();
  return in;
}

/// Runs the forward and backward pass of sequences of `length` tokens.
void attend(models::Kernels &kernels, const Config &config, int64_t length) {
  const models::CustomAttention custom = patternOf(config);
  const int64_t sequences = config.deviceBatchSize;
  const models::PatternResult result = kernels.patternAttention(
      inputsOf(config, custom, sequences * length), custom,
      models::Packing(sequences, length, config.model.nsa));
  at::Tensor loss = (result.output * at::randn_like(result.output)).sum();
  if (result.losses.numel() > 0)
    loss = loss + result.losses.sum();
  loss.backward();
}

} // namespace

std::vector<std::string> listAttention(const Config &config) {
  const auto kernels = models::makeKernels(config.kernels);
  return kernels->listLaunches(
      [&] { attend(*kernels, config, config.sequenceLength); },
      /*prepare=*/false);
}

void runAttention(const Config &config) {
  useThreads(config);
  attend(
      *models::makeKernels(config.kernels), config,
      std::max(config.sequenceLength, tune::bucketOf(config.sequenceLength)));
}

} // namespace tessera::trainer
