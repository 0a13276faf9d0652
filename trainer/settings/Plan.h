// trainer/settings/Plan.h - estimates parameters, memory and operations of a
// run from its settings, for --dry-run and memory checks.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "models/ModelConfig.h"

#include <cstdint>
#include <string>
#include <vector>

namespace tessera::trainer {

struct Config;

/// A group of parameters: their number, and its formula in the names of
/// settings.
struct ParameterPart {
  std::string name, formula;
  int64_t count;
};

/// The resources that a run needs.
struct Plan {
  std::vector<ParameterPart> parts;
  int64_t parameters = 0;
  /// Bytes of fp32 weights, gradients and both moments, and of copies of the
  /// weights in runtime.precision.
  int64_t stateBytes = 0;
  /// Bytes that one micro-batch stores for its backward pass, plus the
  /// temporaries of that pass, with compiled kernels. Excludes memory that the
  /// allocator caches.
  int64_t activationBytes = 0;
  /// Floating-point operations of training, for each token: 6 for each weight
  /// of a matrix product, and 6 (dk + dv) for each head and each key that a
  /// query attends to, as the mean over the run's tokens.
  double weightFlops = 0, attentionFlops = 0;
  /// The part of activationBytes that logits take; 0 if they are not kept.
  int64_t logitsBytes = 0;
  /// Sequences and tokens of a sequence of the micro-batch of a process with
  /// these activationBytes: the one that takes most.
  int64_t sequences = 0, length = 0;
  std::vector<std::string> kernels; ///< Files of kernels/ that a step uses.
};

/// Returns whether a step keeps the logits of the loss.
/// runtime.loss_logits=auto keeps them on a GPU if the plan with them takes at
/// most 34e9 bytes, 85% of the memory of the smallest A100. The limit is the
/// same for all GPUs, so that a plan, a pack and a run name the same kernels.
bool keepsLogits(const Config &config);

/// Returns the config of the model that the run trains, in which
/// runtime.loss_logits is no longer auto.
models::ModelConfig modelOf(const Config &config);

/// Returns the plan of a run. Does not build the model.
Plan planOf(const Config &config);

/// Returns the plan as text, with steps and tokens.
std::string planText(const Config &config, const Plan &plan);

/// Throws tessera::Error if weights, gradients and moments exceed this
/// machine's memory.
void requireMemory(const Plan &plan);

} // namespace tessera::trainer
