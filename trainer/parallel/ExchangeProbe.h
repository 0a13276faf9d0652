// trainer/parallel/ExchangeProbe.h - measures the rate of the gradient exchange
// when a run of several processes starts.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "trainer/checkpoint/Checkpoint.h"
#include "trainer/parallel/DataParallel.h"
#include "trainer/settings/Config.h"

#include <string>

namespace tessera::trainer {

/// Times the all-reduce of one bucket (runtime.ddp_bucket_mb) in the type of
/// runtime.ddp_compress. Passes exchangeLine() with the extrapolated time of
/// `gradients` elements to `say`. Every process of the run must call this; a
/// run of one process measures nothing.
void sayExchangeRate(DataParallel &parallel, const Config &config,
                     int64_t gradients, c10::Device device, const Say &say);

/// Returns the line that sayExchangeRate() reports, for a bucket of `sent`
/// bytes on the wire that takes `seconds`, and gradients of `sentInAll` bytes
/// a step.
std::string exchangeLine(double sent, double seconds, double sentInAll,
                         int64_t processes);

} // namespace tessera::trainer
