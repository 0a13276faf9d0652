// trainer/optim/AdamW.h - AdamW, or Muon for some of the parameters, over fp32
// masters, whatever the model computes in.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "models/Transformer.h"

#include <utility>

namespace tessera::trainer {

enum class Precision : int;
struct Config;

/// Whether weight decay applies: to matrices, but to none that compress blocks
/// or make gates. Those begin at the mean and at even gates, and what little
/// gradient they get must not fight a pull towards zero.
bool decays(const models::Parameter &parameter);

/// Returns the element type of a precision.
at::ScalarType computeType(Precision precision);

/// The equal part of the optimizer's state that this process keeps and updates
/// (ZeRO stage 1, arXiv:1910.02054): one of all.
struct Shard {
  int64_t index = 0, count = 1;
};

/// fp32 weights, both moments, [n] each, and the steps done, fp32 []. Muon's
/// matrices, which come first, have no second moment.
struct OptimizerState {
  at::Tensor weight, first, second, count;
};

/// Weights, gradients and both moments are fp32, each in one buffer; parameters
/// begin at multiples of 64 elements in it. The model's parameters become
/// places in the buffer of weights, or, with another runtime.precision, in a
/// second one of rounded weights that every step refreshes. Moments, and fp32
/// weights beside rounded ones, are those of the shard alone.
/// With train.optimizer=muon there is one shard, and parameters of usesMuon()
/// (trainer/optim/Muon.h) have its momentum as their first moment.
class AdamW {
public:
  /// `parameters` hold the first weights in fp32 and must outlive this.
  AdamW(std::vector<models::Parameter> &parameters, const Config &config,
        Shard shard = {});

  /// Adds what autograd has left at the parameters to the fp32 gradients. To be
  /// called after each micro-batch, so that sums of rounded gradients are not
  /// rounded themselves.
  void gather();
  /// Does the same for one parameter.
  void gather(size_t parameter);
  /// Returns the range [first, last) of a parameter's elements in gradients().
  std::pair<int64_t, int64_t> rangeOf(size_t parameter) const;
  /// Returns all fp32 gradients, [n]; complete after gather().
  at::Tensor &gradients() { return gradient; }
  /// Returns the norm of all gradients, fp64 [] on their device, without a
  /// synchronization.
  at::Tensor norm();
  /// Divides the gradients by `lossScale`, which the loss was multiplied by,
  /// and scales them so that their common norm is at most config.clip; returns
  /// the norm they had before that. `read` is what norm() gave.
  double clip(double read, double lossScale);
  /// The same of the norm now. Reads one number from the device.
  double clip(double lossScale = 1);
  /// Of several shards each process updates its own: the others' weights are
  /// as they were until shareWeights() (trainer/parallel/StateShards.h).
  void step(double learningRate);
  void zeroGradients();

  Shard shard() const { return part; }
  /// All that a step depends on and changes, of this process's shard; the
  /// optimizer's own memory.
  OptimizerState own() const { return {master, first, second, count}; }
  /// What the model computes with, of all shards: [n].
  const at::Tensor &values() const { return computed; }
  /// The fp32 weights of a whole state, named and in the order of the
  /// parameters; without one those of the only shard.
  std::vector<models::Parameter> weights(const OptimizerState &whole) const;
  std::vector<models::Parameter> weights() const { return weights(own()); }
  /// Returns moments and step counts, named after their parameters.
  std::vector<models::Parameter> state(const OptimizerState &whole) const;
  std::vector<models::Parameter> state() const { return state(own()); }
  /// Hands weights of own() that were written from outside to the model.
  void refresh();

private:
  /// Of a buffer that begins with element `start` of all.
  at::Tensor placeOf(const at::Tensor &buffer, size_t index,
                     int64_t start = 0) const;
  void stepMatrices(double learningRate);
  /// Whether the model computes in less than fp32.
  bool rounds() const { return computed.scalar_type() != at::kFloat; }

  const Config &config;
  std::vector<models::Parameter> &parameters;
  std::vector<int64_t> begins; ///< Of each parameter, in elements.
  std::vector<std::vector<int64_t>> shapes;
  /// Elements of Muon's matrices, which come first; of these and all others
  /// that decay.
  int64_t orthogonal = 0, decayed = 0;
  const Shard part;
  int64_t from = 0, to = 0;         ///< Elements of the shard.
  at::Tensor computed, gradient;    ///< Of all shards.
  at::Tensor master, first, second; ///< Of this one; fp32 weights first.
  at::Tensor count;                 ///< Steps done, fp32 [].
};

} // namespace tessera::trainer
