// trainer/loop/Train.h - one training run from start to metrics.json.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "trainer/parallel/World.h"

namespace tessera::trainer {

/// Trains as configured. Returns 0 if the run is finished, 128 + signal if a
/// signal stopped it after a checkpoint. Throws tessera::Error if the run
/// cannot continue.
int train(const Config &config, const World &world = {});

} // namespace tessera::trainer
