// tools/bench/Attention.h - runs one layer's attention in several
// implementations.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "models/Kernels.h"

#include <memory>
#include <vector>

namespace tessera::bench {

// Random inputs of one sequence. Every result is [T, Hq, dv].
class Attention {
public:
  Attention(const models::ModelConfig &config, int64_t tokens,
            at::Device device, at::ScalarType type, bool gradients);

  at::Tensor nsa() const;
  at::Tensor dense() const;
  at::Tensor sdpa() const; // torch's scaled_dot_product_attention

  // Return the inputs of nsa() and of the other functions, which require
  // gradients.
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
