// trainer/loop/Train.h - one training run from start to metrics.json.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "trainer/parallel/World.h"

namespace tessera::trainer {

/// Trains as the config says. Returns 0 when the run is finished, 128 + signal
/// when it was asked to stop and has saved; throws tessera::Error when it
/// cannot go on.
int train(const Config &config, const World &world = {});

} // namespace tessera::trainer
