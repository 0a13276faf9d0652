// models/SelectedLayer.cpp - a layer whose queries attend to blocks that a
// scorer selects.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "models/SelectedLayer.h"

#include "models/AttachLoss.h"
#include "models/RopeTable.h"
#include "models/SelectedRows.h"

#include <ATen/ATen.h>
#include <algorithm>
#include <cmath>

namespace tessera::models {

using runtime::Scorer;

namespace {

/// Queries that are processed at a time, to bound the memory of masks.
constexpr int64_t blockRows = 512;

} // namespace

SelectedLayer::SelectedLayer(const ModelConfig &config, CustomAttention given,
                             const runtime::PatternSelection &selection,
                             ParameterBuilder &build, const std::string &prefix)
    : LayerAttention(config), custom(std::move(given)), selection(selection),
      lists(selection.lists(config.heads, config.kvHeads)) {
  if (!custom.headLearned.empty())
    learned = build.constant(
        prefix + "attention.head_learned",
        {int64_t(custom.headLearnedNames().size()) * config.heads}, 0);
  if (selection.scorer != Scorer::Indexer)
    return;
  const int64_t heads = lists * selection.heads, width = selection.width;
  const auto make = [&](const char *name, int64_t rows) {
    return build.normal(prefix + "attention.index_" + name, {rows, config.dim},
                        spreadOf(config.dim));
  };
  indexQuery = make("q", heads * width);
  indexKey = make("k", width);
  indexWeight = make("weight", heads);
}

std::vector<at::Tensor> SelectedLayer::weights() const {
  return {learned, indexQuery, indexKey, indexWeight};
}

at::Tensor SelectedLayer::sink() const {
  const auto names = custom.headLearnedNames();
  return !names.empty() && names.front() == "SINK"
             ? learned.slice(0, 0, config.heads)
             : at::Tensor();
}

at::Tensor SelectedLayer::number() const {
  const auto names = custom.headLearnedNames();
  return !names.empty() && names.back() != "SINK"
             ? learned.slice(0, learned.size(0) - config.heads)
             : at::Tensor();
}

// Divides so that the scores of random inputs have about unit size.
at::Tensor SelectedLayer::indexWeights(const at::Tensor &projected) const {
  return projected.to(at::kFloat) /
         std::sqrt(double(selection.heads * selection.width));
}

void SelectedLayer::addIndex(Kernels &kernels, const at::Tensor &input,
                             const Packing &packing, PatternInputs &to) const {
  if (!indexQuery.defined())
    return;
  const int64_t heads = lists * selection.heads, width = selection.width;
  const at::Tensor x = input.detach();
  const at::Tensor all =
      at::cat({at::linear(x, indexQuery), at::linear(x, indexKey)}, 1)
          .view({-1, heads + 1, width});
  const at::Tensor turned = kernels.rope(all, packing, config.rope);
  to.indexQuery =
      turned.narrow(1, 0, heads).unflatten(1, {lists, selection.heads});
  to.indexKey = turned.select(1, heads);
  to.indexWeights = indexWeights(at::linear(x, indexWeight))
                        .unflatten(1, {lists, selection.heads});
}

at::Tensor SelectedLayer::forward(Kernels &kernels, const AttentionInputs &in,
                                  const Packing &packing,
                                  const ForwardOptions &options,
                                  ForwardResult &result) const {
  PatternInputs inputs;
  inputs.query = in.query;
  inputs.key = in.keys.size() > 1 ? at::cat(in.keys, 1) : in.keys[0];
  inputs.value = in.values.size() > 1 ? at::cat(in.values, 1) : in.values[0];
  if (learned.defined())
    inputs.learned = learned.to(at::kFloat).view({-1, config.heads});
  addIndex(kernels, in.input, packing, inputs);
  const PatternResult attended =
      kernels.patternAttention(inputs, custom, packing);
  if (attended.losses.numel() == 0)
    return attended.output;
  const at::Tensor loss = attended.losses.mean();
  if (options.statistics)
    options.statistics->addIndexLoss(loss);
  const at::Tensor factor = options.lossFactor.defined()
                                ? options.lossFactor
                                : at::ones({}, loss.options());
  return attachLoss(attended.output, loss, factor * config.indexLossWeight);
}

at::Tensor SelectedLayer::extend(Kernels &kernels, const ExtensionInputs &in,
                                 CacheLayer &cache, Reads &) const {
  for (size_t i = 0; i < in.keys.size(); ++i)
    appendToCache(cache, int(i), in.keys[i], in.values[i], in.first);
  const int64_t last = in.last(), sequences = in.query.size(0);
  at::Tensor queries, weights;
  if (indexQuery.defined()) {
    const at::Tensor x = in.input.view({sequences, last - in.first, -1});
    const auto rotatedHeads = [&](const at::Tensor &matrix) {
      const at::Tensor heads = at::linear(x, matrix)
                                   .to(at::kFloat)
                                   .unflatten(2, {-1, selection.width});
      return rotated(heads.transpose(1, 2), in.first, config.rope);
    };
    if (!cache.indexKeys.defined())
      cache.indexKeys =
          at::zeros({sequences, cache.keys[0].size(2), selection.width});
    cache.indexKeys.slice(1, in.first, last)
        .copy_(rotatedHeads(indexKey).squeeze(1));
    queries = rotatedHeads(indexQuery);
    weights = indexWeights(at::linear(x, indexWeight)).transpose(1, 2);
  }
  std::vector<at::Tensor> parts;
  for (int64_t from = in.first; from < last; from += blockRows) {
    const int64_t to = std::min(from + blockRows, last);
    const auto of = [&](const at::Tensor &t) {
      return t.defined() ? t.slice(2, from - in.first, to - in.first) : t;
    };
    SelectedRows rows{selection,
                      from,
                      to,
                      last,
                      of(in.query),
                      cache.keys[0],
                      cache.values[0],
                      cache.keys[1],
                      cache.values[1],
                      sink(),
                      of(queries),
                      cache.indexKeys,
                      of(weights)};
    if (selection.derived)
      rows.scoresOf = [&](const at::Tensor &products) {
        return kernels.patternScores(products, from, number(), custom);
      };
    parts.push_back(rows.attend());
  }
  return at::cat(parts, 2);
}

} // namespace tessera::models
