// trainer/loop/KernelCheck.cpp - tolerances of the check of kernels.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "trainer/loop/KernelCheck.h"

#include "trainer/settings/Config.h"

#include <fmt/format.h>

namespace tessera::trainer {

double largestDifference(const Config &config, const std::string &operation) {
  // Rounding can reorder nearly equal scores, which changes selected blocks.
  if (operation == "blocks")
    return 0.1;
  switch (config.precision) {
  case Precision::Fp32: // products may be tf32 on a GPU
    return 1e-3;
  case Precision::Fp16:
    return 1e-2;
  case Precision::Bf16:
    break;
  }
  return operation == "loss" ? 1e-2 : 3e-2;
}

std::string kernelFault(const Config &config,
                        const models::KernelDifferences &differences) {
  std::string fault;
  for (const auto &[operation, d] : differences) {
    const double most = largestDifference(config, operation);
    if (!(d.relative <= most))
      fault +=
          fmt::format("{}{} by {:.2g} (rounding explains {:g})",
                      fault.empty() ? "" : ", ", operation, d.relative, most);
  }
  return fault;
}

} // namespace tessera::trainer
