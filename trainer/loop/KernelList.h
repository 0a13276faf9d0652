// trainer/loop/KernelList.h - lists the kernels of a run before it launches
// them.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "models/Kernels.h"
#include "trainer/data/Batches.h"

#include <string>
#include <vector>

namespace tessera::trainer {

/// Returns a smaller model that launches the same kernels: one layer of each
/// kind, a small vocabulary and a small MLP, whose sizes kernels do not depend
/// on. The loss is fused if the original model's loss is.
models::ModelConfig kernelsOnly(models::ModelConfig model);

/// Returns the distinct kernels that a run's steps and evaluations launch, as
/// requests (JSON, language/Request.h); empty for kernels=torch. If `prepare`,
/// compiles or loads them in parallel. Throws tessera::Error if a kernel does
/// not compile.
std::vector<std::string> listKernels(const Corpus &corpus, const Config &config,
                                     bool prepare,
                                     at::Device device = at::kCPU);

/// Returns the same list for a run of which only the data exist. Compiles and
/// writes nothing.
std::vector<std::string> listKernels(const Config &config);

/// Runs the forward and backward pass of kernelsOnly() for one micro-batch of
/// the run's text on the CPU, or for one of each phase of its schedules. The
/// sequence length is that of the tuning tables' bucket of the run's length.
/// `tessera tune` records these launches. Does not write files of the run.
void runMicroBatch(const Config &config);

} // namespace tessera::trainer
