// reference/Gating.h - branch gates and the gated sum, forward and backward.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "reference/Tensor.h"

namespace tessera::reference {

enum class GateMode { Softmax, Sigmoid };

// logits, gates [T, Hkv, 3] in the order compressed, selected, window.
// gates = softmax(logits / tau) over the three, or sigmoid(logits / tau) of
// each.
void gate(Tensor logits, GateMode mode, double tau, Tensor gates);
// Adds to dlogits.
void gateBackward(Tensor gates, Tensor dgates, GateMode mode, double tau,
                  Tensor dlogits);

// out = sum over branches of gate * branch; branches and out [T, Hq, dv], every
// head of a group uses the gates of its key head.
void combine(Tensor compressed, Tensor selected, Tensor window, Tensor gates,
             Tensor out);
// Adds to all gradients.
void combineBackward(Tensor compressed, Tensor selected, Tensor window,
                     Tensor gates, Tensor dout, Tensor dcompressed,
                     Tensor dselected, Tensor dwindow, Tensor dgates);

} // namespace tessera::reference
