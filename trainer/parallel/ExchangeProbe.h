// trainer/parallel/ExchangeProbe.h - how fast processes exchange gradients.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "trainer/checkpoint/Checkpoint.h"
#include "trainer/parallel/DataParallel.h"
#include "trainer/settings/Config.h"

#include <string>

namespace tessera::trainer {

/// Of several processes: times the mean of one bucket (runtime.ddp_bucket_mb),
/// rounded as runtime.ddp_compress says, and says what those of `gradients`
/// parameters take by that. Every process calls it.
void sayExchangeRate(DataParallel &parallel, const Config &config,
                     int64_t gradients, c10::Device device, const Say &say);

/// That line. `sent`: bytes of a bucket on the wire; `seconds`: its time;
/// `sentInAll`: bytes of a step's gradients.
std::string exchangeLine(double sent, double seconds, double sentInAll,
                         int64_t processes);

} // namespace tessera::trainer
