// trainer/loop/Finish.h - what happens after the last step.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "trainer/checkpoint/Checkpoint.h"
#include "trainer/checkpoint/RunFolder.h"
#include "trainer/data/Batches.h"
#include "trainer/loop/Run.h"

namespace tessera::trainer {

/// Evaluation, panel and metrics.json of a run that has made all its steps.
void finish(models::Transformer &model, const Corpus &corpus,
            const Config &config, const RunFolder &folder, const Run &run);

/// Seconds that finish() will take, when a micro-batch of training takes
/// `microBatch` and a forward pass a third of it.
double finishSeconds(const Corpus &corpus, const Config &config,
                     double microBatch);

} // namespace tessera::trainer
