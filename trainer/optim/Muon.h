// trainer/optim/Muon.h - updates of matrices that are made orthogonal.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "models/Transformer.h"

#include <vector>

namespace tessera::trainer {

struct Config;

/// Whether Muon updates a parameter: with train.optimizer=muon the projections
/// of attention and the matrices of the MLP; neither embedding nor head, nor
/// what makes gates or compresses.
bool usesMuon(const models::Parameter &parameter, const Config &config);

/// Returns the orthogonal form of each matrix [rows, columns], of `type`: five
/// iterations of x <- a x + (b g + c g^2) x with g = x x^T, from the matrix
/// over its norm. Singular values end between 0.7 and 1.2, so that the result
/// is near U V^T of the matrix U S V^T (Keller Jordan, "Muon", 2024).
std::vector<at::Tensor> orthogonalized(const std::vector<at::Tensor> &matrices,
                                       at::ScalarType type);

/// A parameter that Muon updates: fp32 weights, gradient and momentum, each
/// [rows, columns]. `stacked` has the rows of each matrix in it; empty: one.
struct MuonParameter {
  at::Tensor weight, gradient, momentum;
  std::vector<int64_t> stacked;
};

/// One step: each momentum becomes the running mean of gradients, and the
/// orthogonal form of Nesterov's look-ahead times `rate` and
/// sqrt(max(1, rows / columns)) is subtracted from each stacked matrix.
/// Matrices are computed in groups, so that small ones keep all threads busy.
void muonStep(const std::vector<MuonParameter> &parameters, double rate,
              const Config &config);

} // namespace tessera::trainer
