// models/SoftcapLoss.h - cross-entropy of softcapped logits that are not
// stored.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "models/ModelConfig.h"

#include <ATen/core/Tensor.h>

namespace tessera::models {

/// Returns cap * tanh(logits / cap), in the logits' type.
at::Tensor softcapped(const at::Tensor &logits, double cap);

/// Returns the cross-entropy in nats, fp32 [T], of softcapped(hidden *
/// weight^T) and the targets int64 [T]; 0 where the target is -100. hidden [T,
/// dim], weight [V, dim]. Forward and backward pass compute the logits of
/// softcapRows() tokens at a time; the backward pass recomputes them.
at::Tensor softcapLoss(const at::Tensor &hidden, const at::Tensor &weight,
                       const at::Tensor &targets, double cap);

} // namespace tessera::models
