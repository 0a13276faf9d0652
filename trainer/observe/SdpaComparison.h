// trainer/observe/SdpaComparison.h - NSA against torch's SDPA on this CPU, in
// twenty seconds.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "models/Kernels.h"

#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <string>

namespace tessera::trainer {

/// Times the forward pass of NSA (paper geometry, 8 query heads, 2 groups of
/// 64 channels, one sequence) and of causal SDPA at lengths from 1k to 8k.
/// Both use `threads` CPU threads. Reports the lengths that the budget leaves
/// no time for. Calls `say` with each line; returns the measurements.
nlohmann::json runPanel(models::Kernels &kernels, int64_t threads,
                        double budgetSeconds,
                        const std::function<void(const std::string &)> &say);

/// Compiles what runPanel() launches, in parallel.
void preparePanel(models::Kernels &kernels);

} // namespace tessera::trainer
