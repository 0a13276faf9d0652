// models/Kernels.cpp - packed sequences, default implementations in torch, and
// the choice between compiled kernels and torch.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "models/Kernels.h"

#include "models/SquaredRelu.h"
#include "support/Error.h"

#include <ATen/ATen.h>
#include <fmt/format.h>
#include <utility>

namespace tessera::models {

Packing::Packing(int64_t sequences, int64_t length, const NsaGeometry &geometry,
                 at::Device device)
    : nsa(geometry), sequences(sequences), length(length),
      compressed(sequences * geometry.compressedCount(length)) {
  const at::Tensor index =
      at::arange(sequences + 1, at::TensorOptions(at::kInt).device(device));
  sequenceStarts = index * length;
  compressedStarts = index * geometry.compressedCount(length);
}

Packing::Packing(std::vector<int32_t> given, int64_t longest,
                 const NsaGeometry &geometry, at::Device device)
    : nsa(geometry), sequences(int64_t(given.size()) - 1), length(longest),
      compressed(0), starts(std::move(given)) {
  if (starts.empty() || starts.front() != 0)
    throw Error("the starts of packed sequences do not begin with 0",
                "pass cu_seqlens: 0, then the end of each sequence");
  std::vector<int32_t> shortened{0};
  for (size_t i = 1; i < starts.size(); ++i) {
    const int64_t tokens = int64_t(starts[i]) - starts[i - 1];
    if (tokens < 0 || tokens > longest)
      throw Error(fmt::format("packed sequence {} has {} tokens, from 0 to {} "
                              "are possible",
                              i - 1, tokens, longest),
                  "pass cu_seqlens that rise by at most the longest length");
    compressed += geometry.compressedCount(tokens);
    shortened.push_back(int32_t(compressed));
  }
  const auto there = [&](std::vector<int32_t> &numbers) {
    return at::from_blob(numbers.data(), {int64_t(numbers.size())}, at::kInt)
        .to(device, at::kInt, /*non_blocking=*/false, /*copy=*/true);
  };
  sequenceStarts = there(starts);
  compressedStarts = there(shortened);
}

Packing Packing::with(const NsaGeometry &geometry) const {
  if (geometry.blockLength == nsa.blockLength && geometry.stride == nsa.stride)
    return *this;
  const at::Device device = sequenceStarts.device();
  return starts.empty() ? Packing(sequences, length, geometry, device)
                        : Packing(starts, length, geometry, device);
}

std::pair<at::Tensor, at::Tensor>
Kernels::residualNorm(const at::Tensor &x, const at::Tensor &added,
                      const at::Tensor &weight, double epsilon) {
  const at::Tensor sum = x + added;
  return {sum, rmsNorm(sum, weight, epsilon)};
}

at::Tensor Kernels::linear(const at::Tensor &x, const at::Tensor &weight) {
  return at::linear(x, weight);
}

at::Tensor Kernels::linearLoss(const at::Tensor &hidden,
                               const at::Tensor &weight,
                               const at::Tensor &targets, bool /*keepLogits*/) {
  return at::cross_entropy_loss(at::linear(hidden, weight).to(at::kFloat),
                                targets, {}, at::Reduction::None);
}

at::Tensor Kernels::activation(MlpKind kind, const at::Tensor &in,
                               const at::Tensor &gate) {
  switch (kind) {
  case MlpKind::SquaredRelu:
    return squaredRelu(in);
  case MlpKind::Silu:
    return at::silu(in);
  case MlpKind::SwiGlu:
    return at::silu(gate) * in;
  }
  return {};
}

at::Tensor Kernels::decodePattern(const at::Tensor &, const at::Tensor &,
                                  const at::Tensor &, int64_t,
                                  const at::Tensor &, const at::Tensor &,
                                  const CustomAttention &custom) {
  throw Error("the pattern " + custom.pattern +
                  " is compiled, but kernels=torch",
              "set kernels=tessera");
}

at::Tensor Kernels::patternScores(const at::Tensor &, int64_t,
                                  const at::Tensor &,
                                  const CustomAttention &custom) {
  throw Error("the pattern " + custom.pattern +
                  " is compiled, but kernels=torch",
              "set kernels=tessera");
}

int64_t Kernels::firstReader(int64_t first, int64_t, int64_t,
                             const at::Tensor &, const CustomAttention &) {
  return first;
}

at::Tensor Kernels::customAttention(const at::Tensor &, const at::Tensor &,
                                    const at::Tensor &, const at::Tensor &,
                                    const at::Tensor &,
                                    const CustomAttention &custom,
                                    const Packing &) {
  throw Error("attention.kernel (" + custom.file +
                  ") is compiled, but kernels=torch",
              "set kernels=tessera");
}

PatternResult Kernels::patternAttention(const PatternInputs &,
                                        const CustomAttention &custom,
                                        const Packing &) {
  throw Error("attention (" + custom.file + ") is compiled, but kernels=torch",
              "set kernels=tessera");
}

std::unique_ptr<Kernels> makeKernels(KernelSource source) {
  return source == KernelSource::Torch ? makeTorchKernels()
                                       : makeTesseraKernels();
}

} // namespace tessera::models
