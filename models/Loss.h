// models/Loss.h - the loss of a forward pass.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "models/Transformer.h"

namespace tessera::models {

/// Marks a token without a target; torch's default ignore_index.
constexpr int64_t noTarget = -100;

/// Returns the mean cross-entropy in nats over the targets, int64 [B, S], other
/// than noTarget; NaN without any. `result` may come from a forward pass with
/// or without ForwardOptions::targets. fp32 [].
at::Tensor meanLoss(const ForwardResult &result, const at::Tensor &targets);

/// Returns the loss of each token, 0 for a token without a target; fp32 [B *
/// S].
at::Tensor tokenLosses(const ForwardResult &result, const at::Tensor &targets);

} // namespace tessera::models
