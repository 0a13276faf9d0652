// trainer/data/TokenSource.h - the training batches of a run, in order.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "trainer/data/Corpus.h"
#include "trainer/data/Order.h"
#include "trainer/data/Prefetch.h"

#include <memory>
#include <vector>

namespace tessera::trainer {

/// Micro-batches for process `rank` of `processes`, from window number `first`
/// on. Batch k of all processes together is windows first + k * batch_size and
/// on, whatever the number of processes; each takes an equal part of them.
class TokenSource {
public:
  /// Throws tessera::Error when data.at_end=stop and the run needs more windows
  /// than one pass has.
  TokenSource(const Corpus &corpus, const Config &config, int64_t first,
              int64_t rank = 0, int64_t processes = 1);

  /// Tokens of device_batch_size windows, seq_len + 1 each. Throws
  /// tessera::Error when they cannot be read, or not within data.timeout.
  std::vector<int64_t> next();

  /// Windows that all processes have been given: where a resumed run begins.
  int64_t state() const { return position; }

private:
  using Tokens = std::vector<int64_t>;
  /// All that the thread that reads needs.
  struct Reader {
    TokenStore row;
    WindowOrder order;
    int64_t length, windows, offset; ///< Of the windows of a batch, ours.
    Tokens read(int64_t first) const;
  };

  const std::string name;
  const Reader reader;
  const int64_t batch;
  const double timeout;
  int64_t position;
  std::unique_ptr<Prefetch<Tokens>> thread;
};

} // namespace tessera::trainer
