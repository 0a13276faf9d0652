// trainer/checkpoint/Checkpoint.h - saves a run and resumes from a checkpoint.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "trainer/checkpoint/RunTuning.h"
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

/// The state of a run except weights and moments.
struct Progress {
  int64_t step = 0;    ///< Optimizer steps done.
  int64_t windows = 0; ///< The data position, TokenSource::state().
  double trainSeconds = 0;
  UpdateHistory updates;
  LossScale scale;
};

/// A copy of a run's state at one step. It shares no memory with the run, which
/// continues meanwhile.
struct Snapshot {
  Progress progress;
  std::string weights, state; ///< As safetensors files.
};
Snapshot takeSnapshot(const Progress &progress, const AdamW &optimizer,
                      const OptimizerState &whole);

/// Writes ckpt/step_NNNNNNNN in the run folder with weights, moments, progress,
/// settings, kernel files and tuning. Writes to a temporary folder, the
/// checksums last, and renames it. Keeps an intact checkpoint of this step that
/// exists already. Removes older checkpoints beyond config.keepCheckpoints
/// after the new one is on disk. Throws tessera::Error if it fails; earlier
/// checkpoints remain.
void writeCheckpoint(const Config &config, const Snapshot &snapshot,
                     const std::string &dataHash, const KernelTexts &kernels,
                     const RunTuning &tuning);

/// The newest intact checkpoint of a run folder.
struct FoundCheckpoint {
  std::string folder;
  nlohmann::json state; ///< Its state.json.
  /// Newer checkpoints that are damaged.
  std::vector<std::filesystem::path> damaged;
};

using Say = std::function<void(const std::string &)>; ///< Takes a line.

/// Returns the newest intact checkpoint; nullopt if the run lacks one.
/// Reports damaged ones. If all are damaged, throws tessera::Error with `hint`,
/// or, without one, with the hint for a command that trains.
std::optional<FoundCheckpoint> findCheckpoint(const std::string &run,
                                              const Say &say,
                                              const std::string &hint = "");

/// Returns the checkpoint's settings, converted to the present names and
/// meanings.
Config earlierConfig(const FoundCheckpoint &checkpoint);

/// Which pattern and kernel files a run replaces by its copies.
enum class KeptKernels { WhereMissing, Always };

/// Returns `config` with the run's newest copies of pattern and kernel files.
Config withKeptKernels(Config config, const std::string &run,
                       KeptKernels which);

/// Returns `config` with the checkpoint's values of the settings that the user
/// did not give; reports them by `say`.
Config resumedConfig(const FoundCheckpoint &checkpoint, Config config,
                     const Say &say);

/// Returns which layer's pattern has another text than the checkpoint's copy,
/// with both paths; empty if none has.
std::string patternChange(const FoundCheckpoint &checkpoint,
                          const Config &earlier, const Config &config);

/// Returns the differences that prevent a run with `config` from continuing a
/// run with `earlier`: "train.seed=1, this run has 2"; empty if there are none.
std::string differenceFrom(const Config &earlier, const Config &config);

/// Throws tessera::Error if the checkpoint has another model, schedule or text,
/// or more steps than the run is to make. Reports permitted differences, and
/// how a change of train.steps affects the learning rate.
void requireSameRun(const FoundCheckpoint &checkpoint, const Config &config,
                    const std::string &dataHash, const Say &say);

/// Throws tessera::Error if the kernel files, which are known only after the
/// first launches, differ from the checkpoint's. With
/// config.allowChangedKernels it prints a line instead.
void requireSameKernels(const FoundCheckpoint &checkpoint, const Config &config,
                        const KernelTexts &kernels, const Say &say);

/// Reads weights and moments into `whole`, which has the optimizer's sizes, and
/// returns the progress.
Progress loadCheckpoint(const FoundCheckpoint &checkpoint, const Config &config,
                        const AdamW &optimizer, const OptimizerState &whole);

} // namespace tessera::trainer
