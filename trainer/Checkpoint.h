// trainer/Checkpoint.h - saving a run and going on from it.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "trainer/AdamW.h"

#include <optional>
#include <string>

namespace tessera::trainer {

struct Config;

/// Where a run stands, besides weights and moments.
struct Progress {
  int64_t step = 0;    ///< Optimizer steps done.
  int64_t windows = 0; ///< Training windows drawn: the data position.
  double trainSeconds = 0;
};

/// Writes ckpt/step_NNNNNN under the run folder: built beside its final name,
/// the DONE marker last, then renamed; older ones beyond config.keepCheckpoints
/// go.
void saveCheckpoint(const Config &config, const Progress &progress,
                    const std::string &dataHash,
                    const models::Transformer &model, const AdamW &optimizer);

/// The newest whole checkpoint of a run folder, if any.
std::optional<std::string> latestCheckpoint(const std::string &runFolder);

/// Restores weights, moments and progress. Throws tessera::Error when the
/// checkpoint belongs to another model, schedule or text.
Progress loadCheckpoint(const std::string &folder, const Config &config,
                        const std::string &dataHash, models::Transformer &model,
                        AdamW &optimizer);

} // namespace tessera::trainer
