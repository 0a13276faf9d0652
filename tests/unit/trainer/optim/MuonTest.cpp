// tests/unit/trainer/optim/MuonTest.cpp - Muon against its formula in fp64, and
// which parameters it updates.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "trainer/optim/Muon.h"

#include "trainer/optim/AdamW.h"
#include "trainer/settings/Config.h"
#include "trainer/settings/Plan.h"

#include <ATen/ATen.h>
#include <array>
#include <cmath>
#include <gtest/gtest.h>
#include <numeric>
#include <set>
#include <tuple>

using namespace tessera;
using namespace tessera::trainer;

namespace {

/// [rows][columns]
using Matrix = std::vector<std::vector<double>>;

Matrix product(const Matrix &a, const Matrix &b) {
  Matrix c(a.size(), std::vector<double>(b[0].size()));
  for (size_t i = 0; i < a.size(); ++i)
    for (size_t k = 0; k < b.size(); ++k)
      for (size_t j = 0; j < b[0].size(); ++j)
        c[i][j] += a[i][k] * b[k][j];
  return c;
}

Matrix turned(const Matrix &a) {
  Matrix t(a[0].size(), std::vector<double>(a.size()));
  for (size_t i = 0; i < a.size(); ++i)
    for (size_t j = 0; j < a[0].size(); ++j)
      t[j][i] = a[i][j];
  return t;
}

/// (a + (b + c x x^T) x x^T) x, five times, without turning what has more rows
/// than columns; x is divided by its norm times `margin` first.
Matrix iterated(Matrix x, const std::vector<std::array<double, 3>> &polynomials,
                double margin) {
  double squares = 0;
  for (const auto &row : x)
    for (const double v : row)
      squares += v * v;
  for (auto &row : x)
    for (double &v : row)
      v /= std::sqrt(squares) * margin;
  for (const auto &[a, b, c] : polynomials) {
    const Matrix gram = product(x, turned(x)), once = product(gram, x),
                 twice = product(gram, once);
    for (size_t i = 0; i < x.size(); ++i)
      for (size_t j = 0; j < x[0].size(); ++j)
        x[i][j] = a * x[i][j] + b * once[i][j] + c * twice[i][j];
  }
  return x;
}

Matrix newtonSchulz(const Matrix &x) {
  return iterated(x, std::vector(5, std::array{3.4445, -4.7750, 2.0315}), 1);
}

/// The polynomials of arXiv:2505.16932 for five iterations.
Matrix polarExpress(const Matrix &x) {
  return iterated(
      x,
      {{8.156554524902461, -22.48329292557795, 15.878769915207462},
       {4.042929935166739, -2.808917465908714, 0.5000178451051316},
       {3.8916678022926607, -2.772484153217685, 0.5060648178503393},
       {3.285753657755655, -2.3681294933425376, 0.46449024233003106},
       {2.3465413258596377, -1.7097828382687081, 0.42323551169305323}},
      1.02);
}

Matrix matrixOf(const at::Tensor &t) {
  Matrix m(size_t(t.size(0)), std::vector<double>(size_t(t.size(1))));
  for (int64_t i = 0; i < t.size(0); ++i)
    for (int64_t j = 0; j < t.size(1); ++j)
      m[size_t(i)][size_t(j)] = t[i][j].item<double>();
  return m;
}

Config muonConfig() {
  Config c;
  c.optimizer = OptimizerKind::Muon;
  c.learningRate = 0.004;
  c.muonRate = 0.02;
  c.muonMomentum = 0.9;
  c.weightDecay = 0.1;
  c.clip = 0;
  c.model.layers = 1;
  c.model.dim = 16;
  c.model.heads = 2;
  c.model.kvHeads = 1;
  c.model.keyDim = c.model.valueDim = 8;
  c.model.mlpDim = 40;
  c.model.mlp = models::MlpKind::SwiGlu;
  c.model.vocabulary = 32;
  return c;
}

/// NorMuon's form of an update (arXiv:2510.05491): rows divided by the roots of
/// `second`, the running means of their mean squares; the norm stays.
void normalize(Matrix &update, std::vector<double> &second, double beta2) {
  double before = 0, after = 0;
  for (size_t r = 0; r < update.size(); ++r) {
    double squares = 0;
    for (const double v : update[r])
      squares += v * v;
    before += squares;
    second[r] =
        beta2 * second[r] + (1 - beta2) * squares / double(update[r].size());
    for (double &v : update[r])
      v /= std::sqrt(second[r]);
    after += squares / second[r];
  }
  for (auto &row : update)
    for (double &v : row)
      v *= std::sqrt(before / after);
}

/// Polynomials, cautious weight decay and normalized rows.
class MuonForms
    : public testing::TestWithParam<std::tuple<Orthogonalization, bool, bool>> {
};

// Momentum, Nesterov, weight decay and the scale by the shape over three steps;
// tall, wide and stacked matrices, each of a stack by itself.
TEST_P(MuonForms, FollowTheFormulaOfEachMatrix) {
  Config c = muonConfig();
  std::tie(c.orthogonalization, c.cautiousDecay, c.muonNormalize) = GetParam();
  c.muonBeta2 = 0.8;
  const bool polar = c.orthogonalization == Orthogonalization::PolarExpress;
  int kept = 0;
  at::manual_seed(1);
  const auto parameter = [](const char *name, int64_t rows, int64_t columns) {
    return models::Parameter{
        name, at::randn({rows, columns}).set_requires_grad(true)};
  };
  std::vector<models::Parameter> all = {
      parameter("blocks.0.mlp.in", 12, 5), parameter("blocks.0.mlp.out", 5, 12),
      parameter("blocks.0.attention.qkv", 14, 6)};
  all[2].stacked = {8, 3, 3};
  // First row, rows and parameter of each matrix.
  const std::vector<std::array<size_t, 3>> matrices = {
      {0, 12, 0}, {0, 5, 1}, {0, 8, 2}, {8, 3, 2}, {11, 3, 2}};
  std::vector<Matrix> weights, momenta;
  for (const auto &p : all) {
    weights.push_back(matrixOf(p.value.detach()));
    momenta.emplace_back(weights.back().size(),
                         std::vector<double>(weights.back()[0].size()));
  }
  AdamW optimizer(all, c);
  std::vector<std::vector<double>> seconds;
  for (const auto &[first, rows, i] : matrices)
    seconds.emplace_back(rows);
  for (int step = 1; step <= 3; ++step) {
    std::vector<Matrix> ahead;
    for (size_t i = 0; i < all.size(); ++i) {
      const at::Tensor gradient = at::randn(all[i].value.sizes());
      all[i].value.mutable_grad() = gradient;
      ahead.push_back(matrixOf(gradient));
      for (size_t r = 0; r < ahead[i].size(); ++r)
        for (size_t k = 0; k < ahead[i][r].size(); ++k) {
          double &m = momenta[i][r][k], &g = ahead[i][r][k];
          m = 0.9 * m + 0.1 * g;
          g = 0.1 * g + 0.9 * m;
        }
    }
    optimizer.step(0.004 / step);
    const double rate = 0.02 / step;
    for (size_t m = 0; m < matrices.size(); ++m) {
      const auto &[first, rows, i] = matrices[m];
      const auto begin = ahead[i].begin() + long(first);
      const Matrix given(begin, begin + long(rows));
      Matrix update = polar ? polarExpress(given) : newtonSchulz(given);
      if (c.muonNormalize)
        normalize(update, seconds[m], 0.8);
      const double columns = double(update[0].size()),
                   scale = std::sqrt(std::max(1.0, double(rows) / columns));
      for (size_t r = 0; r < rows; ++r)
        for (size_t k = 0; k < update[0].size(); ++k) {
          double &w = weights[i][first + r][k];
          const bool decays = !c.cautiousDecay || w * update[r][k] >= 0;
          kept += !decays;
          w = w * (1 - rate * (decays ? 0.1 : 0)) - rate * scale * update[r][k];
        }
    }
  }
  for (size_t i = 0; i < all.size(); ++i) {
    const Matrix got = matrixOf(all[i].value.detach());
    for (size_t r = 0; r < got.size(); ++r)
      for (size_t k = 0; k < got[r].size(); ++k)
        EXPECT_NEAR(got[r][k], weights[i][r][k], 2e-6) << all[i].name;
  }
  EXPECT_EQ(kept > 100, c.cautiousDecay) << kept;
}

INSTANTIATE_TEST_SUITE_P(
    All, MuonForms,
    testing::Combine(testing::Values(Orthogonalization::NewtonSchulz,
                                     Orthogonalization::PolarExpress),
                     testing::Bool(), testing::Bool()));

// A step's gradient of zeros changes neither weights nor the moments' meaning.
TEST(Muon, NormalizesAnUpdateOfZeros) {
  const at::Tensor second = at::zeros({3});
  const at::Tensor zeros = normalizedRows(at::zeros({3, 4}), second, 0.9);
  EXPECT_EQ(zeros.abs().sum().item<double>(), 0);
  EXPECT_EQ(second.sum().item<double>(), 0);
  const at::Tensor rows =
      at::ones({3, 4}) * at::tensor({1.0, 4.0, 0.0}).view({3, 1});
  const at::Tensor made = normalizedRows(rows.to(at::kBFloat16), second, 0.9);
  EXPECT_EQ(made.scalar_type(), at::kFloat);
  EXPECT_TRUE(at::allclose(second, at::tensor({0.1f, 1.6f, 0.0f})));
  // Both rows have the same size now, and together the norm of before.
  EXPECT_TRUE(
      at::allclose(made.select(1, 0).square(), at::tensor({8.5f, 8.5f, 0.0f})))
      << made;
}

// A step over several groups of matrices is the step of each parameter alone.
TEST(Muon, GroupsDoNotMixParameters) {
  const Config c = muonConfig();
  at::manual_seed(5);
  std::vector<MuonParameter> together, alone;
  for (const std::vector<int64_t> &stacked :
       {std::vector<int64_t>{150}, {150, 30}, {40}, {200}, {20}}) {
    const int64_t rows = std::accumulate(stacked.begin(), stacked.end(), 0);
    together.push_back({at::randn({rows, 150}), at::randn({rows, 150}),
                        at::randn({rows, 150}), stacked});
    alone.push_back({together.back().weight.clone(), together.back().gradient,
                     together.back().momentum.clone(), stacked});
  }
  muonStep(together, 0.02, c);
  for (size_t i = 0; i < alone.size(); ++i) {
    muonStep({alone[i]}, 0.02, c);
    EXPECT_TRUE(at::equal(together[i].weight, alone[i].weight)) << i;
    EXPECT_TRUE(at::equal(together[i].momentum, alone[i].momentum)) << i;
  }
}

// Singular values end near 1, in fp32 and in bf16, whatever they were.
TEST(Muon, SingularValuesEndNearOne) {
  at::manual_seed(2);
  for (const auto type : {at::kFloat, at::kBFloat16})
    for (const auto &[rows, columns] :
         {std::pair{24, 40}, std::pair{40, 24}, std::pair{32, 32}}) {
      const at::Tensor x = at::randn({rows, columns}) * 1e-3;
      const at::Tensor made =
          orthogonalized({x}, type, Orthogonalization::NewtonSchulz)[0].to(
              at::kDouble);
      const at::Tensor values = at::linalg_svdvals(made);
      // The smallest values of a square matrix have not grown to the band yet.
      const int64_t from = rows == columns ? 4 : 0;
      const at::Tensor sure = values.narrow(0, 0, values.size(0) - from);
      EXPECT_GT(sure.min().item<double>(), 0.6);
      EXPECT_LT(values.max().item<double>(), 1.3);
    }
  const at::Tensor zeros = orthogonalized({at::zeros({3, 4})}, at::kFloat,
                                          Orthogonalization::NewtonSchulz)[0];
  EXPECT_EQ(zeros.abs().sum().item<float>(), 0);
}

// Polar Express brings values of a thousandth of the norm near 1, where
// Newton-Schulz does not.
TEST(Muon, PolarExpressReachesSmallSingularValues) {
  at::manual_seed(6);
  const at::Tensor u = std::get<0>(at::linalg_qr(at::randn({16, 16}))),
                   v = std::get<0>(at::linalg_qr(at::randn({24, 16})));
  const at::Tensor values = at::logspace(-2.9, 0, 16);
  const at::Tensor x = at::mm(u * values, v.t());
  const auto smallest = [&](Orthogonalization method, at::ScalarType type) {
    const at::Tensor got = at::linalg_svdvals(
        orthogonalized({x}, type, method)[0].to(at::kDouble));
    EXPECT_LT(got.max().item<double>(), 1.25);
    return got.min().item<double>();
  };
  EXPECT_LT(smallest(Orthogonalization::NewtonSchulz, at::kFloat), 0.6);
  EXPECT_GT(smallest(Orthogonalization::PolarExpress, at::kFloat), 0.6);
  EXPECT_GT(smallest(Orthogonalization::PolarExpress, at::kBFloat16), 0.6);
}

// The group of a matrix does not change its bits.
TEST(Muon, MatricesOfAGroupAreIndependent) {
  at::manual_seed(4);
  std::vector<at::Tensor> all;
  for (const auto &[rows, columns] :
       {std::pair{24, 40}, std::pair{300, 20}, std::pair{1, 7}})
    all.push_back(at::randn({rows, columns}));
  const auto made = [](const std::vector<at::Tensor> &matrices) {
    return orthogonalized(matrices, at::kFloat,
                          Orthogonalization::PolarExpress);
  };
  const std::vector<at::Tensor> together = made(all);
  for (size_t i = 0; i < all.size(); ++i)
    EXPECT_TRUE(at::equal(together[i], made({all[i]})[0])) << i;
  EXPECT_TRUE(made({}).empty());
}

// The blocks' matrices, and no other; the others' updates are AdamW's bits.
TEST(Muon, UpdatesTheMatricesOfTheBlocks) {
  for (const auto precision : {Precision::Fp32, Precision::Bf16}) {
    std::vector<std::vector<at::Tensor>> after;
    std::set<std::string> muons;
    for (const auto kind : {OptimizerKind::AdamW, OptimizerKind::Muon}) {
      Config c = muonConfig();
      c.optimizer = kind;
      c.precision = precision;
      models::Transformer model(c.model, models::KernelSource::Torch, 1);
      AdamW optimizer(model.parameters(), c);
      at::manual_seed(3);
      for (auto &p : model.parameters()) {
        p.value.mutable_grad() =
            at::randn(p.value.sizes()).to(p.value.scalar_type());
        if (usesMuon(p, c))
          muons.insert(p.name);
      }
      optimizer.clip();
      optimizer.step(0.004);
      after.emplace_back();
      for (const auto &p : optimizer.weights())
        after.back().push_back(p.value.clone());
      std::set<std::string> seconds;
      for (const auto &p : optimizer.state())
        if (p.name.ends_with(".second"))
          seconds.insert(p.name);
      EXPECT_EQ(seconds.size() + muons.size(), model.parameters().size());
    }
    EXPECT_EQ(muons, (std::set<std::string>{
                         "blocks.0.attention.qkv", "blocks.0.attention.output",
                         "blocks.0.mlp.in", "blocks.0.mlp.gated",
                         "blocks.0.mlp.out"}));
    Config c = muonConfig();
    models::Transformer model(c.model, models::KernelSource::Torch, 1);
    for (size_t i = 0; i < after[0].size(); ++i)
      EXPECT_EQ(after[0][i].equal(after[1][i]),
                !muons.contains(model.parameters()[i].name))
          << model.parameters()[i].name;
  }
}

// --dry-run counts what the optimizer has: 4 bytes less for each element of
// these matrices.
TEST(Muon, APlanCountsItsState) {
  Config c = muonConfig();
  models::Transformer model(c.model, models::KernelSource::Torch, 1);
  int64_t elements = 0;
  for (const auto &p : model.parameters())
    elements += usesMuon(p, c) ? p.value.numel() : 0;
  const Plan plan = planOf(c);
  EXPECT_EQ(plan.parameters, model.parameterCount());
  EXPECT_EQ(plan.stateBytes, 16 * plan.parameters - 4 * elements);
  c.muonNormalize = true;
  const AdamW optimizer(model.parameters(), c);
  EXPECT_EQ(planOf(c).stateBytes - plan.stateBytes,
            int64_t(optimizer.own().rows.nbytes()));
}

// The second moments of rows are part of the state, by parameter.
TEST(Muon, StoresTheMomentsOfRows) {
  Config c = muonConfig();
  c.muonNormalize = true;
  models::Transformer model(c.model, models::KernelSource::Torch, 1);
  AdamW optimizer(model.parameters(), c);
  at::manual_seed(3);
  for (auto &p : model.parameters())
    p.value.mutable_grad() = at::randn(p.value.sizes());
  optimizer.step(0.004);
  int seconds = 0;
  for (const auto &p : optimizer.state()) {
    if (!p.name.ends_with(".second"))
      continue;
    ++seconds;
    EXPECT_GT(p.value.abs().sum().item<double>(), 0) << p.name;
    for (const auto &weight : model.parameters())
      if (weight.name + ".second" == p.name) {
        EXPECT_EQ(p.value.sizes(), usesMuon(weight, c)
                                       ? weight.value.sizes().slice(0, 1)
                                       : weight.value.sizes());
      }
  }
  EXPECT_EQ(seconds, int(model.parameters().size()));
}

} // namespace
