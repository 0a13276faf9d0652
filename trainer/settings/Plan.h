// trainer/settings/Plan.h - what a run will take, from its settings alone.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace tessera::trainer {

struct Config;

/// A kind of parameters: how many, and the formula in the settings' names.
struct ParameterPart {
  std::string name, formula;
  int64_t count;
};

struct Plan {
  std::vector<ParameterPart> parts;
  int64_t parameters = 0;
  /// Bytes of weights, gradients and both moments, fp32, and of the weights'
  /// copies in runtime.precision.
  int64_t stateBytes = 0;
  /// Bytes that one micro-batch keeps for its backward pass, with what that
  /// pass needs besides; of compiled kernels. An estimate of the tensors: what
  /// the allocator holds in reserve comes on top.
  int64_t activationBytes = 0;
  /// Floating-point operations for a token of training: 6 for each weight that
  /// multiplies, and 6 (dk + dv) for each head and key that a query sees.
  double weightFlops = 0, attentionFlops = 0;
  std::vector<std::string> kernels; ///< Files of kernels/ that a step uses.
};

Plan planOf(const Config &config);

/// The plan with steps and tokens, for people.
std::string planText(const Config &config, const Plan &plan);

/// Throws tessera::Error when weights, gradients and moments are more than
/// this machine's memory.
void requireMemory(const Plan &plan);

} // namespace tessera::trainer
