// trainer/loop/KernelList.h - the kernels of a run, before any of them runs.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "models/Kernels.h"
#include "trainer/data/Batches.h"

#include <string>
#include <vector>

namespace tessera::trainer {

/// The model without what no kernel sees: layers launch the same kernels, and
/// of vocabulary and MLP they have no code of their own. The loss is fused
/// where that of the whole vocabulary is.
models::ModelConfig kernelsOnly(models::ModelConfig model);

/// The kernels that the steps and the evaluations of a run launch, as requests
/// (JSON, language/Request.h), each once; none for kernels=torch. Where
/// `prepare` is set they are compiled or loaded, in parallel. Throws
/// tessera::Error for a kernel that does not compile.
std::vector<std::string> listKernels(const Corpus &corpus, const Config &config,
                                     bool prepare,
                                     at::Device device = at::kCPU);

/// The same before anything of the run is there but its data: compiles nothing
/// and writes nothing.
std::vector<std::string> listKernels(const Config &config);

/// Forward and backward of one micro-batch of the run's text on the cpu,
/// through kernelsOnly(), its sequences as long as the bucket of tables that
/// train.seq_len lies in: the launches that `tessera tune` records. Writes
/// nothing of the run.
void runMicroBatch(const Config &config);

} // namespace tessera::trainer
