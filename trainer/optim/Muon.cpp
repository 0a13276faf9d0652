// trainer/optim/Muon.cpp - momentum, groups of matrices, and Newton-Schulz
// iterations.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "trainer/optim/Muon.h"

#include "models/Linear.h"
#include "trainer/optim/AdamW.h"
#include "trainer/settings/Config.h"

#include <ATen/ATen.h>
#include <algorithm>
#include <array>
#include <cmath>

namespace tessera::trainer {

bool usesMuon(const models::Parameter &p, const Config &config) {
  return config.optimizer == OptimizerKind::Muon && p.value.dim() == 2 &&
         decays(p) && p.name.starts_with("blocks.") &&
         !p.name.ends_with(".learned");
}

namespace {

/// a, b and c of a polynomial.
using Coefficients = std::array<double, 3>;

constexpr Coefficients jordan = {3.4445, -4.7750, 2.0315};
constexpr std::array<Coefficients, 5> newtonSchulz = {jordan, jordan, jordan,
                                                      jordan, jordan};
/// Optimal polynomials for five iterations in low precision, for norms of at
/// most 1 / polarMargin. They are the output of the paper's program for l =
/// 1e-3, a cushion of 0.02 and a safety factor of 0.02.
constexpr std::array<Coefficients, 5> polarExpress = {
    {{8.156554524902461, -22.48329292557795, 15.878769915207462},
     {4.042929935166739, -2.808917465908714, 0.5000178451051316},
     {3.8916678022926607, -2.772484153217685, 0.5060648178503393},
     {3.285753657755655, -2.3681294933425376, 0.46449024233003106},
     {2.3465413258596377, -1.7097828382687081, 0.42323551169305323}}};
constexpr double polarMargin = 1.02;

} // namespace

std::vector<at::Tensor> orthogonalized(const std::vector<at::Tensor> &matrices,
                                       at::ScalarType type,
                                       Orthogonalization method) {
  constexpr double tiny = 1e-7;
  const bool polar = method == Orthogonalization::PolarExpress;
  std::vector<at::Tensor> x, transposed(matrices.size());
  for (const at::Tensor &matrix : matrices) {
    at::Tensor norm = matrix.norm().clamp_min(tiny);
    if (polar)
      norm = norm * polarMargin;
    x.push_back((matrix / norm).to(type));
    if (matrix.size(0) > matrix.size(1))
      x.back() = x.back().t(); // so that x x^T is the smaller Gram matrix
  }
  for (const auto &[a, b, c] : polar ? polarExpress : newtonSchulz) {
    // Computes a x + (b g + c g g) x as (a + g (b + c g)) x. A product that
    // accumulates into a matrix would first copy that matrix.
    for (size_t k = 0; k < x.size(); ++k)
      transposed[k] = x[k].t();
    const std::vector<at::Tensor> grams = models::products(x, transposed);
    std::vector<at::Tensor> factors;
    for (const at::Tensor &gram : grams) {
      factors.push_back(gram * c);
      factors.back().diagonal().add_(b);
    }
    factors = models::products(grams, factors);
    for (const at::Tensor &factor : factors)
      factor.diagonal().add_(a);
    x = models::products(factors, x);
  }
  for (size_t k = 0; k < x.size(); ++k)
    if (matrices[k].size(0) > matrices[k].size(1))
      x[k] = x[k].t();
  return x;
}

namespace {

// Matrices that one call of orthogonalized() computes, their Nesterov
// look-aheads, both views of [rows, columns], and the rows' second moments.
struct Group {
  std::vector<at::Tensor> weights, aheads, seconds;
  int64_t elements = 0;

  /// Adds the matrix of the parameter's rows [first, first + rows).
  void add(const MuonParameter &p, const at::Tensor &ahead, int64_t first,
           int64_t rows) {
    weights.push_back(p.weight.narrow(0, first, rows));
    aheads.push_back(ahead.narrow(0, first, rows));
    seconds.push_back(p.second.defined() ? p.second.narrow(0, first, rows)
                                         : at::Tensor());
    elements += weights.back().numel();
  }
  void update(double rate, at::ScalarType type, const Config &config);
};

void Group::update(double rate, at::ScalarType type, const Config &config) {
  std::vector<at::Tensor> steps =
      orthogonalized(aheads, type, config.orthogonalization);
  for (size_t i = 0; i < steps.size(); ++i) {
    if (seconds[i].defined())
      steps[i] = normalizedRows(steps[i], seconds[i], config.muonBeta2);
    const double rows = double(weights[i].size(0)),
                 columns = double(weights[i].size(1));
    if (config.cautiousDecay)
      cautiousDecay(weights[i], weights[i], steps[i],
                    rate * config.weightDecay);
    weights[i].sub_(steps[i], rate * std::sqrt(std::max(1.0, rows / columns)));
  }
  *this = {};
}

} // namespace

at::Tensor normalizedRows(const at::Tensor &update, const at::Tensor &second,
                          double beta2) {
  constexpr double tiny = 1e-10; // an update of zeros stays zero
  const at::Tensor x = update.to(at::kFloat);
  const double columns = double(x.size(1));
  second.lerp_(at::linalg_vector_norm(x, 2, at::IntArrayRef{1}).square() /
                   columns,
               1 - beta2);
  at::Tensor scaled = x / second.sqrt().add(tiny).unsqueeze(1);
  return scaled.mul_(x.norm() / scaled.norm().clamp_min(tiny));
}

void muonStep(const std::vector<MuonParameter> &parameters, double rate,
              const Config &config) {
  const at::NoGradGuard noGrad;
  // Powers of small values underflow in fp16.
  const at::ScalarType type =
      config.precision == Precision::Fp32 ? at::kFloat : at::kBFloat16;
  // Limits the elements of a group of several matrices. The update needs about
  // five times their memory, and the memory plan ignores that amount.
  constexpr int64_t most = int64_t{1} << 15;
  Group group;
  for (const MuonParameter &p : parameters) {
    p.momentum.lerp_(p.gradient, 1 - config.muonMomentum);
    const at::Tensor ahead = p.gradient.lerp(p.momentum, config.muonMomentum);
    if (!config.cautiousDecay)
      p.weight.mul_(1 - rate * config.weightDecay);
    std::vector<int64_t> stacked = p.stacked;
    if (stacked.empty())
      stacked.push_back(p.weight.size(0));
    int64_t first = 0;
    for (const int64_t rows : stacked) {
      if (group.elements + rows * p.weight.size(1) > most)
        group.update(rate, type, config);
      group.add(p, ahead, first, rows);
      first += rows;
    }
  }
  group.update(rate, type, config);
}

} // namespace tessera::trainer
