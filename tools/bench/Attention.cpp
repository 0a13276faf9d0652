// tools/bench/Attention.cpp - runs one layer's attention in several
// implementations.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "tools/bench/Attention.h"

#include <ATen/ATen.h>
#include <ATen/CPUGeneratorImpl.h>

namespace tessera::bench {

using at::Tensor;

Attention::Attention(const models::ModelConfig &config, int64_t tokens,
                     at::Device device, at::ScalarType type, bool gradients)
    : config(config), packing(1, tokens, config.nsa, device),
      kernels(models::makeTesseraKernels()) {
  // Uses a separate generator. A seed of torch's default generators would also
  // be set on GPUs, even if no GPU library is loaded.
  at::Generator generator = at::detail::createCPUGenerator(/*seed_val=*/1);
  const auto random = [&](int64_t heads, int64_t channels) {
    return at::randn({tokens, heads, channels}, generator, at::kFloat)
        .to(device, type)
        .requires_grad_(gradients);
  };
  query = inputs.query = random(config.heads, config.keyDim);
  for (Tensor *keys : {&inputs.keyCmp, &inputs.keySel, &inputs.keyWin, &key})
    *keys = random(config.kvHeads, config.keyDim);
  for (Tensor *values :
       {&inputs.valueCmp, &inputs.valueSel, &inputs.valueWin, &value})
    *values = random(config.kvHeads, config.valueDim);
  inputs.gateLogits = random(config.kvHeads, 3);
}

Tensor Attention::nsa() const {
  return kernels->nsaAttention(inputs, config, packing).output;
}

Tensor Attention::dense() const {
  return kernels->denseAttention(query, key, value, packing);
}

Tensor Attention::sdpa() const {
  const auto heads = [](const Tensor &x) { // [1, heads, tokens, channels]
    return x.transpose(0, 1).unsqueeze(0);
  };
  return at::scaled_dot_product_attention(
             heads(query), heads(key), heads(value), std::nullopt,
             /*dropout_p=*/0, /*is_causal=*/true, std::nullopt,
             /*enable_gqa=*/config.heads != config.kvHeads)
      .squeeze(0)
      .transpose(0, 1);
}

std::vector<Tensor> Attention::nsaLeaves() const {
  return {inputs.query,    inputs.keyCmp,   inputs.keySel,   inputs.keyWin,
          inputs.valueCmp, inputs.valueSel, inputs.valueWin, inputs.gateLogits};
}

} // namespace tessera::bench
