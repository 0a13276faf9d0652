// trainer/data/TokenSource.h - produces the training batches of a run, in
// order.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "trainer/data/Corpus.h"
#include "trainer/data/Order.h"
#include "trainer/data/Prefetch.h"
#include "trainer/data/SequenceValues.h"
#include "trainer/settings/Phases.h"

#include <memory>
#include <utility>
#include <vector>

namespace tessera::trainer {

/// Rows of tokens, and for each token the one that follows it.
struct TokenBatch {
  std::vector<int64_t> inputs;
  std::vector<int64_t> targets; ///< noTarget if unknown.
  /// cu_seqlens of the sequences in the rows; empty: each row is a sequence.
  std::vector<int32_t> starts;
  /// Values of the sequences (trainer/data/SequenceValues.h): all values of the
  /// first source, then all of the next.
  std::vector<int32_t> perSequence;
  bool operator==(const TokenBatch &) const = default;
};

/// Reads a window of `length` inputs and their targets at each of
/// `firstTokens`.
TokenBatch readWindows(const TokenStore &row,
                       const std::vector<int64_t> &firstTokens, int64_t length);
/// Reads the packed rows with these numbers.
TokenBatch readRows(const PackedRows &rows, const std::vector<int64_t> &numbers,
                    int64_t length);

/// Produces the micro-batches of process `rank`, from window number `first` on.
/// Micro-batch k of all processes together has the `batch_size` windows from
/// number first + k * batch_size on, for every number of processes. Each
/// process takes an equal, contiguous share:
///
///   batch_size 4, 2 processes    k = 0          k = 1
///   rank 0                       windows 0 1    windows 4 5
///   rank 1                       windows 2 3    windows 6 7
///
/// With train.length_schedule the order of windows is that of train.seq_len,
/// and shorter sequences are consecutive parts of a window. Positions then
/// count units of grainOf() tokens.
class TokenSource {
public:
  /// `steps` is the number of completed steps. Throws tessera::Error if
  /// data.at_end=stop, the order is not random, and the run needs more windows
  /// than one pass has.
  TokenSource(const Corpus &corpus, const Config &config, int64_t first,
              int64_t rank = 0, int64_t processes = 1, int64_t steps = 0);

  /// Returns the next micro-batch of this process, of the size of its step's
  /// phase. Throws tessera::Error if reading fails or, with
  /// prefetching, takes longer than data.timeout.
  TokenBatch next();

  /// Returns the number of windows that all processes have received, from which
  /// a resumed run continues.
  int64_t state() const { return position.grain; }

  /// Returns the index, among all training tokens, of the first token of window
  /// number `index`, or of that unit with train.length_schedule.
  int64_t firstToken(int64_t index) const;

private:
  /// State that the prefetching thread copies.
  struct Reader {
    TokenStore row;
    /// Set with data.packing=best_fit.
    std::shared_ptr<const PackedRows> packed;
    WindowOrder order;     ///< Order of windows, or of packed rows.
    int64_t length, grain; ///< Tokens of a window and of a unit.
    int64_t rank, processes, accumulate;
    std::vector<Phase> phases;
    SequenceValues values;
    /// Returns the first token of a unit, or the number of a packed row.
    int64_t startOf(int64_t unit) const;
    /// Returns the micro-batch at `at` and moves `at` to the next one.
    TokenBatch read(DataPosition &at) const;
    /// Moves to the next micro-batch. Returns the unit at which this one begins
    /// and its phase.
    std::pair<int64_t, Phase> advance(DataPosition &at) const;
  };

  const std::string name;
  const Reader reader;
  const double timeout;
  DataPosition position;
  std::unique_ptr<Prefetch<TokenBatch>> thread;
};

} // namespace tessera::trainer
