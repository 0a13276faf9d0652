// trainer/checkpoint/Checkpoint.h - saving a run and going on from it.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "trainer/loop/KernelTexts.h"
#include "trainer/optim/AdamW.h"
#include "trainer/optim/LossScale.h"
#include "trainer/optim/UpdateGuard.h"

#include <filesystem>
#include <functional>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

namespace tessera::trainer {

struct Config;

/// Where a run stands, besides weights and moments.
struct Progress {
  int64_t step = 0;    ///< Optimizer steps done.
  int64_t windows = 0; ///< Training windows drawn: the data position.
  double trainSeconds = 0;
  UpdateHistory updates;
  LossScale scale;
};

/// What a run has to remember of one moment. Nothing of it is shared with the
/// run, which goes on.
struct Snapshot {
  Progress progress;
  std::string weights, state; ///< As safetensors files.
};
Snapshot takeSnapshot(const Progress &progress, const AdamW &optimizer,
                      const OptimizerState &whole);

/// Writes ckpt/step_NNNNNNNN under the run folder: built beside its final name,
/// the checksums last, then renamed. It holds weights, moments, progress,
/// settings and kernel files. One of this step that is there and good stays.
/// Older ones beyond config.keepCheckpoints go when the new one is on disk.
/// Throws tessera::Error; what was there before is there then.
void writeCheckpoint(const Config &config, const Snapshot &snapshot,
                     const std::string &dataHash, const KernelTexts &kernels);

/// The newest checkpoint of a run folder whose files are as they were written.
struct FoundCheckpoint {
  std::string folder;
  nlohmann::json state; ///< Its state.json.
  /// Newer ones that are damaged.
  std::vector<std::filesystem::path> damaged;
};

using Say = std::function<void(const std::string &)>; ///< Takes a line.

/// nullopt without a checkpoint. Says which are damaged; throws
/// tessera::Error when all are.
std::optional<FoundCheckpoint> findCheckpoint(const std::string &run,
                                              const Say &say);

/// The settings that the checkpoint was made with, in today's names and
/// meanings.
Config earlierConfig(const FoundCheckpoint &checkpoint);

/// Which files of patterns and kernels are replaced by the copies that a run
/// keeps.
enum class KeptKernels { WhereMissing, Always };

/// `config` with the run's newest copies of their files.
Config withKeptKernels(Config config, const std::string &run,
                       KeptKernels which);

/// `config` with the checkpoint's values of settings that were not given; says
/// which these are.
Config resumedConfig(const FoundCheckpoint &checkpoint, Config config,
                     const Say &say);

/// What keeps a run with settings `config` from going on where one with
/// `earlier` stood: "train.seed=1, this run has 2"; empty when nothing does.
std::string differenceFrom(const Config &earlier, const Config &config);

/// Throws tessera::Error when the checkpoint belongs to another model, schedule
/// or text, or has made more steps than the run is to make; says what differs
/// and may, and what other train.steps mean for the learning rate.
void requireSameRun(const FoundCheckpoint &checkpoint, const Config &config,
                    const std::string &dataHash, const Say &say);

/// The same of the kernel files, which are known when a first step was tried;
/// config.allowChangedKernels lets others through, with a line.
void requireSameKernels(const FoundCheckpoint &checkpoint, const Config &config,
                        const KernelTexts &kernels, const Say &say);

/// Reads weights and moments into `whole`, of the optimizer's sizes; returns
/// the progress.
Progress loadCheckpoint(const FoundCheckpoint &checkpoint, const Config &config,
                        const AdamW &optimizer, const OptimizerState &whole);

} // namespace tessera::trainer
