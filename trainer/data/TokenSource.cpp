// trainer/data/TokenSource.cpp - reads windows of a corpus, optionally in a
// thread.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "trainer/data/TokenSource.h"

#include "support/Error.h"
#include "trainer/settings/Config.h"

#include <fmt/format.h>

namespace tessera::trainer {
namespace {

WindowOrder orderOf(const Corpus &corpus, const Config &config) {
  const uint64_t seed = uint64_t(config.seed);
  // WindowOrder then orders row numbers: its windows have one "token", a row.
  if (corpus.trainingRows)
    return {config.dataOrder, seed, corpus.trainingRows->rows() + 1, 1};
  return {config.dataOrder, seed, corpus.training.size(),
          config.sequenceLength};
}

} // namespace

TokenBatch readWindows(const TokenStore &row,
                       const std::vector<int64_t> &firstTokens,
                       int64_t length) {
  TokenBatch batch;
  std::vector<int64_t> tokens(size_t(length) + 1);
  for (const int64_t first : firstTokens) {
    row.read(first, length + 1, tokens.data());
    batch.inputs.insert(batch.inputs.end(), tokens.begin(), tokens.end() - 1);
    batch.targets.insert(batch.targets.end(), tokens.begin() + 1, tokens.end());
  }
  return batch;
}

TokenBatch readRows(const PackedRows &rows, const std::vector<int64_t> &numbers,
                    int64_t length) {
  TokenBatch batch;
  batch.inputs.resize(numbers.size() * size_t(length));
  batch.targets.resize(batch.inputs.size());
  batch.starts.push_back(0);
  for (size_t i = 0; i < numbers.size(); ++i) {
    const size_t at = i * size_t(length);
    rows.read(numbers[i], int64_t(at), batch.inputs.data() + at,
              batch.targets.data() + at, batch.starts);
  }
  return batch;
}

TokenSource::TokenSource(const Corpus &corpus, const Config &config,
                         int64_t first, int64_t rank, int64_t processes,
                         int64_t steps)
    : name(corpus.name), reader{corpus.training,
                                corpus.trainingRows,
                                orderOf(corpus, config),
                                config.sequenceLength,
                                grainOf(config),
                                rank,
                                processes,
                                config.accumulate,
                                phasesOf(config),
                                SequenceValues(config)},
      timeout(config.dataTimeout), position{first, steps * config.accumulate} {
  const int64_t there = reader.order.windowsPerPass();
  const int64_t possible =
      stepsWithin(config, there * (reader.length / reader.grain));
  if (config.dataOrder != DataOrder::Random &&
      config.dataEnd == DataEnd::Stop && possible < config.steps) {
    const std::string sizes =
        hasSchedule(config) ? ""
                            : fmt::format(" of {}", config.sequencesPerStep());
    throw Error(
        fmt::format("{} has {} sequences of {} tokens to train on, {} steps{} "
                    "need {}",
                    name, there, config.sequenceLength, config.steps, sizes,
                    (tokensOfSteps(config, 1, config.steps) +
                     config.sequenceLength - 1) /
                        config.sequenceLength),
        fmt::format("train.steps={} ends with the data; data.at_end=repeat "
                    "begins again",
                    possible));
  }
  if (config.dataPrefetch > 0)
    thread = std::make_unique<Prefetch<TokenBatch>>(
        [reader = reader, next = position]() mutable {
          return reader.read(next);
        },
        size_t(config.dataPrefetch));
}

std::pair<int64_t, Phase> TokenSource::Reader::advance(DataPosition &at) const {
  const Phase phase = phaseAt(phases, at.microBatch / accumulate + 1);
  const int64_t first = alignedGrain(at.grain, phase, grain);
  at = {first + phase.batch * (phase.length / grain), at.microBatch + 1};
  return {first, phase};
}

int64_t TokenSource::Reader::startOf(int64_t unit) const {
  const int64_t each = length / grain;
  return order.start(unit / each) + unit % each * grain;
}

TokenBatch TokenSource::Reader::read(DataPosition &at) const {
  const auto [first, phase] = advance(at);
  const int64_t count = phase.batch / processes, each = phase.length / grain;
  std::vector<int64_t> numbers, starts;
  for (int64_t i = 0; i < count; ++i) {
    numbers.push_back(first / each + rank * count + i);
    starts.push_back(startOf(numbers.back() * each));
  }
  TokenBatch made = packed ? readRows(*packed, starts, phase.length)
                           : readWindows(row, starts, phase.length);
  values.addTo(made, numbers);
  return made;
}

int64_t TokenSource::firstToken(int64_t index) const {
  const int64_t start = reader.startOf(index);
  return reader.packed ? reader.packed->pieces(start)[0].first : start;
}

TokenBatch TokenSource::next() {
  TokenBatch tokens;
  if (thread) {
    auto result = thread->next(std::chrono::duration<double>(timeout));
    if (!result)
      throw Error(fmt::format("no data from {} for {} seconds", name, timeout),
                  "the disk or the network it is on does not answer; a larger "
                  "data.timeout waits longer");
    tokens = std::move(*result);
    reader.advance(position);
  } else {
    tokens = reader.read(position);
  }
  return tokens;
}

} // namespace tessera::trainer
