// trainer/loop/Start.h - prepares a run before its first step.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "trainer/checkpoint/Checkpoint.h"
#include "trainer/checkpoint/RunFolder.h"
#include "trainer/data/Batches.h"
#include "trainer/parallel/DataParallel.h"

#include <optional>

namespace tessera::trainer {

/// Returns `config` with the vocabulary of the data, unless the user gave one
/// that is large enough. Throws tessera::Error if the given one is smaller.
Config withVocabulary(Config config, const Corpus &corpus);

struct StartingPoint {
  std::optional<FoundCheckpoint> checkpoint; ///< To continue from, if any.
  bool complete = false; ///< The folder contains this run, finished.
};

/// Finds where the run starts. Throws tessera::Error, before any slow work, if
/// the folder contains files that the trainer would have to move.
StartingPoint startingPoint(const Config &config, const RunFolder &folder);

/// The run's folder, the checkpoint from which it continues, and its settings.
/// The first process claims the folder, reads them and sends the settings to
/// the other processes.
struct Opening {
  Opening(const Config &given, DataParallel &parallel);

  std::optional<RunFolder> folder;
  std::optional<FoundCheckpoint> checkpoint;
  Config config;
  bool complete = false; ///< Nothing is left to train.
};

/// Restores weights, moments and progress from the checkpoint, which the first
/// process reads for all, or starts from initial weights. Throws tessera::Error
/// if a process reads different data.
Progress beginning(const std::optional<FoundCheckpoint> &checkpoint,
                   const Config &config, const Corpus &corpus, AdamW &optimizer,
                   DataParallel &parallel);

/// Returns the function that prints a line, in the first process only.
Say lineOf(const DataParallel &parallel);

/// Compiles all kernels of steps and evaluations in parallel, runs the first
/// batches and prints an estimate of the run's duration. Does not change the
/// model.
void firstBatches(models::Transformer &model, AdamW &optimizer,
                  const Corpus &corpus, const Config &config,
                  const Progress &progress, const Say &say);

/// Prepares the folder for this run. Callers have completed all checks that can
/// refuse the run; until this call an earlier run's files are unchanged.
void takeFolder(const Config &config, RunFolder &folder,
                const std::optional<FoundCheckpoint> &checkpoint,
                const Progress &progress, const KernelTexts &kernels,
                const RunTuning &tuning, const World &world,
                const std::string &device);

/// Returns a line on the model: parameters, layers, attention, kernels.
std::string modelLine(const Config &config, const models::Transformer &model);

} // namespace tessera::trainer
