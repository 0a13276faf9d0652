// trainer/checkpoint/TuningChange.h - reports at a resume which launches have
// another configuration than before.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "trainer/checkpoint/Checkpoint.h"
#include "trainer/checkpoint/RunTuning.h"

#include <string>
#include <vector>

namespace tessera::trainer {

/// Returns "LAUNCH: OLD -> NEW" for each launch that both have and whose
/// configuration differs. `before` is toJson() of an earlier run.
std::vector<std::string> configurationChanges(const nlohmann::json &before,
                                              const RunTuning &now);

/// If the run has another tuning table than the checkpoint, prints both and a
/// line for each launch whose configuration changes, or that none does. If the
/// table is the same, prints only changed configurations. Prints nothing for a
/// run without compiled kernels.
void sayTuningChange(const FoundCheckpoint &checkpoint, const RunTuning &now,
                     const Say &say);

} // namespace tessera::trainer
