// trainer/optim/Muon.cpp - momentum and Newton-Schulz iterations.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "trainer/optim/Muon.h"

#include "models/Linear.h"
#include "trainer/optim/AdamW.h"
#include "trainer/settings/Config.h"

#include <ATen/ATen.h>
#include <algorithm>
#include <cmath>

namespace tessera::trainer {

bool usesMuon(const models::Parameter &p, const Config &config) {
  return config.optimizer == OptimizerKind::Muon && p.value.dim() == 2 &&
         decays(p) && p.name.starts_with("blocks.") &&
         !p.name.ends_with(".learned");
}

at::Tensor orthogonalized(const at::Tensor &matrix, at::ScalarType type) {
  constexpr double a = 3.4445, b = -4.7750, c = 2.0315, tiny = 1e-7;
  constexpr int iterations = 5;
  at::Tensor x = (matrix / matrix.norm().clamp_min(tiny)).to(type);
  const bool tall = x.size(0) > x.size(1);
  if (tall)
    x = x.t(); // the smaller product of itself
  for (int i = 0; i < iterations; ++i) {
    // a x + (b g + c g g) x as (a + g (b + c g)) x: products that add to a
    // matrix would copy it first.
    const at::Tensor gram = models::product(x, x.t());
    at::Tensor factor = gram * c;
    factor.diagonal().add_(b);
    factor = models::product(gram, factor);
    factor.diagonal().add_(a);
    x = models::product(factor, x);
  }
  return tall ? x.t() : x;
}

void muonStep(const models::Parameter &parameter, const at::Tensor &weight,
              const at::Tensor &gradient, const at::Tensor &momentum,
              double rate, const Config &config) {
  const at::NoGradGuard noGrad;
  momentum.lerp_(gradient, 1 - config.muonMomentum);
  const at::Tensor ahead = gradient.lerp(momentum, config.muonMomentum);
  weight.mul_(1 - rate * config.weightDecay);
  // fp16 would not hold the powers of small values.
  const at::ScalarType type =
      config.precision == Precision::Fp32 ? at::kFloat : at::kBFloat16;
  std::vector<int64_t> stacked = parameter.stacked;
  if (stacked.empty())
    stacked.push_back(weight.size(0));
  int64_t first = 0;
  for (const int64_t rows : stacked) {
    const double scale =
        std::sqrt(std::max(1.0, double(rows) / double(weight.size(1))));
    weight.narrow(0, first, rows)
        .sub_(orthogonalized(ahead.narrow(0, first, rows), type), rate * scale);
    first += rows;
  }
}

} // namespace tessera::trainer
