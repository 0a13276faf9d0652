// trainer/optim/Muon.h - updates of matrices that are made orthogonal.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "models/Transformer.h"

namespace tessera::trainer {

struct Config;

/// Whether Muon updates a parameter: with train.optimizer=muon the projections
/// of attention and the matrices of the MLP; neither embedding nor head, nor
/// what makes gates or compresses.
bool usesMuon(const models::Parameter &parameter, const Config &config);

/// Five iterations of x <- a x + (b g + c g^2) x with g = x x^T, from the
/// matrix over its norm, computed in `type`: singular values end between 0.7
/// and 1.2, so that the result is near U V^T of the matrix U S V^T (Keller
/// Jordan, "Muon", 2024). [rows, columns], of `type`.
at::Tensor orthogonalized(const at::Tensor &matrix, at::ScalarType type);

/// One step for a parameter whose fp32 weights, gradient and momentum are
/// [rows, columns]: the momentum becomes the running mean of gradients, and the
/// orthogonal form of Nesterov's look-ahead times `rate` and
/// sqrt(max(1, rows / columns)) is subtracted, of each stacked matrix alone.
void muonStep(const models::Parameter &parameter, const at::Tensor &weight,
              const at::Tensor &gradient, const at::Tensor &momentum,
              double rate, const Config &config);

} // namespace tessera::trainer
