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
                         int64_t first, int64_t rank, int64_t processes)
    : name(corpus.name), reader{corpus.training,
                                corpus.trainingRows,
                                orderOf(corpus, config),
                                config.sequenceLength,
                                config.batchSize / processes,
                                rank * (config.batchSize / processes),
                                SequenceValues(config)},
      batch(config.batchSize), timeout(config.dataTimeout), position(first) {
  const int64_t needed = config.steps * config.sequencesPerStep();
  const int64_t there = reader.order.windowsPerPass();
  if (config.dataOrder != DataOrder::Random &&
      config.dataEnd == DataEnd::Stop && needed > there)
    throw Error(
        fmt::format("{} has {} sequences of {} tokens to train on, {} steps "
                    "of {} need {}",
                    name, there, config.sequenceLength, config.steps,
                    config.sequencesPerStep(), needed),
        fmt::format("train.steps={} ends with the data; data.at_end=repeat "
                    "begins again",
                    there / config.sequencesPerStep()));
  if (config.dataPrefetch > 0)
    thread = std::make_unique<Prefetch<TokenBatch>>(
        [reader = reader, batch = batch, next = first]() mutable {
          next += batch;
          return reader.read(next - batch);
        },
        size_t(config.dataPrefetch));
}

TokenBatch TokenSource::Reader::read(int64_t first) const {
  std::vector<int64_t> numbers, starts;
  for (int64_t i = 0; i < windows; ++i) {
    numbers.push_back(first + offset + i);
    starts.push_back(order.start(numbers.back()));
  }
  TokenBatch made = packed ? readRows(*packed, starts, length)
                           : readWindows(row, starts, length);
  values.addTo(made, numbers);
  return made;
}

int64_t TokenSource::firstToken(int64_t index) const {
  const int64_t start = reader.order.start(index);
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
  } else {
    tokens = reader.read(position);
  }
  position += batch;
  return tokens;
}

} // namespace tessera::trainer
