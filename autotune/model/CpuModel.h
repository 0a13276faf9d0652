// autotune/model/CpuModel.h - how long a launch takes on a processor,
// predicted.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "autotune/model/CpuWork.h"
#include "autotune/search/TimedMemory.h"
#include "runtime/compile/CompileService.h"

namespace tessera::tune {

// What operations cost, in those of one vector's arithmetic, and how long that
// takes. Fitted to bench/results/tune_truth_cpu.json (bench/cpu_model.py);
// docs/cost-model.md has what becomes of them. Loads, stores, broadcasts and
// iterations have none: fitted ones came out as nothing, since a processor does
// them beside its arithmetic.
struct CpuConstants {
  double nanoseconds = 0.2;
  double product = 1, scalar = 0.2, program = 40;
};

// Seconds of a launch by `threads` of them: all programs shared out evenly, at
// least the largest one.
double predictedSeconds(const LaunchWork &work, size_t threads,
                        const CpuConstants &constants = {});

// The work of a launch; `compiled` has the stage "loops", `memory` is that of
// the recorded launch. Throws Error for a text that cannot be read.
LaunchWork workOfLaunch(const cases::PreparedLaunch &launch, const Grid &grid,
                        const runtime::CompiledKernel &compiled,
                        const std::string &target, const TimedMemory &memory);

} // namespace tessera::tune
