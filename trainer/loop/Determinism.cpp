// trainer/loop/Determinism.cpp - torch's global settings.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "trainer/loop/Determinism.h"

#include "models/Linear.h"
#include "trainer/settings/Config.h"

#include <ATen/Context.h>
#include <ATen/Parallel.h>

namespace tessera::trainer {

void useThreads(const Config &config) {
  if (config.kernels == models::KernelSource::Tessera)
    models::useOwnThreads(config.threads);
  else
    at::set_num_threads(int(config.threads));
}

void computeDeterministically(const Config &config) {
  useThreads(config);
  at::Context &context = at::globalContext();
  context.setDeterministicAlgorithms(true, /*warn_only=*/false);
  // Or every new tensor would be filled with NaN first. Kernels write all of
  // what they allocate: the tests of their results start from NaN.
  context.setDeterministicFillUninitializedMemory(false);
}

} // namespace tessera::trainer
