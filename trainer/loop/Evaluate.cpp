// trainer/loop/Evaluate.cpp - scores held-out windows without gradients.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "trainer/loop/Evaluate.h"

#include "models/Loss.h"
#include "trainer/loop/MicroStep.h"
#include "trainer/settings/Config.h"

#include <ATen/ATen.h>
#include <algorithm>
#include <chrono>
#include <limits>
#include <numbers>
#include <numeric>
#include <utility>

namespace tessera::trainer {
namespace {

constexpr int64_t together = 8; ///< Windows of a forward pass, at most.

int64_t windowsOf(const Corpus &corpus, const Config &config, int64_t asked) {
  const int64_t all = heldOutWindows(corpus, config);
  return asked <= 0 ? all : std::min(asked, all);
}

/// Returns the cu_seqlens of a batch: the start of each sequence, then the
/// number of tokens.
std::vector<int32_t> startsOf(const Batch &batch) {
  if (!batch.starts.empty())
    return batch.starts;
  std::vector<int32_t> starts;
  for (int64_t row = 0; row <= batch.inputs.size(0); ++row)
    starts.push_back(int32_t(row * batch.inputs.size(1)));
  return starts;
}

/// Returns the position of every token in its sequence, int64 [B * S].
at::Tensor positionsOf(const Batch &batch) {
  const std::vector<int32_t> starts = startsOf(batch);
  at::Tensor places = at::empty({batch.inputs.numel()}, at::kLong);
  for (size_t i = 1; i < starts.size(); ++i) {
    int64_t *begin = places.data_ptr<int64_t>() + starts[i - 1];
    std::iota(begin, begin + (starts[i] - starts[i - 1]), int64_t(0));
  }
  return places.to(batch.inputs.device());
}

/// Computes the fraction of visible keys in the selected blocks of a sequence's
/// last query, averaged over layers and groups. Returns the sum over sequences
/// and the number of sequences.
std::pair<double, int64_t>
lastSelectedFractions(const std::vector<at::Tensor> &layers, const Batch &batch,
                      int64_t blockLength) {
  std::vector<int64_t> lasts, lengths;
  const std::vector<int32_t> starts = startsOf(batch);
  const at::Tensor targets = batch.targets.flatten().cpu();
  for (size_t i = 1; i < starts.size(); ++i)
    // Skips padding, which has no targets.
    if (targets.slice(0, starts[i - 1], starts[i])
            .ne(noTarget)
            .any()
            .item<bool>()) {
      lasts.push_back(starts[i] - 1);
      lengths.push_back(starts[i] - starts[i - 1]);
    }
  const at::Device device = batch.inputs.device();
  const at::Tensor length = at::tensor(lengths).to(device).unsqueeze(-1);
  double sum = 0;
  int64_t count = 0;
  for (const at::Tensor &indices : layers) {
    if (!indices.defined() || lasts.empty())
      continue;
    const at::Tensor last =
        indices.index_select(1, at::tensor(lasts).to(device)); // [Hkv, B, n]
    const at::Tensor end =
        at::minimum((last + 1) * blockLength, length.to(last.scalar_type()));
    const at::Tensor tokens = (end - last * blockLength) * (last >= 0);
    sum += (tokens.sum(-1, true).to(at::kDouble) / length)
               .mean(0)
               .sum()
               .item<double>();
    ++count;
  }
  return {count ? sum / double(count) : 0, count ? int64_t(lasts.size()) : 0};
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
  at::Tensor counts = at::zeros_like(sums);
  double selected = 0;
  int64_t sequences = 0;
  Evaluation result;
  result.windows = total;
  const bool indices = model.config().has(models::AttentionKind::Nsa);
  for (int64_t first = 0; first < total; first += together) {
    const int64_t count = std::min(together, total - first);
    const Batch batch =
        heldOutBatch(corpus, config, first, count, total, model.device());
    models::ForwardOptions options = optionsOf(batch);
    options.without = without;
    options.wantIndices = indices;
    const models::ForwardResult out = model.forward(batch.inputs, options);
    const at::Tensor losses =
        models::tokenLosses(out, batch.targets).to(at::kDouble);
    const at::Tensor places = positionsOf(batch);
    sums.index_add_(0, places, losses);
    counts.index_add_(0, places,
                      (batch.targets.flatten() != noTarget).to(at::kDouble));
    if (indices) {
      const auto [sum, number] = lastSelectedFractions(
          out.indices, batch, config.model.nsa.selectionLength);
      selected += sum;
      sequences += number;
    }
  }
  if (sequences > 0)
    result.selectedFraction = selected / double(sequences);
  const LossUnit unit = lossUnit(corpus);
  const auto mean = [&](int64_t from, int64_t to) {
    to = std::min(to, length);
    constexpr double none = std::numeric_limits<double>::quiet_NaN();
    if (from >= to)
      return none;
    const double seen = counts.slice(0, from, to).sum().item<double>();
    const double nats = sums.slice(0, from, to).sum().item<double>();
    return seen > 0 ? unit.perToken * nats / (seen * std::numbers::ln2) : none;
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
  if (config.sampleEvery > 0)
    sizes.insert(1);
  return sizes;
}

} // namespace tessera::trainer
