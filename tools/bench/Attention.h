// tools/bench/Attention.h - one layer's attention in several implementations.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "models/Kernels.h"

#include <memory>
#include <vector>

namespace tessera::bench {

// Random inputs of one sequence; every result is [T, Hq, dv].
class Attention {
public:
  Attention(const models::ModelConfig &config, int64_t tokens,
            at::Device device, at::ScalarType type, bool gradients);

  at::Tensor nsa() const;
  at::Tensor dense() const;
  at::Tensor sdpa() const; // torch's scaled_dot_product_attention

  // What nsa() is a function of, or the others; with gradients.
  std::vector<at::Tensor> nsaLeaves() const;
  std::vector<at::Tensor> denseLeaves() const { return {query, key, value}; }

private:
  const models::ModelConfig &config;
  const models::Packing packing;
  std::unique_ptr<models::Kernels> kernels;
  models::NsaInputs inputs;
  at::Tensor query, key, value; // of dense()
};

} // namespace tessera::bench
