// trainer/AdamW.cpp - torch's fused CPU update over two groups.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "trainer/AdamW.h"

#include "trainer/Config.h"

#include <ATen/ATen.h>
#include <cmath>

namespace tessera::trainer {

bool decays(const models::Parameter &p) {
  const auto part = [&](const char *name) {
    return p.name.find(name) != std::string::npos;
  };
  return p.value.dim() >= 2 && !part(".gate.") && !part(".compress.");
}

AdamW::AdamW(std::vector<models::Parameter> &parameters, const Config &config)
    : config(config), parameters(parameters) {
  groups[0].decay = config.weightDecay;
  groups[1].decay = 0;
  for (const models::Parameter &p : parameters) {
    Group &group = groups[decays(p) ? 0 : 1];
    group.values.push_back(p.value.detach());
    group.first.push_back(at::zeros_like(p.value.detach()));
    group.second.push_back(at::zeros_like(p.value.detach()));
    group.steps.push_back(at::zeros({}, at::kFloat));
    group.names.push_back(p.name);
  }
}

double AdamW::clip() {
  const at::NoGradGuard noGrad;
  double squares = 0;
  for (const models::Parameter &p : parameters)
    if (p.value.grad().defined()) {
      const double norm = at::linalg_vector_norm(p.value.grad()).item<double>();
      squares += norm * norm;
    }
  const double norm = std::sqrt(squares);
  if (config.clip > 0 && norm > config.clip)
    for (const models::Parameter &p : parameters)
      if (p.value.grad().defined())
        p.value.grad().mul_(config.clip / norm);
  return norm;
}

void AdamW::step(double learningRate) {
  const at::NoGradGuard noGrad;
  size_t next[2] = {0, 0};
  std::vector<at::Tensor> gradients[2];
  for (const models::Parameter &p : parameters) {
    const int which = decays(p) ? 0 : 1;
    const size_t slot = next[which]++;
    gradients[which].push_back(
        p.value.grad().defined() ? p.value.grad()
                                 : at::zeros_like(groups[which].values[slot]));
  }
  for (int which : {0, 1}) {
    Group &g = groups[which];
    if (g.values.empty())
      continue;
    // The fused update expects the count of this step, not of the last one.
    for (at::Tensor &count : g.steps)
      count.add_(1);
    at::_fused_adamw_(g.values, gradients[which], g.first, g.second, {},
                      g.steps, learningRate, config.beta1, config.beta2,
                      g.decay, config.epsilon, /*amsgrad=*/false,
                      /*maximize=*/false);
  }
}

void AdamW::zeroGradients() {
  for (models::Parameter &p : parameters)
    p.value.mutable_grad() = at::Tensor();
}

std::vector<models::Parameter> AdamW::state() const {
  std::vector<models::Parameter> all;
  for (const Group &g : groups)
    for (size_t i = 0; i < g.values.size(); ++i) {
      all.push_back({g.names[i] + ".first", g.first[i]});
      all.push_back({g.names[i] + ".second", g.second[i]});
      all.push_back({g.names[i] + ".steps", g.steps[i]});
    }
  return all;
}

} // namespace tessera::trainer
