// reference/Gating.cpp - branch gates and the gated sum, forward and backward.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "reference/Gating.h"

#include <algorithm>
#include <cmath>

namespace tessera::reference {

void gate(Tensor logits, GateMode mode, double tau, Tensor gates) {
  for (int64_t t = 0; t < logits.size(0); ++t)
    for (int64_t h = 0; h < logits.size(1); ++h) {
      if (mode == GateMode::Sigmoid) {
        for (int c = 0; c < 3; ++c)
          gates(t, h, c) = 1 / (1 + std::exp(-logits(t, h, c) / tau));
        continue;
      }
      const double maximum =
          std::max({logits(t, h, 0), logits(t, h, 1), logits(t, h, 2)});
      double sum = 0;
      for (int c = 0; c < 3; ++c)
        sum += gates(t, h, c) = std::exp((logits(t, h, c) - maximum) / tau);
      for (int c = 0; c < 3; ++c)
        gates(t, h, c) /= sum;
    }
}

void gateBackward(Tensor gates, Tensor dgates, GateMode mode, double tau,
                  Tensor dlogits) {
  for (int64_t t = 0; t < gates.size(0); ++t)
    for (int64_t h = 0; h < gates.size(1); ++h) {
      double mean = 0;
      for (int c = 0; c < 3; ++c)
        mean += gates(t, h, c) * dgates(t, h, c);
      for (int c = 0; c < 3; ++c) {
        const double g = gates(t, h, c), dg = dgates(t, h, c);
        dlogits(t, h, c) +=
            g * (mode == GateMode::Sigmoid ? (1 - g) * dg : dg - mean) / tau;
      }
    }
}

void combine(Tensor compressed, Tensor selected, Tensor window, Tensor gates,
             Tensor out) {
  const int64_t group = out.size(1) / gates.size(1);
  for (int64_t t = 0; t < out.size(0); ++t)
    for (int64_t head = 0; head < out.size(1); ++head)
      for (int64_t c = 0; c < out.size(2); ++c)
        out(t, head, c) = gates(t, head / group, 0) * compressed(t, head, c) +
                          gates(t, head / group, 1) * selected(t, head, c) +
                          gates(t, head / group, 2) * window(t, head, c);
}

void combineBackward(Tensor compressed, Tensor selected, Tensor window,
                     Tensor gates, Tensor dout, Tensor dcompressed,
                     Tensor dselected, Tensor dwindow, Tensor dgates) {
  const int64_t group = dout.size(1) / gates.size(1);
  const Tensor branches[3] = {compressed, selected, window};
  const Tensor gradients[3] = {dcompressed, dselected, dwindow};
  for (int64_t t = 0; t < dout.size(0); ++t)
    for (int64_t head = 0; head < dout.size(1); ++head)
      for (int64_t c = 0; c < dout.size(2); ++c)
        for (int branch = 0; branch < 3; ++branch) {
          gradients[branch](t, head, c) +=
              gates(t, head / group, branch) * dout(t, head, c);
          dgates(t, head / group, branch) +=
              branches[branch](t, head, c) * dout(t, head, c);
        }
}

} // namespace tessera::reference
