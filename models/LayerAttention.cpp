// models/LayerAttention.cpp - layers with dense attention or attention kernels
// of a file, and the choice of a layer's class.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "models/LayerAttention.h"

#include "models/NsaLayer.h"
#include "models/NsaRows.h"
#include "models/SelectedLayer.h"
#include "runtime/launch/PatternFile.h"
#include "support/Error.h"

#include <ATen/ATen.h>
#include <algorithm>
#include <fmt/format.h>

namespace tessera::models {
namespace {

/// Queries that plain torch processes at a time over a cache. It bounds the
/// memory of masks and scores.
constexpr int64_t blockRows = 512;

/// Returns torch's causal attention (SDPA) over the sequences of a batch.
at::Tensor sdpa(const at::Tensor &q, const at::Tensor &k, const at::Tensor &v,
                const Packing &packing) {
  const auto attend = [&](int64_t first, int64_t sequences, int64_t length) {
    const auto heads = [&](const at::Tensor &t) {
      return t.narrow(0, first, sequences * length)
          .unflatten(0, {sequences, length})
          .transpose(1, 2);
    };
    return at::scaled_dot_product_attention(
               heads(q), heads(k), heads(v), {}, 0.0,
               /*is_causal=*/true, std::nullopt, /*enable_gqa=*/true)
        .transpose(1, 2)
        .flatten(0, 1);
  };
  if (packing.starts.empty())
    return attend(0, packing.sequences, packing.length);
  std::vector<at::Tensor> parts;
  for (size_t i = 1; i < packing.starts.size(); ++i) {
    const int64_t first = packing.starts[i - 1];
    if (packing.starts[i] > first)
      parts.push_back(attend(first, 1, packing.starts[i] - first));
  }
  return at::cat(parts);
}

/// Causal attention over all earlier tokens: by a compiled kernel, or by
/// torch's SDPA.
class DenseLayer final : public LayerAttention {
public:
  DenseLayer(const ModelConfig &config, bool compiled)
      : LayerAttention(config), compiled(compiled) {}

  at::Tensor forward(Kernels &kernels, const AttentionInputs &in,
                     const Packing &packing, const ForwardOptions &,
                     ForwardResult &) const override {
    if (compiled)
      return kernels.denseAttention(in.query, in.keys[0], in.values[0],
                                    packing);
    return sdpa(in.query, in.keys[0], in.values[0], packing);
  }

  at::Tensor extend(Kernels &kernels, const ExtensionInputs &in,
                    CacheLayer &cache, Reads &) const override {
    appendToCache(cache, 0, in.keys[0], in.values[0], in.first);
    const int64_t last = in.last();
    if (kernels.decodes() && last - in.first == 1)
      return kernels
          .decodeAttention(in.query.squeeze(2), cache.keys[0], cache.values[0],
                           0, last, {}, config.nsa.selectionLength)
          .unsqueeze(2);
    const int64_t group = config.heads / config.kvHeads;
    const at::Tensor q = groupHeads(in.query, config.kvHeads);
    std::vector<at::Tensor> parts;
    for (int64_t from = in.first; from < last; from += blockRows) {
      const int64_t to = std::min(from + blockRows, last);
      const NsaGeometry all{.window = to};
      parts.push_back(NsaRows{all, from, to, group}.windowed(
          q.slice(2, from - in.first, to - in.first),
          shareKeys(cache.keys[0], group), shareKeys(cache.values[0], group)));
    }
    return at::cat(parts, 2).view(
        {in.query.size(0), config.heads, last - in.first, -1});
  }

private:
  const bool compiled;
};

/// Attention by kernels of a pattern or of a user's file.
class KernelLayer final : public LayerAttention {
public:
  KernelLayer(const ModelConfig &config, CustomAttention given,
              ParameterBuilder &build, const std::string &prefix)
      : LayerAttention(config), custom(std::move(given)) {
    const auto numbers = [&](const std::vector<std::string> &names) {
      return int64_t(names.size()) * config.heads;
    };
    if (!custom.learned.empty())
      learned = build.normal(prefix + "attention.learned",
                             {numbers(custom.learnedNames()), config.dim},
                             spreadOf(config.dim));
    if (!custom.headLearned.empty())
      headLearned = build.constant(prefix + "attention.head_learned",
                                   {numbers(custom.headLearnedNames())}, 0);
    if (custom.pattern.empty())
      return;
    const std::vector<std::string> &known = config.sequenceValues;
    for (const auto &name :
         runtime::readPatternFile(custom.file)->perSequence) {
      const auto found = std::find(known.begin(), known.end(), name);
      if (found == known.end())
        throw Error(fmt::format("{} takes a value of each sequence, {}, which "
                                "the model does not have",
                                custom.file, name),
                    "set attention.per_sequence");
      valueRows.push_back(found - known.begin());
    }
  }

