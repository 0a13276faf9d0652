// models/Kernels.cpp - packing and the choice of a kernel source.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "models/Kernels.h"

#include <ATen/ATen.h>

namespace tessera::models {

Packing::Packing(int64_t sequences, int64_t length, const NsaGeometry &geometry)
    : sequences(sequences), length(length) {
  const at::Tensor index = at::arange(sequences + 1, at::kInt);
  sequenceStarts = index * length;
  compressedStarts = index * geometry.compressedCount(length);
}

std::unique_ptr<Kernels> makeKernels(KernelSource source) {
  return source == KernelSource::Torch ? makeTorchKernels()
                                       : makeTesseraKernels();
}

} // namespace tessera::models
