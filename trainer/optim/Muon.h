// trainer/optim/Muon.h - Muon's update, which orthogonalizes the momentum of
// matrices. AdamW.h calls it.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "models/Transformer.h"

#include <vector>

namespace tessera::trainer {

struct Config;

enum class Orthogonalization : int;

/// Returns true if Muon updates a parameter. With train.optimizer=muon these
/// are the projections of attention and the matrices of the MLP. AdamW updates
/// all others, among them the embedding, the head, gates and compression.
bool usesMuon(const models::Parameter &parameter, const Config &config);

/// Returns each matrix [rows, columns] orthogonalized, with elements of `type`.
/// Divides the matrix by its norm, then applies five polynomials:
///
///   x <- a x + (b g + c g^2) x with g = x x^T
///
/// NewtonSchulz uses the same a, b and c five times (Keller Jordan, "Muon",
/// 2024): singular values end between 0.7 and 1.2, so the result approximates U
/// V^T of the matrix U S V^T. PolarExpress uses the five polynomials of
/// arXiv:2505.16932: singular values of a thousandth of the norm and more end
/// between 0.85 and 1.15.
std::vector<at::Tensor> orthogonalized(const std::vector<at::Tensor> &matrices,
                                       at::ScalarType type,
                                       Orthogonalization method);

/// A parameter that Muon updates: fp32 weights, gradient and momentum, each
/// [rows, columns]. `stacked` has the row counts of the matrices stacked in it;
/// empty: a single matrix. `second`, fp32 [rows], is undefined without
/// train.muon_normalize.
struct MuonParameter {
  at::Tensor weight, gradient, momentum;
  std::vector<int64_t> stacked;
  at::Tensor second = {};
};

/// Returns NorMuon's update of a matrix, fp32 (arXiv:2510.05491): each row of
/// `update` divided by the root of `second`, which becomes the running mean of
/// the rows' mean squares. The result is scaled to the norm of `update`.
at::Tensor normalizedRows(const at::Tensor &update, const at::Tensor &second,
                          double beta2);

/// Updates the parameters. Applies weight decay, with
/// train.cautious_decay only to weights whose sign is that of the update; each
/// momentum becomes the running mean of gradients. From each stacked matrix the
/// function subtracts the orthogonalized Nesterov look-ahead (with
/// train.muon_normalize its normalizedRows()) times `rate` and sqrt(max(1, rows
/// / columns)). Small matrices are computed in groups, so that
/// all CPU threads have work.
void muonStep(const std::vector<MuonParameter> &parameters, double rate,
              const Config &config);

} // namespace tessera::trainer
