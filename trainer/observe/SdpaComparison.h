// trainer/observe/SdpaComparison.h - compares NSA with PyTorch's SDPA on this
// CPU, at the end of a run.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "models/Kernels.h"

#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <string>

namespace tessera::trainer {

/// Times the forward pass of NSA (paper geometry, 8 query heads in 2 groups, 64
/// channels, one sequence) and of causal SDPA at lengths from 1k to 8k. Both
/// use `threads` CPU threads. Lengths that would exceed the budget are reported
/// as left out. Calls `say` with each line. Returns an array of {length,
/// nsa_ms, sdpa_ms, sdpa_over_nsa}.
nlohmann::json runPanel(models::Kernels &kernels, int64_t threads,
                        double budgetSeconds,
                        const std::function<void(const std::string &)> &say);

/// Returns the compile requests of runPanel(), as JSON. `prepare`: also
/// compiles them, in parallel.
std::vector<std::string> listPanel(models::Kernels &kernels, bool prepare);

} // namespace tessera::trainer
