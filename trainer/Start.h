// trainer/Start.h - what happens before the first step.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "trainer/Checkpoint.h"
#include "trainer/Data.h"
#include "trainer/RunFolder.h"

#include <optional>

namespace tessera::trainer {

/// Throws tessera::Error for what would be passed over in silence: several
/// processes (WORLD_SIZE), or another device than runtime.device names.
void requireSupported(const Config &config);

/// `config` with the vocabulary of the data, unless one that is large enough
/// was given. Throws tessera::Error for a smaller one.
Config withVocabulary(Config config, const Corpus &corpus);

/// The checkpoint to go on from, if any. A folder whose files would have to
/// move is refused here, before anything slow.
std::optional<FoundCheckpoint> startingPoint(const Config &config,
                                             const RunFolder &folder);

/// Compiles all kernels of steps and evaluations in parallel, runs the first
/// batches, and says how long the run will take. Leaves the model as it was.
void firstBatches(models::Transformer &model, AdamW &optimizer,
                  const Corpus &corpus, const Config &config,
                  const Progress &progress);

/// Makes the folder that of this run. All that can refuse the run has been
/// asked before; what an earlier run left was untouched until here.
void takeFolder(const Config &config, RunFolder &folder,
                const std::optional<FoundCheckpoint> &checkpoint,
                const Progress &progress, const KernelTexts &kernels);

/// One line on the model: parameters, layers, attention, kernels.
std::string modelLine(const Config &config, const models::Transformer &model);

} // namespace tessera::trainer
