// models/Transformer.cpp - constructs the transformer's parameters and runs its
// forward pass.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "models/Transformer.h"

#include "models/Bigrams.h"
#include "models/Block.h"
#include "models/Loss.h"
#include "models/Recompute.h"
#include "models/SoftcapLoss.h"
#include "support/Error.h"

#include <ATen/ATen.h>
#include <ATen/record_function.h>
#include <cmath>
#include <fmt/format.h>
#include <tuple>
#include <utility>

namespace tessera::models {

namespace {

/// Returns the row counts of the parts of the attention projection: queries,
/// then the keys of each branch, then the values of each branch.
std::vector<int64_t> projections(const ModelConfig &c, int64_t branches) {
  std::vector<int64_t> rows = {c.heads * c.keyDim};
  for (const int64_t d : {c.keyDim, c.valueDim})
    rows.insert(rows.end(), size_t(branches), c.kvHeads * d);
  return rows;
}

} // namespace

Transformer::Transformer(const ModelConfig &config, KernelSource kernels,
                         uint64_t seed, at::Device device)
    : settings(config) {
  validate(config);
  source = makeKernels(kernels);
  const ModelConfig &c = settings;
  ParameterBuilder make(all, seed, device);
  // The initialization keeps activations at about unit size. Weights that write
  // to the residual stream are smaller, because 2 * layers results are added.
  const double residual = 1.0 / std::sqrt(2.0 * double(c.layers));
  embedding = make.normal("embedding", {c.vocabulary, c.dim}, 0.02);
  for (int64_t i = 0; i < c.layers; ++i) {
    const std::string in = fmt::format("blocks.{}.", i);
    Block b;
    b.attentionNorm = make.constant(in + "attention.norm", {c.dim}, 1);
    b.projection =
        make.normal(in + "attention.qkv", projections(c, c.branchesOf(i)),
                    c.dim, spreadOf(c.dim));
    b.output =
        make.normal(in + "attention.output", {c.dim, c.heads * c.valueDim},
                    spreadOf(c.heads * c.valueDim) * residual);
    if (c.qkNorm) {
      b.queryNorm = make.constant(in + "attention.q_norm", {c.keyDim}, 1);
      b.keyNorm = make.constant(in + "attention.k_norm", {c.keyDim}, 1);
    }
    b.attention = LayerAttention::make(c, i, make, in, device);
    b.mlpNorm = make.constant(in + "mlp.norm", {c.dim}, 1);
    b.mlpIn = make.normal(in + "mlp.in", {c.mlpDim, c.dim}, spreadOf(c.dim));
    if (c.mlp == MlpKind::SwiGlu)
      b.mlpGate =
          make.normal(in + "mlp.gated", {c.mlpDim, c.dim}, spreadOf(c.dim));
    b.mlpOut = make.normal(in + "mlp.out", {c.dim, c.mlpDim},
                           spreadOf(c.mlpDim) * residual);
    blocks.push_back(std::move(b));
  }
  finalNorm = make.constant("norm", {c.dim}, 1);
  // Tables are no matrices of a block, so that AdamW updates them. The head
  // comes last (AdamW.h).
  for (int64_t i = 0; i < c.layers; ++i)
    if (c.valueEmbeddings.has(i, c.layers)) {
      const std::string in = fmt::format("value_embeddings.{}.", i);
      Block &b = blocks[size_t(i)];
      b.valueTable =
          make.normal(in + "table", {c.vocabulary, c.kvHeads * c.valueDim},
                      spreadOf(c.dim));
      b.valueScale = make.constant(in + "scale", {1}, 1);
    }
  // Pairs that the data lack keep rows of zeros.
  if (c.bigramEmbeddings > 0)
    bigrams = make.constant("bigram_embedding", {c.bigramEmbeddings, c.dim}, 0);
  head =
      c.tiedHead ? embedding : make.normal("head", {c.vocabulary, c.dim}, 0.02);
}

Transformer::~Transformer() = default;

int64_t Transformer::parameterCount() const {
  int64_t count = 0;
  for (const Parameter &p : all)
    count += p.value.numel();
  return count;
}

at::Tensor Transformer::embedded(const at::Tensor &tokens,
                                 const at::Tensor &previous) const {
  const at::Tensor x = at::embedding(embedding, tokens);
  if (!bigrams.defined())
    return x;
  return x + at::embedding(bigrams, bigramRows(previous, tokens,
                                               settings.bigramEmbeddings));
}

Transformer::Heads Transformer::split(const Block &b,
                                      const at::Tensor &projected,
                                      const at::Tensor &tokens) const {
  const ModelConfig &c = settings;
  const int64_t n = b.attention->branches(), turned = c.heads + n * c.kvHeads;
  const std::vector<at::Tensor> parts = projected.split_with_sizes(
      {turned * c.keyDim, n * c.kvHeads * c.valueDim}, 1);
  at::Tensor values = parts[1].view({-1, n * c.kvHeads, c.valueDim});
  if (b.valueTable.defined()) {
    const at::Tensor own = at::embedding(b.valueTable, tokens) * b.valueScale;
    values = (values.unflatten(1, {n, c.kvHeads}) +
              own.view({-1, 1, c.kvHeads, c.valueDim}))
                 .flatten(1, 2);
  }
  const at::Tensor queriesAndKeys = parts[0].view({-1, turned, c.keyDim});
  if (!c.qkNorm)
    return {queriesAndKeys, values};
  const auto normed = [&](const at::Tensor &heads, const at::Tensor &weight) {
    return source->rmsNorm(heads.reshape({-1, c.keyDim}), weight, c.normEpsilon)
        .view(heads.sizes());
  };
  const std::vector<at::Tensor> both =
      queriesAndKeys.split_with_sizes({c.heads, n * c.kvHeads}, 1);
  return {
      at::cat({normed(both[0], b.queryNorm), normed(both[1], b.keyNorm)}, 1),
      values};
}

at::Tensor Transformer::attention(const Block &b, const at::Tensor &x,
                                  const at::Tensor &tokens,
                                  const Packing &packing,
                                  const ForwardOptions &options,
                                  ForwardResult &result) {
  const ModelConfig &c = settings;
  const Heads heads = split(b, source->linear(x, b.projection), tokens);
  const at::Tensor rotated = source->rope(heads.turned, packing, c.rope);
  // Split once instead of slicing. The backward pass of a split concatenates
  // the gradients; those of slices are padded to full size and added.
  std::vector<int64_t> sizes(size_t(b.attention->branches()), c.kvHeads);
  AttentionInputs in{x, {}, {}, heads.values.split_with_sizes(sizes, 1)};
  sizes.insert(sizes.begin(), c.heads);
  in.keys = rotated.split_with_sizes(sizes, 1);
  in.query = in.keys[0];
  in.keys.erase(in.keys.begin());
  const at::Tensor output =
      b.attention->forward(*source, in, packing, options, result);
  return source->linear(output.reshape({x.size(0), -1}), b.output);
}

at::Tensor Transformer::mlp(const Block &b, const at::Tensor &x) const {
  const at::Tensor in = source->linear(x, b.mlpIn);
  const at::Tensor gate = settings.mlp == MlpKind::SwiGlu
                              ? source->linear(x, b.mlpGate)
                              : at::Tensor();
  return source->linear(source->activation(settings.mlp, in, gate), b.mlpOut);
}

at::Tensor
Transformer::recomputedBlock(const Block &block, const at::Tensor &x,
                             const at::Tensor &tokens,
                             const std::shared_ptr<const Packing> &packing,
                             const ForwardOptions &options) {
  // The functions outlive this call, so they own copies of the options. They
  // point to the block, because `blocks` does not change after construction.
  const Block *b = &block;
  // Recomputation must not count statistics twice, and `statistics` can be
  // destroyed before the backward pass.
  const auto counted = std::make_shared<Statistics *>(options.statistics);
  const auto attend = [this, b, tokens, packing, options,
                       counted](const at::Tensor &y) {
    ForwardResult unused;
    ForwardOptions mine = options;
    mine.statistics = std::exchange(*counted, nullptr);
    return y +
           attention(*b,
                     source->rmsNorm(y, b->attentionNorm, settings.normEpsilon),
                     tokens, *packing, mine, unused);
  };
  const auto transform = [this, b](const at::Tensor &y) {
    return y + mlp(*b, source->rmsNorm(y, b->mlpNorm, settings.normEpsilon));
  };
  const std::vector<at::Tensor> ofAttention = b->attentionWeights(),
                                ofMlp = b->mlpWeights();
  switch (settings.recompute) {
  case Recompute::None:
    break;
  case Recompute::Mlp:
    return recomputed(transform, attend(x), ofMlp);
  case Recompute::Attention:
    return transform(recomputed(attend, x, ofAttention));
  case Recompute::Full: {
    std::vector<at::Tensor> both = ofAttention;
    both.insert(both.end(), ofMlp.begin(), ofMlp.end());
    return recomputed([attend, transform](
                          const at::Tensor &y) { return transform(attend(y)); },
                      x, both);
  }
  }
  return transform(attend(x));
}

KernelDifferences Transformer::compareKernels(const at::Tensor &tokens,
                                              const ForwardOptions &options) {
  const at::NoGradGuard noGrad;
  std::unique_ptr<Kernels> own = std::move(source);
  const auto lossOf = [&](std::unique_ptr<Kernels> kernels) {
    source = std::move(kernels);
    return meanLoss(forward(tokens, options), options.targets).item<double>();
  };
  KernelDifferences differences;
  try {
    const double compiled = lossOf(comparedKernels(*own, differences));
    if (tokens.is_cpu()) { // TorchKernels runs on the CPU
      const double plain = lossOf(makeTorchKernels());
      differences["loss"] = {std::abs(compiled - plain) / plain, 1};
    }
  } catch (...) {
    source = std::move(own);
    throw;
  }
  source = std::move(own);
  return differences;
}

ForwardResult Transformer::forward(const at::Tensor &tokens,
                                   const ForwardOptions &options) {
  const ModelConfig &c = settings;
  if (!options.starts.empty() && options.starts.back() != tokens.numel())
    throw Error(fmt::format("packed sequences have {} tokens, the batch has {}",
                            options.starts.back(), tokens.numel()),
                "the last of cu_seqlens is the number of tokens");
  const auto packing = std::make_shared<const Packing>(
      options.starts.empty()
          ? Packing(tokens.size(0), tokens.size(1), c.nsa, tokens.device())
          : Packing(options.starts, tokens.size(1), c.nsa, tokens.device()));
  const bool keep = c.recompute == Recompute::None || options.wantIndices ||
                    !at::GradMode::is_enabled();
  ForwardResult result;
  const at::Tensor flat = tokens.flatten();
  at::Tensor x = embedded(flat, bigrams.defined()
                                    ? previousTokens(tokens, *packing).flatten()
                                    : at::Tensor());
  // A layer's result that is not added to x yet: the next norm adds it and
  // normalizes the sum in one operation.
  at::Tensor added;
  const auto normed = [&](const at::Tensor &weight) {
    if (!added.defined())
      return source->rmsNorm(x, weight, c.normEpsilon);
    at::Tensor y;
    std::tie(x, y) = source->residualNorm(x, added, weight, c.normEpsilon);
    added.reset();
    return y;
  };
  for (const Block &b : blocks) {
    at::RecordFunction span(at::RecordScope::USER_SCOPE);
    if (span.isActive())
      span.before(fmt::format("layer {}", &b - blocks.data()));
    if (!keep) {
      x = recomputedBlock(b, x, flat, packing, options);
      continue;
    }
    added =
        attention(b, normed(b.attentionNorm), flat, *packing, options, result);
    added = mlp(b, normed(b.mlpNorm));
  }
  const at::Tensor last = normed(finalNorm);
  if (!options.targets.defined() || !fusesLoss(c))
    result.logits = logits(last).view({tokens.size(0), tokens.size(1), -1});
  else if (c.logitSoftcap > 0)
    result.losses =
        softcapLoss(last, head, options.targets.flatten(), c.logitSoftcap);
  else
    result.losses = source->linearLoss(last, head, options.targets.flatten(),
                                       c.lossLogits == LossLogits::Keep);
  return result;
}

at::Tensor Transformer::logits(const at::Tensor &x) const {
  const at::Tensor linear = source->linear(x, head);
  return settings.logitSoftcap > 0 ? softcapped(linear, settings.logitSoftcap)
                                   : linear;
}

} // namespace tessera::models
