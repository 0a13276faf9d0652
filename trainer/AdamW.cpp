// trainer/AdamW.cpp - torch's fused update over flat buffers.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "trainer/AdamW.h"

#include "trainer/Config.h"

#include <ATen/ATen.h>

namespace tessera::trainer {
namespace {

/// Elements at whose multiples parameters begin: 128 bytes in two-byte types,
/// so that kernels find every pointer aligned.
constexpr int64_t unit = 64;

/// The norm of all, summed in fp64. The CPU's reduction copies what it reads to
/// fp64 first: piece by piece that takes little memory.
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

} // namespace

at::ScalarType computeType(const Config &config) {
  switch (config.precision) {
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

AdamW::AdamW(std::vector<models::Parameter> &parameters, const Config &config)
    : config(config), parameters(parameters), begins(parameters.size()) {
  const at::NoGradGuard noGrad;
  int64_t size = 0;
  for (const bool wanted : {true, false}) {
    for (size_t i = 0; i < parameters.size(); ++i)
      if (decays(parameters[i]) == wanted) {
        begins[i] = size;
        size += (parameters[i].value.numel() + unit - 1) / unit * unit;
      }
    if (wanted)
      decayed = size;
  }
  const at::Device device =
      parameters.empty() ? at::Device(at::kCPU) : parameters[0].value.device();
  const auto options = at::TensorOptions(at::kFloat).device(device);
  weight = at::zeros({size}, options);
  gradient = at::zeros({size}, options);
  first = at::zeros({size}, options);
  second = at::zeros({size}, options);
  count = at::zeros({}, options);
  if (computeType(config) != at::kFloat)
    rounded = at::zeros({size}, options.dtype(computeType(config)));
  for (size_t i = 0; i < parameters.size(); ++i) {
    at::Tensor &value = parameters[i].value;
    shapes.push_back(value.sizes().vec());
    placeOf(weight, i).copy_(value.detach());
    value.set_data(placeOf(rounded.defined() ? rounded : weight, i));
  }
  refresh();
  zeroGradients();
}

at::Tensor AdamW::placeOf(const at::Tensor &buffer, size_t index) const {
  const std::vector<int64_t> &shape = shapes[index];
  return buffer.narrow(0, begins[index], c10::multiply_integers(shape))
      .view(shape);
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
  if (rounded.defined())
    place.add_(left);
  else
    place.copy_(left);
  left = rounded.defined() ? at::Tensor() : place;
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
    left = rounded.defined() ? at::Tensor() : place;
  }
  if (sums.empty())
    return;
  // In fp32 autograd adds to the buffer itself: what stands elsewhere was put
  // there in its place.
  if (rounded.defined())
    at::_foreach_add_(sums, added);
  else
    at::_foreach_copy_(sums, added);
}

double AdamW::clip(double lossScale) {
  const at::NoGradGuard noGrad;
  gather();
  const double length = commonNorm(gradient).item<double>() / lossScale;
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
  // The fused update expects the count of this step, not of the last one.
  count.add_(1);
  const auto update = [&](int64_t from, int64_t to, double decay) {
    const auto part = [&](const at::Tensor &buffer) {
      return std::vector<at::Tensor>{buffer.slice(0, from, to)};
    };
    if (from < to)
      at::_fused_adamw_(part(weight), part(gradient), part(first), part(second),
                        {}, {count}, learningRate, config.beta1, config.beta2,
                        decay, config.epsilon, /*amsgrad=*/false,
                        /*maximize=*/false);
  };
  update(0, decayed, config.weightDecay);
  update(decayed, weight.size(0), 0);
  refresh();
}

void AdamW::zeroGradients() {
  gradient.zero_();
  for (size_t i = 0; i < parameters.size(); ++i)
    parameters[i].value.mutable_grad() =
        rounded.defined() ? at::Tensor() : placeOf(gradient, i);
}

std::vector<models::Parameter> AdamW::weights() const {
  std::vector<models::Parameter> all;
  for (size_t i = 0; i < parameters.size(); ++i)
    all.push_back({parameters[i].name, placeOf(weight, i)});
  return all;
}

std::vector<models::Parameter> AdamW::state() const {
  std::vector<models::Parameter> all;
  for (size_t i = 0; i < parameters.size(); ++i) {
    all.push_back({parameters[i].name + ".first", placeOf(first, i)});
    all.push_back({parameters[i].name + ".second", placeOf(second, i)});
    all.push_back({parameters[i].name + ".steps", count});
  }
  return all;
}

void AdamW::refresh() {
  if (rounded.defined())
    rounded.copy_(weight);
}

} // namespace tessera::trainer
