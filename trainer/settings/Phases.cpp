// trainer/settings/Phases.cpp - joins the schedules of batch and length.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "trainer/settings/Phases.h"

#include "support/Error.h"
#include "trainer/settings/Config.h"

#include <algorithm>
#include <fmt/format.h>
#include <numeric>
#include <set>

namespace tessera::trainer {
namespace {

/// Returns the value of a step: that of the last entry up to it, `otherwise`
/// before the first entry.
int64_t valueAt(const StepValues &schedule, int64_t step, int64_t otherwise) {
  for (const StepValue &entry : schedule)
    if (entry.step <= step)
      otherwise = entry.value;
  return otherwise;
}

void requireAscending(const char *key, const StepValues &schedule) {
  for (size_t i = 1; i < schedule.size(); ++i)
    if (schedule[i].step <= schedule[i - 1].step)
      throw Error(fmt::format("{}: step {} comes after step {}", key,
                              schedule[i].step, schedule[i - 1].step),
                  "write the earlier step first, for example [1:8, 600:4]");
}

} // namespace

bool hasSchedule(const Config &c) {
  return !c.batchSchedule.empty() || !c.lengthSchedule.empty();
}

std::vector<Phase> phasesOf(const Config &c) {
  std::set<int64_t> firsts = {1};
  for (const StepValues *schedule : {&c.batchSchedule, &c.lengthSchedule})
    for (const StepValue &entry : *schedule)
      if (entry.step <= c.steps)
        firsts.insert(entry.step);
  std::vector<Phase> phases;
  for (const int64_t first : firsts) {
    if (!phases.empty())
      phases.back().last = first - 1;
    phases.push_back({first, c.steps,
                      valueAt(c.batchSchedule, first, c.batchSize),
                      valueAt(c.lengthSchedule, first, c.sequenceLength)});
  }
  return phases;
}

Phase phaseAt(const std::vector<Phase> &phases, int64_t step) {
  for (const Phase &phase : phases)
    if (step <= phase.last)
      return phase;
  return phases.back();
}

Phase phaseAt(const Config &c, int64_t step) {
  return phaseAt(phasesOf(c), step);
}

Config withSizes(Config c, const Phase &phase) {
  c.batchSchedule.clear();
  c.lengthSchedule.clear();
  c.batchSize = phase.batch;
  c.deviceBatchSize = phase.batch / c.processes;
  c.sequenceLength = phase.length;
  return c;
}

int64_t tokensOfSteps(const Config &c, int64_t first, int64_t last) {
  int64_t tokens = 0;
  for (const Phase &phase : phasesOf(c)) {
    const int64_t steps =
        std::min(last, phase.last) - std::max(first, phase.first) + 1;
    tokens +=
        std::max<int64_t>(0, steps) * c.accumulate * phase.batch * phase.length;
  }
  return tokens;
}

int64_t grainOf(const Config &c) {
  int64_t grain = c.sequenceLength;
  for (const StepValue &entry : c.lengthSchedule)
    grain = std::gcd(grain, entry.value);
  return grain;
}

int64_t alignedGrain(int64_t grain, const Phase &phase, int64_t grainTokens) {
  const int64_t each = phase.length / grainTokens;
  return (grain + each - 1) / each * each;
}

int64_t stepsWithin(const Config &c, int64_t grains) {
  const int64_t tokens = grainOf(c);
  int64_t position = 0, steps = 0;
  for (const Phase &phase : phasesOf(c)) {
    const int64_t there = phase.last - phase.first + 1;
    const int64_t step = c.accumulate * phase.batch * (phase.length / tokens);
    position = alignedGrain(position, phase, tokens);
    const int64_t fit =
        std::min(there, std::max<int64_t>(0, grains - position) / step);
    steps += fit;
    if (fit < there)
      break;
    position += there * step;
  }
  return steps;
}

void validateSchedules(const Config &c) {
  requireAscending("train.batch_schedule", c.batchSchedule);
  requireAscending("train.length_schedule", c.lengthSchedule);
  for (const StepValue &entry : c.batchSchedule)
    if (entry.value % c.processes != 0)
      throw Error(fmt::format("train.batch_schedule has {} sequences from step "
                              "{} on, which cannot be divided among {} "
                              "processes",
                              entry.value, entry.step, c.processes),
                  "choose multiples of the number of processes");
  for (const StepValue &entry : c.lengthSchedule)
    if (c.sequenceLength % entry.value != 0)
      throw Error(fmt::format("train.length_schedule has {} tokens from step "
                              "{} on, which do not divide train.seq_len ({})",
                              entry.value, entry.step, c.sequenceLength),
                  "train.seq_len is the longest sequence; halves and quarters "
                  "of it divide it");
  if (!c.lengthSchedule.empty() && c.dataPacking == DataPacking::BestFit)
    throw Error("data.packing=best_fit makes rows of train.seq_len tokens, but "
                "train.length_schedule has shorter sequences",
                "set data.packing: joined, or leave train.length_schedule "
                "away");
}

} // namespace tessera::trainer
