// trainer/loop/Finish.h - evaluates and reports a run after its last step.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "trainer/checkpoint/Checkpoint.h"
#include "trainer/checkpoint/RunFolder.h"
#include "trainer/data/Batches.h"
#include "trainer/loop/Run.h"

namespace tessera::trainer {

/// Evaluates a completed run, compares NSA with SDPA and writes metrics.json.
void finish(models::Transformer &model, const Corpus &corpus,
            const Config &config, const RunFolder &folder, const Run &run);

/// Returns an estimate of the seconds that finish() takes. A training
/// micro-batch takes `microBatch` seconds; a forward pass is assumed to take a
/// third.
double finishSeconds(const Corpus &corpus, const Config &config,
                     double microBatch);

} // namespace tessera::trainer
