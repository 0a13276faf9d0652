// trainer/loop/EnvironmentFile.h - the contents of env.json, which records the
// environment of a run.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "trainer/checkpoint/RunTuning.h"
#include "trainer/loop/KernelTexts.h"
#include "trainer/parallel/World.h"

#include <nlohmann/json_fwd.hpp>

namespace tessera::trainer {

/// Returns time, process, versions, processor, device, the environment
/// variables that a run reads, all settings with their origins and their hash,
/// the SHA-256 of each kernel file, and the tuning.
nlohmann::json environmentOf(const Config &config, const World &world,
                             const std::string &device,
                             const KernelTexts &kernels,
                             const RunTuning &tuning);

} // namespace tessera::trainer
