// models/NsaLayer.cpp - weights and forward pass of a layer with NSA.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "models/NsaLayer.h"

#include <ATen/ATen.h>
#include <algorithm>
#include <cmath>

namespace tessera::models {
namespace {

BlockMlp blockMlp(ParameterBuilder &build, const std::string &in,
                  const ModelConfig &c, int64_t channels) {
  const int64_t tokens = c.nsa.blockLength, width = phiWidth(c, channels);
  const int64_t networks = c.phiPerHead ? c.kvHeads : 1;
  const auto spread = [](int64_t inputs) {
    return 1 / std::sqrt(double(inputs));
  };
  BlockMlp mlp;
  mlp.position = build.normal(in + "position", {tokens, channels}, 0.02);
  mlp.in = build.normal(in + "in", {networks, width, tokens * channels},
                        spread(tokens * channels));
  mlp.inBias = build.constant(in + "in_bias", {networks, width}, 0);
  mlp.out =
      build.normal(in + "out", {networks, channels, width}, spread(width));
  return mlp;
}

/// Returns a bias of the gate logits, fp32 [3], that forces gates as the
/// settings require. It is so large that softmax and sigmoid return 0 or 1.
/// Returns an undefined tensor if no gate is forced.
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

} // namespace

NsaLayer::NsaLayer(const ModelConfig &c, ParameterBuilder &build,
                   const std::string &in, at::Device device)
    : LayerAttention(c) {
  if (const at::Tensor added = gateShift(c); added.defined())
    shift = added.to(device); // copied once, not in every step
  const bool hidden = c.gateInput == GateInput::Hidden;
  const int64_t width = hidden ? c.keyDim : std::max<int64_t>(1, c.keyDim / 2);
  const int64_t inputs = hidden ? c.dim : c.keyDim;
  const int64_t gates = hidden ? 3 * c.kvHeads : 3;
  gateIn = build.normal(in + "gate.in", {width, inputs}, spreadOf(inputs));
  gateInBias = build.constant(in + "gate.in_bias", {width}, 0);
  gateOut = build.normal(in + "gate.out", {gates, width}, spreadOf(width));
  gateOutBias = build.constant(in + "gate.out_bias", {gates}, 0);
  if (c.compression == Compression::Mlp) {
    keyPhi = blockMlp(build, in + "compress.key.", c, c.keyDim);
    valuePhi = blockMlp(build, in + "compress.value.", c, c.valueDim);
    valuePhi.outBias = build.constant(in + "compress.value.out_bias",
                                      {valuePhi.out.size(0), c.valueDim}, 0);
  }
  if (c.compression == Compression::Convolution) {
    const double mean = 1.0 / double(c.nsa.blockLength);
    keyFilter = build.constant(in + "compress.key",
                               {c.nsa.blockLength, c.keyDim}, mean);
    valueFilter = build.constant(in + "compress.value",
                                 {c.nsa.blockLength, c.valueDim}, mean);
  }
}

std::vector<at::Tensor> NsaLayer::weights() const {
  return {gateIn,          gateInBias,   gateOut,           gateOutBias,
          keyFilter,       valueFilter,  keyPhi.position,   keyPhi.in,
          keyPhi.inBias,   keyPhi.out,   valuePhi.position, valuePhi.in,
          valuePhi.inBias, valuePhi.out, valuePhi.outBias};
}

at::Tensor NsaLayer::gateLogits(const at::Tensor &input,
                                const at::Tensor &query) const {
  const ModelConfig &c = config;
  const bool hidden = c.gateInput == GateInput::Hidden;
  const at::Tensor seen =
      hidden ? input
             : query.unflatten(1, {c.kvHeads, c.heads / c.kvHeads}).mean(2);
  const at::Tensor gate = at::linear(
      at::silu(at::linear(seen, gateIn, gateInBias)), gateOut, gateOutBias);
  const at::Tensor logits = gate.view({-1, c.kvHeads, 3});
  if (!shift.defined())
    return logits;
  const bool free = c.gateOverride == GateOverride::None;
  return logits * (free ? 1.0 : 0.0) + shift.to(logits.scalar_type());
}

at::Tensor NsaLayer::forward(Kernels &kernels, const AttentionInputs &given,
                             const Packing &batch,
                             const ForwardOptions &options,
                             ForwardResult &result) const {
  const Packing packing = batch.with(config.nsa);
  NsaInputs in{given.query,     given.keys[0],
               given.values[0], given.keys[1],
               given.values[1], given.keys[2],
               given.values[2], gateLogits(given.input, given.query),
               keyFilter,       valueFilter,
               options.without};
  if (keyPhi.defined()) {
    in.keyCmp =
        keyPhi.apply(in.keyCmp, packing, config.nsa, config.phiActivation);
    in.valueCmp =
        valuePhi.apply(in.valueCmp, packing, config.nsa, config.phiActivation);
    in.compressed = true;
  }
  NsaResult nsa = kernels.nsaAttention(in, config, packing);
  if (options.statistics)
    options.statistics->add(in.gateLogits, nsa.indices, config);
  if (options.wantIndices)
    result.indices.push_back(nsa.indices);
  return nsa.output;
}

} // namespace tessera::models
