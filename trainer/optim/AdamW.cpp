// trainer/optim/AdamW.cpp - lays the parameters out in flat buffers and updates
// them with PyTorch's fused AdamW.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "trainer/optim/AdamW.h"

#include "trainer/optim/Muon.h"
#include "trainer/settings/Config.h"

#include <ATen/ATen.h>
#include <algorithm>

namespace tessera::trainer {
namespace {

/// Parameters start at multiples of this number of elements: 128 bytes in
/// two-byte types. So kernels can use aligned accesses for every parameter.
constexpr int64_t unit = 64;

/// Returns the L2 norm, fp64 []. The CPU's reduction first converts its input
/// to an fp64 copy, so this function reduces chunks, whose copies are small.
at::Tensor commonNorm(const at::Tensor &gradient) {
  const auto whole = [](const at::Tensor &x) {
    return at::linalg_vector_norm(x, 2, std::nullopt, false, at::kDouble);
  };
  constexpr int64_t piece = 1 << 17;
  if (!gradient.is_cpu() || gradient.numel() <= piece)
    return whole(gradient);
  std::vector<at::Tensor> norms;
  for (const at::Tensor &part : gradient.split(piece))
    norms.push_back(whole(part));
  return whole(at::stack(norms));
}

/// Returns the position of a parameter's group in the buffers: 0 for Muon, 1
/// for AdamW with weight decay, 2 for AdamW without it.
int groupOf(const models::Parameter &p, const Config &config) {
  if (usesMuon(p, config))
    return 0;
  return decays(p) ? 1 : 2;
}

} // namespace

at::ScalarType computeType(Precision precision) {
  switch (precision) {
  case Precision::Bf16:
    return at::kBFloat16;
  case Precision::Fp16:
    return at::kHalf;
  case Precision::Fp32:
    break;
  }
  return at::kFloat;
}

bool decays(const models::Parameter &p) {
  const auto part = [&](const char *name) {
    return p.name.find(name) != std::string::npos;
  };
  return p.value.dim() >= 2 && !part(".gate.") && !part(".compress.");
}

void cautiousDecay(const at::Tensor &weight, const at::Tensor &before,
                   const at::Tensor &update, double decay) {
  const at::Tensor agree = update.sign().mul_(before.sign()).ge(0);
  weight.sub_(before * agree, decay);
}

AdamW::AdamW(std::vector<models::Parameter> &parameters, const Config &config,
             Shard shard)
    : config(config), parameters(parameters), begins(parameters.size()),
      rowBegins(parameters.size()), part(shard) {
  const at::NoGradGuard noGrad;
  int64_t size = 0, matrixRows = 0;
  for (const int group : {0, 1, 2}) {
    for (size_t i = 0; i < parameters.size(); ++i)
      if (groupOf(parameters[i], config) == group) {
        begins[i] = size;
        rowBegins[i] = matrixRows;
        if (group == 0 && config.muonNormalize)
          matrixRows += parameters[i].value.size(0);
        if (parameters[i].name == "head")
          head = size;
        size += (parameters[i].value.numel() + unit - 1) / unit * unit;
      }
    if (group == 0)
      orthogonal = size;
    if (group == 1)
      decayed = size;
  }
  if (head < 0) // tied, or a test's list of parameters
    head = decayed;
  size = (size + unit * part.count - 1) / (unit * part.count) *
         (unit * part.count);
  from = size / part.count * part.index;
  to = from + size / part.count;
  const at::Device device =
      parameters.empty() ? at::Device(at::kCPU) : parameters[0].value.device();
  const auto options = at::TensorOptions(at::kFloat).device(device);
  computed = at::zeros({size}, options.dtype(computeType(config.precision)));
  gradient = at::zeros({size}, options);
  master =
      rounds() ? at::zeros({to - from}, options) : computed.slice(0, from, to);
  first = at::zeros({to - from}, options);
  second = at::zeros({to - std::max(from, orthogonal)}, options);
  count = at::zeros({}, options);
  rows = at::zeros({matrixRows}, options);
  for (size_t i = 0; i < parameters.size(); ++i) {
    at::Tensor &value = parameters[i].value;
    shapes.push_back(value.sizes().vec());
    const at::Tensor all = value.detach().flatten();
    // Elements [low, high) of the parameter belong to this shard.
    const int64_t low = std::clamp(from - begins[i], int64_t(0), all.size(0));
    const int64_t high = std::clamp(to - begins[i], int64_t(0), all.size(0));
    if (low < high)
      master.slice(0, begins[i] + low - from, begins[i] + high - from)
          .copy_(all.slice(0, low, high));
    placeOf(computed, i).copy_(value.detach());
    value.set_data(placeOf(computed, i));
  }
  zeroGradients();
}

at::Tensor AdamW::placeOf(const at::Tensor &buffer, size_t index,
                          int64_t start) const {
  const std::vector<int64_t> &shape = shapes[index];
  return buffer.narrow(0, begins[index] - start, c10::multiply_integers(shape))
      .view(shape);
}

at::Tensor AdamW::rowsOf(const at::Tensor &buffer, size_t index) const {
  if (!config.muonNormalize)
    return {};
  return buffer.narrow(0, rowBegins[index], shapes[index][0]);
}

std::pair<int64_t, int64_t> AdamW::rangeOf(size_t parameter) const {
  const int64_t begin = begins[parameter];
  return {begin, begin + c10::multiply_integers(shapes[parameter])};
}

void AdamW::gather(size_t parameter) {
  const at::NoGradGuard noGrad;
  at::Tensor &left = parameters[parameter].value.mutable_grad();
  const at::Tensor place = placeOf(gradient, parameter);
  if (!left.defined() || left.const_data_ptr() == place.const_data_ptr())
    return;
  if (rounds())
    place.add_(left);
  else
    place.copy_(left);
  left = rounds() ? at::Tensor() : place;
}

void AdamW::gather() {
  const at::NoGradGuard noGrad;
  std::vector<at::Tensor> sums, added;
  for (size_t i = 0; i < parameters.size(); ++i) {
    at::Tensor &left = parameters[i].value.mutable_grad();
    const at::Tensor place = placeOf(gradient, i);
    const bool there = left.defined() && left.is_same_size(place) &&
                       left.const_data_ptr() == place.const_data_ptr();
    if (there || !left.defined())
      continue;
    sums.push_back(place);
    added.push_back(left);
    left = rounds() ? at::Tensor() : place;
  }
  if (sums.empty())
    return;
  // In fp32, autograd accumulates into the buffer, because the gradients are
  // views of it. A gradient elsewhere has replaced the view and is copied, not
  // added.
  if (rounds())
    at::_foreach_add_(sums, added);
  else
    at::_foreach_copy_(sums, added);
}

at::Tensor AdamW::norm() {
  const at::NoGradGuard noGrad;
  gather();
  return commonNorm(gradient);
}

double AdamW::clip(double lossScale) {
  return clip(norm().item<double>(), lossScale);
}

double AdamW::clip(double read, double lossScale) {
  const at::NoGradGuard noGrad;
  const double length = read / lossScale;
  const double factor =
      (config.clip > 0 && length > config.clip ? config.clip / length : 1) /
      lossScale;
  if (factor != 1)
    gradient.mul_(factor);
  return length;
}

void AdamW::step(double learningRate) {
  const at::NoGradGuard noGrad;
  gather();
  // The fused update expects a count that includes this step.
  count.add_(1);
  const auto update = [&](int64_t begin, int64_t end, double decay,
                          double rate) {
    begin = std::max(begin, from);
    end = std::min(end, to);
    if (begin >= end)
      return;
    const auto own = [&](const at::Tensor &buffer, int64_t start) {
      return std::vector<at::Tensor>{
          buffer.slice(0, begin - start, end - start)};
    };
    const bool cautious = config.cautiousDecay && decay > 0;
    const at::Tensor weight = master.slice(0, begin - from, end - from);
    const at::Tensor before = cautious ? weight.clone() : at::Tensor();
    at::_fused_adamw_(own(master, from), own(gradient, 0), own(first, from),
                      own(second, std::max(from, orthogonal)), {}, {count},
                      rate, config.beta1, config.beta2, cautious ? 0 : decay,
                      config.epsilon, /*amsgrad=*/false, /*maximize=*/false);
    // The update has the sign of the first moment.
    if (cautious)
      cautiousDecay(weight, before, first.slice(0, begin - from, end - from),
                    rate * decay);
  };
  if (orthogonal > 0)
    stepMatrices(learningRate * config.muonRate / config.learningRate);
  if (config.headRateFactor == 1) {
    update(orthogonal, decayed, config.weightDecay, learningRate);
  } else {
    update(orthogonal, head, config.weightDecay, learningRate);
    update(head, decayed, config.weightDecay,
           learningRate * config.headRateFactor);
  }
  update(decayed, gradient.size(0), 0, learningRate);
  refresh();
}

void AdamW::stepMatrices(double learningRate) {
  std::vector<MuonParameter> matrices;
  for (size_t i = 0; i < parameters.size(); ++i)
    if (usesMuon(parameters[i], config))
      matrices.push_back({placeOf(master, i), placeOf(gradient, i),
                          placeOf(first, i), parameters[i].stacked,
                          rowsOf(rows, i)});
  muonStep(matrices, learningRate, config);
}

void AdamW::zeroGradients() {
  gradient.zero_();
  for (size_t i = 0; i < parameters.size(); ++i)
    parameters[i].value.mutable_grad() =
        rounds() ? at::Tensor() : placeOf(gradient, i);
}

std::vector<models::Parameter>
AdamW::weights(const OptimizerState &whole) const {
  std::vector<models::Parameter> all;
  for (size_t i = 0; i < parameters.size(); ++i)
    all.push_back({parameters[i].name, placeOf(whole.weight, i)});
  return all;
}

std::vector<models::Parameter> AdamW::state(const OptimizerState &whole) const {
  std::vector<models::Parameter> all;
  for (size_t i = 0; i < parameters.size(); ++i) {
    all.push_back({parameters[i].name + ".first", placeOf(whole.first, i)});
    if (!usesMuon(parameters[i], config))
      all.push_back({parameters[i].name + ".second",
                     placeOf(whole.second, i, orthogonal)});
    else if (config.muonNormalize)
      all.push_back({parameters[i].name + ".second", rowsOf(whole.rows, i)});
    all.push_back({parameters[i].name + ".steps", whole.count});
  }
  return all;
}

void AdamW::refresh() {
  const at::NoGradGuard noGrad;
  if (rounds())
    computed.slice(0, from, to).copy_(master);
}

} // namespace tessera::trainer
