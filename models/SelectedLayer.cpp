// models/SelectedLayer.cpp - a layer whose queries attend to blocks that a
// scorer selects.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "models/SelectedLayer.h"

#include "models/AttachLoss.h"
#include "support/Error.h"

#include <ATen/ATen.h>
#include <cmath>

namespace tessera::models {

using runtime::ListScope;
using runtime::Scorer;

SelectedLayer::SelectedLayer(const ModelConfig &config, CustomAttention given,
                             const runtime::PatternSelection &selection,
                             ParameterBuilder &build, const std::string &prefix)
    : LayerAttention(config), custom(std::move(given)), selection(selection),
      lists(selection.scope == ListScope::All       ? 1
            : selection.scope == ListScope::KeyHead ? config.kvHeads
                                                    : config.heads) {
  if (!custom.headLearned.empty())
    sink = build.constant(prefix + "attention.head_learned", {config.heads}, 0);
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
  return {sink, indexQuery, indexKey, indexWeight};
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
  // The scale keeps scores of random inputs near one.
  to.indexWeights = at::linear(x, indexWeight)
                        .to(at::kFloat)
                        .unflatten(1, {lists, selection.heads}) /
                    std::sqrt(double(selection.heads * width));
}

at::Tensor SelectedLayer::forward(Kernels &kernels, const AttentionInputs &in,
                                  const Packing &packing,
                                  const ForwardOptions &options,
                                  ForwardResult &result) const {
  PatternInputs inputs;
  inputs.query = in.query;
  inputs.key = in.keys[0];
  inputs.value = in.values[0];
  if (sink.defined())
    inputs.learned = sink.to(at::kFloat).unsqueeze(0);
  addIndex(kernels, in.input, packing, inputs);
  const PatternResult attended =
      kernels.patternAttention(inputs, custom, packing);
  if (options.wantIndices)
    result.indices.push_back(attended.indices);
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

at::Tensor SelectedLayer::extend(Kernels &, const ExtensionInputs &,
                                 CacheLayer &, Reads &) const {
  throw Error("the attention of " + custom.file + " has no form for a cache",
              "read all tokens in one forward pass");
}

} // namespace tessera::models
