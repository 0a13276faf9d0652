// models/Kernels.cpp - packing and the choice of a kernel source.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "models/Kernels.h"

#include "support/Error.h"

#include <ATen/ATen.h>

namespace tessera::models {

Packing::Packing(int64_t sequences, int64_t length, const NsaGeometry &geometry,
                 at::Device device)
    : sequences(sequences), length(length) {
  const at::Tensor index =
      at::arange(sequences + 1, at::TensorOptions(at::kInt).device(device));
  sequenceStarts = index * length;
  compressedStarts = index * geometry.compressedCount(length);
}

at::Tensor Kernels::customAttention(const at::Tensor &, const at::Tensor &,
                                    const at::Tensor &, const at::Tensor &,
                                    const CustomAttention &custom,
                                    const Packing &) {
  throw Error("attention.kernel (" + custom.file +
                  ") is compiled, but kernels=torch",
              "set kernels=tessera");
}

std::unique_ptr<Kernels> makeKernels(KernelSource source) {
  return source == KernelSource::Torch ? makeTorchKernels()
                                       : makeTesseraKernels();
}

} // namespace tessera::models