  std::vector<at::Tensor> weights() const override {
    return {learned, headLearned};
  }

  at::Tensor forward(Kernels &kernels, const AttentionInputs &in,
                     const Packing &packing, const ForwardOptions &options,
                     ForwardResult &) const override {
    return kernels.customAttention(
        in.query, in.keys[0], in.values[0], learnedNumbers(in.input),
        valuesOf(options.perSequence), custom, packing);
  }

  int64_t firstReader(Kernels &kernels, int64_t first, int64_t last,
                      const at::Tensor &perSequence) const override {
    return kernels.firstReader(first, last, config.heads, valuesOf(perSequence),
                               custom);
  }

  at::Tensor extend(Kernels &kernels, const ExtensionInputs &in,
                    CacheLayer &cache, Reads &) const override {
    appendToCache(cache, 0, in.keys[0], in.values[0], in.first);
    const at::Tensor numbers =
        headLearned.defined()
            ? headLearned.to(at::kFloat).view({-1, config.heads})
            : at::Tensor();
    return kernels
        .decodePattern(in.query.transpose(1, 2), cache.keys[0], cache.values[0],
                       in.first, numbers, valuesOf(in.perSequence), custom)
        .transpose(1, 2);
  }

private:
  /// Returns fp32 [T, names, Hq], or undefined if the kernels take no learned
  /// numbers.
  at::Tensor learnedNumbers(const at::Tensor &input) const {
    std::vector<at::Tensor> parts;
    if (headLearned.defined())
      parts.push_back(headLearned.to(at::kFloat)
                          .view({1, -1, config.heads})
                          .expand({input.size(0), -1, -1}));
    if (learned.defined())
      parts.push_back(at::linear(input, learned)
                          .unflatten(1, {-1, config.heads})
                          .to(at::kFloat));
    if (parts.empty())
      return {};
    return parts.size() == 1 ? parts[0] : at::cat(parts, 1);
  }

  /// Returns the rows of `all` that this pattern reads; undefined if it reads
  /// none. Does not use an index tensor: a CUDA graph cannot copy it from the
  /// host.
  at::Tensor valuesOf(const at::Tensor &all) const {
    if (valueRows.empty())
      return {};
    if (!all.defined())
      throw Error(fmt::format("{} takes values of each sequence, which this "
                              "pass does not have",
                              custom.file),
                  "give ForwardOptions::perSequence, or those of the cache");
    std::vector<at::Tensor> rows;
    for (const int64_t row : valueRows)
      rows.push_back(all[row]);
    return at::stack(rows);
  }

  const CustomAttention custom;
  /// Index in ModelConfig::sequenceValues of each value the pattern reads.
  std::vector<int64_t> valueRows;
  /// [names * Hq, dim]: projection that gives each token and head a number.
  at::Tensor learned;
  at::Tensor headLearned; ///< [names * Hq]: a number for each head.
};

} // namespace

void appendToCache(CacheLayer &cache, int slot, const at::Tensor &keys,
                   const at::Tensor &values, int64_t first) {
  const int64_t last = first + keys.size(2);
  cache.keys[slot].slice(2, first, last).copy_(keys);
  cache.values[slot].slice(2, first, last).copy_(values);
}

std::unique_ptr<LayerAttention> LayerAttention::make(const ModelConfig &config,
                                                     int64_t layer,
                                                     ParameterBuilder &build,
                                                     const std::string &prefix,
                                                     at::Device device) {
  LayerKind mine = config.builtAttentionOf(layer);
  switch (mine.kind) {
  case AttentionKind::Nsa: {
    ModelConfig sized = config;
    sized.nsa = mine.nsa.value_or(config.nsa);
    return std::make_unique<NsaLayer>(sized, build, prefix, device);
  }
  case AttentionKind::Dense:
  case AttentionKind::Sdpa:
    return std::make_unique<DenseLayer>(config,
                                        mine.kind == AttentionKind::Dense);
  case AttentionKind::Kernel:
    if (!mine.custom.pattern.empty())
      if (const auto selection = runtime::selectionOfPattern(
              mine.custom.file, mine.custom.constexprs))
        return std::make_unique<SelectedLayer>(config, std::move(mine.custom),
                                               *selection, build, prefix);
    return std::make_unique<KernelLayer>(config, std::move(mine.custom), build,
                                         prefix);
  }
  return nullptr;
}

} // namespace tessera::models
