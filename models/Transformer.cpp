// models/Transformer.cpp - construction and forward pass of the transformer.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "models/Transformer.h"

#include "models/Block.h"
#include "models/Loss.h"
#include "models/Recompute.h"
#include "support/Error.h"

#include <ATen/ATen.h>
#include <ATen/CPUGeneratorImpl.h>
#include <ATen/record_function.h>
#include <cmath>
#include <fmt/format.h>
#include <numeric>
#include <tuple>
#include <utility>

namespace tessera::models {

namespace {

/// Makes the parameters in order, from one generator.
class Builder {
public:
  Builder(std::vector<Parameter> &all, uint64_t seed, at::Device device)
      : all(all), generator(at::detail::createCPUGenerator(seed)),
        device(device) {}

  at::Tensor normal(const std::string &name, at::IntArrayRef shape,
                    double deviation) {
    return add(name, at::randn(shape, generator) * deviation);
  }
  /// Matrices of so many rows, one below the other.
  at::Tensor normal(const std::string &name, std::vector<int64_t> rows,
                    int64_t columns, double deviation) {
    const int64_t sum = std::accumulate(rows.begin(), rows.end(), int64_t(0));
    const at::Tensor value = normal(name, {sum, columns}, deviation);
    all.back().stacked = std::move(rows);
    return value;
  }
  at::Tensor constant(const std::string &name, at::IntArrayRef shape,
                      double value) {
    return add(name, at::full(shape, value, at::kFloat));
  }

private:
  at::Tensor add(const std::string &name, const at::Tensor &drawn) {
    at::Tensor value = drawn.to(device);
    value.set_requires_grad(true);
    all.push_back({name, value});
    return value;
  }

