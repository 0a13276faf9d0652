// trainer/AdamW.h - AdamW over fp32 masters, whatever the model computes in.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "models/Transformer.h"

#include <utility>

namespace tessera::trainer {

struct Config;

/// Whether weight decay applies: to matrices, but to none that compress blocks
/// or make gates. Those begin at the mean and at even gates, and what little
/// gradient they get must not fight a pull towards zero.
bool decays(const models::Parameter &parameter);

/// What the model computes in.
at::ScalarType computeType(const Config &config);

/// Weights, gradients and both moments are fp32, each in one buffer; parameters
/// begin at multiples of 64 elements in it. The model's parameters become
/// places in the buffer of weights, or, with another runtime.precision, in a
/// second one of rounded weights that every step refreshes.
class AdamW {
public:
  /// `parameters` hold the first weights in fp32 and must outlive this.
  AdamW(std::vector<models::Parameter> &parameters, const Config &config);

  /// Adds what autograd has left at the parameters to the fp32 gradients. To be
  /// called after each micro-batch, so that sums of rounded gradients are not
  /// rounded themselves.
  void gather();
  /// The same of one parameter.
  void gather(size_t parameter);
  /// The elements of gradients() that belong to a parameter, from and to.
  std::pair<int64_t, int64_t> rangeOf(size_t parameter) const;
  /// All fp32 gradients, after gather(): [n].
  at::Tensor &gradients() { return gradient; }
  /// Divides the gradients by `lossScale`, which the loss was multiplied by,
  /// and scales them so that their common norm is at most config.clip; returns
  /// the norm they had before that. Reads one number from the device.
  double clip(double lossScale = 1);
  void step(double learningRate);
  void zeroGradients();

  /// The fp32 weights, named and in the order of the parameters.
  std::vector<models::Parameter> weights() const;
  /// All that a step depends on and changes: weights and state in their
  /// buffers.
  std::vector<at::Tensor> buffers() { return {weight, first, second, count}; }
  /// Moments and step counts, named after their parameters.
  std::vector<models::Parameter> state() const;
  /// Hands weights() that were written from outside to the model.
  void refresh();

private:
  at::Tensor placeOf(const at::Tensor &buffer, size_t index) const;

  const Config &config;
  std::vector<models::Parameter> &parameters;
  std::vector<int64_t> begins; ///< Of each parameter, in elements.
  std::vector<std::vector<int64_t>> shapes;
  int64_t decayed = 0; ///< Elements of those that decay; they come first.
  at::Tensor weight, gradient, first, second;
  at::Tensor rounded; ///< Undefined in fp32.
  at::Tensor count;   ///< Steps done, fp32 [].
};

} // namespace tessera::trainer
