// trainer/settings/Phases.h - the sizes of micro-batches over the steps of a
// run: train.batch_schedule and train.length_schedule.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

namespace tessera::trainer {

struct Config;

/// Steps whose micro-batches have the same size.
struct Phase {
  int64_t first, last; ///< Steps, counted from 1, both included.
  int64_t batch;       ///< Sequences of a micro-batch, of all processes.
  int64_t length;      ///< Tokens of a sequence.
};

/// Returns true if train.batch_schedule or train.length_schedule is set.
bool hasSchedule(const Config &config);

/// Returns the phases of a run in ascending order. They cover steps 1 to
/// train.steps.
std::vector<Phase> phasesOf(const Config &config);

/// Returns the phase of a step; that of the last step for later ones.
Phase phaseAt(const Config &config, int64_t step);
Phase phaseAt(const std::vector<Phase> &phases, int64_t step);

/// Returns the settings of a run whose steps all have the size of the phase.
Config withSizes(Config config, const Phase &phase);

/// Returns the tokens of steps first .. last, both included.
int64_t tokensOfSteps(const Config &config, int64_t first, int64_t last);

/// Returns the unit of positions in the data: the greatest number of tokens
/// that divides every sequence length of the run. Without
/// train.length_schedule it is train.seq_len.
int64_t grainOf(const Config &config);

/// A position in the data of a run.
struct DataPosition {
  int64_t grain = 0;      ///< Number of the next unit of grainOf() tokens.
  int64_t microBatch = 0; ///< Number of the next micro-batch.
};

/// Moves to the start of the next micro-batch's first sequence, whose number
/// of grains is a multiple of those of a sequence. A longer sequence thus ends
/// within a window of train.seq_len tokens.
int64_t alignedGrain(int64_t grain, const Phase &phase, int64_t grainTokens);

/// Returns how many of the run's first steps read only the first `grains`
/// units of the data; train.steps if all do.
int64_t stepsWithin(const Config &config, int64_t grains);

/// Throws tessera::Error if a schedule is not ascending, a length does not
/// divide train.seq_len, a batch cannot be divided among config.processes, or
/// lengths change with data.packing=best_fit.
void validateSchedules(const Config &config);

} // namespace tessera::trainer
