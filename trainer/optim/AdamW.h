// trainer/optim/AdamW.h - the optimizer: AdamW, with Muon for some matrices.
// The training loop updates all parameters of a model with it.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "models/Transformer.h"

#include <utility>

namespace tessera::trainer {

enum class Precision : int;
struct Config;

/// Returns true if weight decay applies to a parameter: to matrices, except
/// those of gates and of block compression. The latter start as a mean over the
/// block and as equal gates. Their gradients are too small to counteract a
/// decay towards zero.
bool decays(const models::Parameter &parameter);

/// Subtracts decay * before from each element of `weight` whose `before` has
/// the sign of `update`, or where one of both is zero: cautious weight decay
/// (arXiv:2510.12402). The optimizer subtracts a positive multiple of `update`.
void cautiousDecay(const at::Tensor &weight, const at::Tensor &before,
                   const at::Tensor &update, double decay);

/// Returns the element type in which the model computes at a precision.
at::ScalarType computeType(Precision precision);

/// The range of the optimizer's state that this process stores and updates:
/// number `index` of `count` ranges of equal size (ZeRO stage 1,
/// arXiv:1910.02054). The default is the complete state.
struct Shard {
  int64_t index = 0, count = 1;
};

/// Tensors of the optimizer's state: fp32 weights and the two moments, each
/// [n], and the number of completed steps, fp32 []. Muon's matrices come first
/// and are not part of `second`. `rows` has the second moments of their rows,
/// fp32 [rows of all matrices]; empty without train.muon_normalize.
struct OptimizerState {
  at::Tensor weight, first, second, count, rows;
};

/// Updates the parameters of a model from fp32 weights, gradients and moments.
/// Each of these is one flat buffer, in which parameters start at multiples of
/// 64 elements. The model's parameters are views of the buffer of weights. If
/// runtime.precision is bf16 or fp16, they are views of a second buffer, which
/// each step fills with rounded weights. The moments and, with rounded weights,
/// the fp32 weights cover only this process's shard. With train.optimizer=muon
/// the shard is the complete state, and the first moment of parameters for
/// which usesMuon() (trainer/optim/Muon.h) is true is Muon's momentum.
class AdamW {
public:
  /// Copies the initial weights from `parameters`, which must be fp32 and
  /// outlive this object, and makes the parameters views of its buffer.
  AdamW(std::vector<models::Parameter> &parameters, const Config &config,
        Shard shard = {});

  /// Adds the gradients that autograd stored in the parameters to the fp32
  /// gradients. The caller does this after each micro-batch, so that the sum
  /// over micro-batches is computed in fp32.
  void gather();
  /// Adds the gradient of one parameter.
  void gather(size_t parameter);
  /// Returns the range [first, last) of a parameter's elements in gradients().
  std::pair<int64_t, int64_t> rangeOf(size_t parameter) const;
  /// Returns all fp32 gradients, [n]; complete after gather().
  at::Tensor &gradients() { return gradient; }
  /// Returns the L2 norm of all gradients, fp64 [] on their device. Calls
  /// gather() and does not synchronize with the device.
  at::Tensor norm();
  /// Divides the gradients by `lossScale`, the factor that multiplied the loss.
  /// Then scales them to a norm of at most config.clip, if that is positive.
  /// `read` is the value of norm(). Returns the norm after the division and
  /// before the clipping.
  double clip(double read, double lossScale);
  /// Computes the norm, then clips as above. Synchronizes with the device to
  /// read the norm.
  double clip(double lossScale = 1);
  /// Updates the weights of this process's shard and calls refresh(). The
  /// values of other shards are old until shareWeights()
  /// (trainer/parallel/StateShards.h).
  void step(double learningRate);
  /// Sets the gradients to zero. In fp32, makes the gradients of the parameters
  /// views of the buffer.
  void zeroGradients();

  /// Returns the shard that this process updates.
  Shard shard() const { return part; }
  /// Returns the state of this process's shard. The tensors share memory with
  /// the optimizer.
  OptimizerState own() const { return {master, first, second, count, rows}; }
  /// Returns the weights of all shards as the model reads them, [n].
  const at::Tensor &values() const { return computed; }
  /// Returns views of the fp32 weights of `whole`, a state of all shards, with
  /// their names and in the order of the parameters. Without an argument, there
  /// must be only one shard.
  std::vector<models::Parameter> weights(const OptimizerState &whole) const;
  std::vector<models::Parameter> weights() const { return weights(own()); }
  /// Returns moments and step counts as parameters named "PARAMETER.first",
  /// "PARAMETER.second" and "PARAMETER.steps".
  std::vector<models::Parameter> state(const OptimizerState &whole) const;
  std::vector<models::Parameter> state() const { return state(own()); }
  /// Rounds this shard's fp32 weights into the model's weights. The caller does
  /// this after it writes to own().weight.
  void refresh();

private:
  /// Returns the view of parameter `index`, with its shape, in a buffer whose
  /// first element has number `start`.
  at::Tensor placeOf(const at::Tensor &buffer, size_t index,
                     int64_t start = 0) const;
  /// Returns the view of the second moments of the rows of Muon's parameter
  /// `index` in OptimizerState::rows; undefined without train.muon_normalize.
  at::Tensor rowsOf(const at::Tensor &buffer, size_t index) const;
  void stepMatrices(double learningRate);
  /// Returns true if the model computes in bf16 or fp16.
  bool rounds() const { return computed.scalar_type() != at::kFloat; }

  const Config &config;
  std::vector<models::Parameter> &parameters;
  std::vector<int64_t> begins; ///< First element of each parameter.
  /// First row of each of Muon's parameters in `rows`.
  std::vector<int64_t> rowBegins;
  std::vector<std::vector<int64_t>> shapes;
  /// Number of elements of Muon's matrices, which come first; number of
  /// elements of these and all other parameters that decay.
  int64_t orthogonal = 0, decayed = 0;
  /// First element of an untied head, which is the last parameter that decays.
  int64_t head = -1;
  const Shard part;
  int64_t from = 0, to = 0;         ///< The shard's elements [from, to).
  at::Tensor computed, gradient;    ///< Buffers for all shards.
  at::Tensor master, first, second; ///< Buffers for this shard: fp32 weights,
                                    ///< first and second moments.
  at::Tensor count;                 ///< Completed steps, fp32 [].
  at::Tensor rows;                  ///< OptimizerState::rows.
};

} // namespace tessera::trainer
