// trainer/loop/Start.h - what happens before the first step.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "trainer/checkpoint/Checkpoint.h"
#include "trainer/checkpoint/RunFolder.h"
#include "trainer/data/Batches.h"
#include "trainer/parallel/DataParallel.h"

#include <optional>

namespace tessera::trainer {

/// `config` with the vocabulary of the data, unless one that is large enough
/// was given. Throws tessera::Error for a smaller one.
Config withVocabulary(Config config, const Corpus &corpus);

struct StartingPoint {
  std::optional<FoundCheckpoint> checkpoint; ///< To continue from, if any.
  bool complete = false; ///< The folder holds this run, and it is finished.
};

/// Finds where the run starts. Throws tessera::Error, before anything slow, for
/// a folder with files that the trainer would have to move.
StartingPoint startingPoint(const Config &config, const RunFolder &folder);

/// The folder of the run, the checkpoint that it goes on from and its settings.
/// The first process claims and reads them; the others are told the settings.
struct Opening {
  Opening(const Config &given, DataParallel &parallel);

  std::optional<RunFolder> folder;
  std::optional<FoundCheckpoint> checkpoint;
  Config config;
  bool complete = false; ///< Nothing is left to train.
};

/// Where the run begins: the checkpoint's weights, moments and progress, which
/// the first process reads for all, or first weights. Throws tessera::Error
/// where a process reads other data.
Progress beginning(const std::optional<FoundCheckpoint> &checkpoint,
                   const Config &config, const Corpus &corpus, AdamW &optimizer,
                   DataParallel &parallel);

/// A line of the run, which the first process writes for all.
Say lineOf(const DataParallel &parallel);

/// Compiles all kernels of steps and evaluations in parallel, runs the first
/// batches, and says how long the run will take. Leaves the model as it was.
void firstBatches(models::Transformer &model, AdamW &optimizer,
                  const Corpus &corpus, const Config &config,
                  const Progress &progress, const Say &say);

/// Makes the folder that of this run. All that can refuse the run has been
/// asked before; what an earlier run left was untouched until here.
void takeFolder(const Config &config, RunFolder &folder,
                const std::optional<FoundCheckpoint> &checkpoint,
                const Progress &progress, const KernelTexts &kernels,
                const World &world, const std::string &device);

/// One line on the model: parameters, layers, attention, kernels.
std::string modelLine(const Config &config, const models::Transformer &model);

} // namespace tessera::trainer
