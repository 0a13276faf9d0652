// trainer/data/TokenSource.h - the training batches of a run, in order.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "trainer/data/Corpus.h"
#include "trainer/data/Order.h"
#include "trainer/data/Prefetch.h"
#include "trainer/data/SequenceValues.h"

#include <memory>
#include <vector>

namespace tessera::trainer {

/// Rows of `length` tokens, and the token that follows each.
struct TokenBatch {
  std::vector<int64_t> inputs;
  std::vector<int64_t> targets; ///< noTarget where none is known.
  /// cu_seqlens of the sequences in the rows; empty: each row is a sequence.
  std::vector<int32_t> starts;
  /// Values of the sequences (trainer/data/SequenceValues.h): those of the
  /// first source, then those of the next.
  std::vector<int32_t> perSequence;
  bool operator==(const TokenBatch &) const = default;
};

/// Rows numbered `first` and on of a row of tokens, cut every `length` tokens.
TokenBatch readWindows(const TokenStore &row,
                       const std::vector<int64_t> &firstTokens, int64_t length);
/// The same of packed documents.
TokenBatch readRows(const PackedRows &rows, const std::vector<int64_t> &numbers,
                    int64_t length);

/// Micro-batches for process `rank` of `processes`, from window number `first`
/// on. Batch k of all processes together is windows first + k * batch_size and
/// on, whatever the number of processes; each takes an equal part of them.
class TokenSource {
public:
  /// Throws tessera::Error when data.at_end=stop and the run needs more windows
  /// than one pass has.
  TokenSource(const Corpus &corpus, const Config &config, int64_t first,
              int64_t rank = 0, int64_t processes = 1);

  /// device_batch_size windows of seq_len tokens. Throws tessera::Error when
  /// they cannot be read, or not within data.timeout.
  TokenBatch next();

  /// Returns the number of windows that all processes have received, from which
  /// a resumed run continues.
  int64_t state() const { return position; }

  /// First token, of all to train on, of window number `index`.
  int64_t firstToken(int64_t index) const;

private:
  /// All that the thread that reads needs.
  struct Reader {
    TokenStore row;
    std::shared_ptr<const PackedRows> packed; ///< Of best_fit.
    WindowOrder order; ///< Of windows, or of the numbers of packed rows.
    int64_t length, windows, offset; ///< Of the windows of a batch, ours.
    SequenceValues values;
    TokenBatch read(int64_t first) const;
  };

  const std::string name;
  const Reader reader;
  const int64_t batch;
  const double timeout;
  int64_t position;
  std::unique_ptr<Prefetch<TokenBatch>> thread;
};

} // namespace tessera::trainer