  std::vector<Parameter> &all;
  at::Generator generator;
  at::Device device;
};

BlockMlp blockMlp(Builder &make, const std::string &in, const ModelConfig &c,
                  int64_t channels) {
  const int64_t tokens = c.nsa.blockLength, width = phiWidth(c, channels);
  const int64_t networks = c.phiPerHead ? c.kvHeads : 1;
  const auto spread = [](int64_t inputs) {
    return 1 / std::sqrt(double(inputs));
  };
  BlockMlp mlp;
  mlp.position = make.normal(in + "position", {tokens, channels}, 0.02);
  mlp.in = make.normal(in + "in", {networks, width, tokens * channels},
                       spread(tokens * channels));
  mlp.inBias = make.constant(in + "in_bias", {networks, width}, 0);
  mlp.out = make.normal(in + "out", {networks, channels, width}, spread(width));
  return mlp;
}

int64_t branches(const ModelConfig &c) {
  return c.attention == AttentionKind::Nsa ? 3 : 1;
}

/// Rows of the projections to queries, to the keys of each branch, and to its
/// values.
std::vector<int64_t> projections(const ModelConfig &c) {
  std::vector<int64_t> rows = {c.heads * c.keyDim};
  for (const int64_t d : {c.keyDim, c.valueDim})
    rows.insert(rows.end(), size_t(branches(c)), c.kvHeads * d);
  return rows;
}

/// What is added to the logits of gates as the settings ask, fp32 [3]: it opens
/// or closes a gate to the last bit, softmax or sigmoid. Undefined: nothing.
at::Tensor gateShift(const ModelConfig &c) {
  const bool used[] = {c.useCompressed, c.useSelected, c.useWindow};
  const bool free = c.gateOverride == GateOverride::None;
  if (free && used[0] && used[1] && used[2])
    return {};
  const double far = 1e4 * c.gateTemperature;
  const int forced = int(c.gateOverride) - int(GateOverride::Compressed);
  at::Tensor added = at::zeros({3}, at::kFloat);
  for (int i = 0; i < 3; ++i)
    if (!used[i])
      added[i] = -far;
    else if (!free && c.gateOverride != GateOverride::Uniform)
      added[i] = i == forced ? far : -far;
  return added;
}

/// torch's own causal attention over the sequences of a batch.
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

} // namespace

Transformer::Transformer(const ModelConfig &config, KernelSource kernels,
                         uint64_t seed, at::Device device)
    : settings(config) {
  validate(config);
  source = makeKernels(kernels);
  if (const at::Tensor added = gateShift(config); added.defined())
    shift = added.to(device); // once: steps copy nothing to a GPU
  const ModelConfig &c = settings;
  Builder make(all, seed, device);
  // Inputs of unit size keep about unit size through a layer; what is added to
  // the residual stream shrinks with the number of additions.
  const double residual = 1.0 / std::sqrt(2.0 * double(c.layers));
  const auto spread = [](int64_t inputs) {
    return 0.5 / std::sqrt(double(inputs));
  };
  embedding = make.normal("embedding", {c.vocabulary, c.dim}, 0.02);
  for (int64_t i = 0; i < c.layers; ++i) {
    const std::string in = fmt::format("blocks.{}.", i);
    Block b;
    b.attentionNorm = make.constant(in + "attention.norm", {c.dim}, 1);
    b.projection =
        make.normal(in + "attention.qkv", projections(c), c.dim, spread(c.dim));
    b.output =
        make.normal(in + "attention.output", {c.dim, c.heads * c.valueDim},
                    spread(c.heads * c.valueDim) * residual);
    if (c.attention == AttentionKind::Nsa) {
      const bool hidden = c.gateInput == GateInput::Hidden;
      const int64_t width =
          hidden ? c.keyDim : std::max<int64_t>(1, c.keyDim / 2);
      const int64_t inputs = hidden ? c.dim : c.keyDim;
      const int64_t gates = hidden ? 3 * c.kvHeads : 3;
      b.gateIn = make.normal(in + "gate.in", {width, inputs}, spread(inputs));
      b.gateInBias = make.constant(in + "gate.in_bias", {width}, 0);
      b.gateOut = make.normal(in + "gate.out", {gates, width}, spread(width));
      b.gateOutBias = make.constant(in + "gate.out_bias", {gates}, 0);
      if (c.compression == Compression::Mlp) {
        b.keyPhi = blockMlp(make, in + "compress.key.", c, c.keyDim);
        b.valuePhi = blockMlp(make, in + "compress.value.", c, c.valueDim);
        b.valuePhi.outBias =
            make.constant(in + "compress.value.out_bias",
                          {b.valuePhi.out.size(0), c.valueDim}, 0);
      }
      if (c.compression == Compression::Convolution) {
        const double mean = 1.0 / double(c.nsa.blockLength);
        b.keyFilter = make.constant(in + "compress.key",
                                    {c.nsa.blockLength, c.keyDim}, mean);
        b.valueFilter = make.constant(in + "compress.value",
                                      {c.nsa.blockLength, c.valueDim}, mean);
      }
    }
    if (c.attention == AttentionKind::Kernel && !c.custom.learned.empty())
      b.learned = make.normal(
          in + "attention.learned",
          {int64_t(c.custom.learnedNames().size()) * c.heads, c.dim},
          spread(c.dim));
    if (c.attention == AttentionKind::Kernel && !c.custom.headLearned.empty())
      b.headLearned = make.constant(
          in + "attention.head_learned",
          {int64_t(c.custom.headLearnedNames().size()) * c.heads}, 0);
    b.mlpNorm = make.constant(in + "mlp.norm", {c.dim}, 1);
    b.mlpIn = make.normal(in + "mlp.in", {c.mlpDim, c.dim}, spread(c.dim));
    if (c.mlp == MlpKind::SwiGlu)
      b.mlpGate =
          make.normal(in + "mlp.gated", {c.mlpDim, c.dim}, spread(c.dim));
    b.mlpOut = make.normal(in + "mlp.out", {c.dim, c.mlpDim},
                           spread(c.mlpDim) * residual);
    blocks.push_back(std::move(b));
  }
  finalNorm = make.constant("norm", {c.dim}, 1);
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

Transformer::Heads Transformer::split(const at::Tensor &projected) const {
  const ModelConfig &c = settings;
  const int64_t n = branches(c), turned = c.heads + n * c.kvHeads;
  const std::vector<at::Tensor> parts = projected.split_with_sizes(
      {turned * c.keyDim, n * c.kvHeads * c.valueDim}, 1);
  return {parts[0].view({-1, turned, c.keyDim}),
          parts[1].view({-1, n * c.kvHeads, c.valueDim})};
}

at::Tensor Transformer::gateLogits(const Block &b, const at::Tensor &x,
                                   const at::Tensor &query) const {
  const ModelConfig &c = settings;
  const bool hidden = c.gateInput == GateInput::Hidden;
  const at::Tensor seen =
      hidden ? x : query.unflatten(1, {c.kvHeads, c.heads / c.kvHeads}).mean(2);
  const at::Tensor gate =
      at::linear(at::silu(at::linear(seen, b.gateIn, b.gateInBias)), b.gateOut,
                 b.gateOutBias);
  const at::Tensor logits = gate.view({-1, c.kvHeads, 3});
  if (!shift.defined())
    return logits;
  const bool free = c.gateOverride == GateOverride::None;
  return logits * (free ? 1.0 : 0.0) + shift.to(logits.scalar_type());
}

at::Tensor Transformer::attention(const Block &b, const at::Tensor &x,
                                  const Packing &packing,
                                  const ForwardOptions &options,
                                  ForwardResult &result) {
  const ModelConfig &c = settings;
  const Heads heads = split(at::linear(x, b.projection));
  const at::Tensor rotated = source->rope(heads.turned, packing, c.rope);
  // Parts of one split: their gradients are put side by side once, those of
  // slices would each be added to zeros of the whole.
  std::vector<int64_t> sizes(size_t(branches(c)), c.kvHeads);
  const std::vector<at::Tensor> values =
      heads.values.split_with_sizes(sizes, 1);
  sizes.insert(sizes.begin(), c.heads);
  const std::vector<at::Tensor> turned = rotated.split_with_sizes(sizes, 1);
  const at::Tensor &query = turned[0];
  const auto key = [&](int64_t branch) { return turned[size_t(branch) + 1]; };
  const auto value = [&](int64_t branch) { return values[size_t(branch)]; };

  at::Tensor output;
  if (c.attention == AttentionKind::Nsa) {
    NsaInputs in{
        query,       key(0),        value(0),       key(1),
        value(1),    key(2),        value(2),       gateLogits(b, x, query),
        b.keyFilter, b.valueFilter, options.without};
    if (b.keyPhi.defined()) {
      in.keyCmp = b.keyPhi.apply(in.keyCmp, packing, c.nsa, c.phiActivation);
      in.valueCmp =
          b.valuePhi.apply(in.valueCmp, packing, c.nsa, c.phiActivation);
      in.compressed = true;
    }
    NsaResult nsa = source->nsaAttention(in, c, packing);
    output = nsa.output;
    if (options.statistics)
      options.statistics->add(in.gateLogits, nsa.indices, c);
    if (options.wantIndices)
      result.indices.push_back(nsa.indices);
  } else if (c.attention == AttentionKind::Dense) {
    output = source->denseAttention(query, key(0), value(0), packing);
  } else if (c.attention == AttentionKind::Kernel) {
    std::vector<at::Tensor> parts;
    if (b.headLearned.defined())
      parts.push_back(b.headLearned.to(at::kFloat)
                          .view({1, -1, c.heads})
                          .expand({x.size(0), -1, -1}));
    if (b.learned.defined())
      parts.push_back(
          at::linear(x, b.learned).unflatten(1, {-1, c.heads}).to(at::kFloat));
    at::Tensor learned;
    if (!parts.empty())
      learned = parts.size() == 1 ? parts[0] : at::cat(parts, 1);
    output = source->customAttention(query, key(0), value(0), learned, c.custom,
                                     packing);
  } else {
    output = sdpa(query, key(0), value(0), packing);
  }
  return at::linear(output.reshape({x.size(0), -1}), b.output);
}

at::Tensor Transformer::mlp(const Block &b, const at::Tensor &x) const {
  const at::Tensor in = at::linear(x, b.mlpIn);
  const at::Tensor gate =
      settings.mlp == MlpKind::SwiGlu ? at::linear(x, b.mlpGate) : at::Tensor();
  return at::linear(source->activation(settings.mlp, in, gate), b.mlpOut);
}

at::Tensor
Transformer::recomputedBlock(const Block &block, const at::Tensor &x,
                             const std::shared_ptr<const Packing> &packing,
                             const ForwardOptions &options) {
  // They outlive this call. Blocks stay where they are, and each pair of
  // functions has its own.
  const Block *b = &block;
  // What is computed again is counted once, and the sums may be gone by then.
  const auto counted = std::make_shared<Statistics *>(options.statistics);
  const auto attend = [this, b, packing, options,
                       counted](const at::Tensor &y) {
    ForwardResult unused;
    ForwardOptions mine = options;
    mine.statistics = std::exchange(*counted, nullptr);
    return y +
           attention(*b,
                     source->rmsNorm(y, b->attentionNorm, settings.normEpsilon),
                     *packing, mine, unused);
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

KernelDifferences
Transformer::compareKernels(const at::Tensor &tokens, const at::Tensor &targets,
                            const std::vector<int32_t> &starts) {
  const at::NoGradGuard noGrad;
  ForwardOptions options;
  options.starts = starts;
  options.targets = targets;
  std::unique_ptr<Kernels> own = std::move(source);
  const auto lossOf = [&](std::unique_ptr<Kernels> kernels) {
    source = std::move(kernels);
    return meanLoss(forward(tokens, options), targets).item<double>();
  };
  KernelDifferences differences;
  try {
    const double compiled = lossOf(comparedKernels(*own, differences));
    if (tokens.is_cpu()) { // plain torch computes there
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
  at::Tensor x = at::embedding(embedding, tokens.flatten());
  // What is to be added to x: by the norm behind it, in one operation.
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
      x = recomputedBlock(b, x, packing, options);
      continue;
    }
    added = attention(b, normed(b.attentionNorm), *packing, options, result);
    added = mlp(b, normed(b.mlpNorm));
  }
  const at::Tensor last = normed(finalNorm);
  if (options.targets.defined() && fusesLoss(c))
    result.losses = source->linearLoss(last, head, options.targets.flatten());
  else
    result.logits =
        at::linear(last, head).view({tokens.size(0), tokens.size(1), -1});
  return result;
}

} // namespace tessera::models
