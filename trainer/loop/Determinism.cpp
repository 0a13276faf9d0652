// trainer/loop/Determinism.cpp - sets torch's global options.
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
  // Otherwise torch fills every new tensor with NaN. Kernels write all elements
  // of their outputs; their tests check this with NaN-filled outputs.
  context.setDeterministicFillUninitializedMemory(false);
}

} // namespace tessera::trainer
