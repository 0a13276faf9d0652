// trainer/data/TokenSource.cpp - windows of a corpus, read ahead.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "trainer/data/TokenSource.h"

#include "support/Error.h"
#include "trainer/Config.h"

#include <fmt/format.h>

namespace tessera::trainer {

TokenSource::TokenSource(const Corpus &corpus, const Config &config,
                         int64_t first, int64_t rank, int64_t processes)
    : name(corpus.name),
      reader{corpus.training,
             WindowOrder(config.dataOrder, uint64_t(config.seed),
                         corpus.training.size(), config.sequenceLength),
             config.sequenceLength, config.batchSize / processes,
             rank * (config.batchSize / processes)},
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
    thread = std::make_unique<Prefetch<Tokens>>(
        [reader = reader, batch = batch, next = first]() mutable {
          next += batch;
          return reader.read(next - batch);
        },
        size_t(config.dataPrefetch));
}

std::vector<int64_t> TokenSource::Reader::read(int64_t first) const {
  Tokens tokens(size_t(windows * (length + 1)));
  for (int64_t i = 0; i < windows; ++i)
    row.read(order.start(first + offset + i), length + 1,
             tokens.data() + i * (length + 1));
  return tokens;
}

std::vector<int64_t> TokenSource::next() {
  Tokens tokens;
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
