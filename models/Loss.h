// models/Loss.h - the loss of a forward pass.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "models/Transformer.h"

namespace tessera::models {

/// A target that is none, as torch has it.
constexpr int64_t noTarget = -100;

/// Mean cross-entropy in nats of the targets, int64 [B, S], that are not
/// noTarget; NaN without any. Of a forward pass with or without
/// ForwardOptions::targets. fp32 [].
at::Tensor meanLoss(const ForwardResult &result, const at::Tensor &targets);

/// That of each token, 0 where there is no target; fp32 [B * S].
at::Tensor tokenLosses(const ForwardResult &result, const at::Tensor &targets);

} // namespace tessera::models
