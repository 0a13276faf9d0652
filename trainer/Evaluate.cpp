// trainer/Evaluate.cpp - scores held-out windows without gradients.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "trainer/Evaluate.h"

#include "trainer/Config.h"

#include <ATen/ATen.h>
#include <algorithm>
#include <chrono>
#include <numbers>

namespace tessera::trainer {
namespace {

constexpr int64_t together = 8; ///< Windows of a forward pass, at most.

int64_t windowsOf(const Corpus &corpus, const Config &config, int64_t asked) {
  const int64_t all = heldOutWindows(corpus, config);
  return asked <= 0 ? all : std::min(asked, all);
}

/// Keys inside the selected blocks of the last query, over keys it may see,
/// averaged over layers, groups and sequences.
double lastSelectedFraction(const std::vector<at::Tensor> &layers,
                            int64_t sequences, int64_t length,
                            int64_t blockLength) {
  double sum = 0;
  int64_t count = 0;
  for (const at::Tensor &indices : layers) {
    if (!indices.defined())
      continue;
    const at::Tensor last =
        indices.unflatten(1, {sequences, length}).select(2, length - 1);
    const at::Tensor kept = last >= 0;
    const at::Tensor end = at::clamp_max((last + 1) * blockLength, length);
    const at::Tensor tokens = (end - last * blockLength) * kept;
    sum +=
        tokens.sum(-1).to(at::kDouble).mean().item<double>() / double(length);
    ++count;
  }
  return count ? sum / double(count) : 0;
}

} // namespace

Evaluation evaluate(models::Transformer &model, const Corpus &corpus,
                    const Config &config, int64_t windows, int without) {
  const auto start = std::chrono::steady_clock::now();
  const at::NoGradGuard noGrad;
  const int64_t total = windowsOf(corpus, config, windows);
  const int64_t length = config.sequenceLength;
  at::Tensor sums = at::zeros(
      {length}, at::TensorOptions(at::kDouble).device(model.device()));
  Evaluation result;
  result.windows = total;
  models::ForwardOptions options;
  options.without = without;
  for (int64_t first = 0; first < total; first += together) {
    const int64_t count = std::min(together, total - first);
    const Batch batch =
        heldOutBatch(corpus, config, first, count, total, model.device());
    options.wantIndices =
        model.config().attention == models::AttentionKind::Nsa;
    const models::ForwardResult out = model.forward(batch.inputs, options);
    const at::Tensor losses =
        at::cross_entropy_loss(out.logits.flatten(0, 1).to(at::kFloat),
                               batch.targets.flatten(), {}, at::Reduction::None)
            .view({count, length});
    sums += losses.to(at::kDouble).sum(0);
    if (options.wantIndices)
      result.selectedFraction +=
          lastSelectedFraction(out.indices, count, length,
                               config.model.nsa.selectionLength) *
          double(count) / double(total);
  }
  const at::Tensor bits = sums / (double(total) * std::numbers::ln2);
  const LossUnit unit = lossUnit(corpus);
  const auto mean = [&](int64_t from, int64_t to) {
    to = std::min(to, length);
    return from < to
               ? unit.perToken * bits.slice(0, from, to).mean().item<double>()
               : 0.0;
  };
  result.bits = mean(0, length);
  result.early = mean(0, 32);
  result.middle = mean(32, 256);
  result.late = mean(256, length);
  result.seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - start)
          .count();
  return result;
}

std::set<int64_t> evaluationBatches(const Corpus &corpus,
                                    const Config &config) {
  std::set<int64_t> sizes;
  const auto add = [&](int64_t asked) {
    const int64_t total = windowsOf(corpus, config, asked);
    if (total >= together)
      sizes.insert(together);
    if (total % together)
      sizes.insert(total % together);
  };
  add(config.finalWindows);
  if (config.evaluateEvery > 0)
    add(config.evaluateWindows);
  return sizes;
}

} // namespace tessera::trainer
