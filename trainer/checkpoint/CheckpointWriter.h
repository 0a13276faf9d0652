// trainer/checkpoint/CheckpointWriter.h - a thread that writes checkpoints
// while the run continues.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "support/Error.h"
#include "trainer/checkpoint/Checkpoint.h"

#include <condition_variable>
#include <mutex>
#include <thread>

namespace tessera::trainer {

/// A checkpoint that could not be written. Earlier checkpoints remain.
struct SaveFailure {
  int64_t step;
  Error error;
};

/// Writes one checkpoint at a time. The first start() starts the thread.
class CheckpointWriter {
public:
  /// The arguments must outlive the writer. The destructor completes the
  /// checkpoint that is being written.
  CheckpointWriter(const Config &config, const std::string &dataHash,
                   const KernelTexts &kernels, const RunTuning &tuning,
                   const AdamW &optimizer);
  ~CheckpointWriter();
  CheckpointWriter(const CheckpointWriter &) = delete;
  CheckpointWriter &operator=(const CheckpointWriter &) = delete;

  /// Copies weights and moments and returns; the thread writes the copy with
  /// `progress`. Waits for an earlier checkpoint first, so that memory holds
  /// only one copy. Undefined tensors in `whole` mean that there was no memory
  /// for them and count as a failure.
  void start(const Progress &progress, const OptimizerState &whole);
  /// Waits until the pending checkpoint is written.
  void wait();
  /// Returns the failures since the last call, oldest first.
  std::vector<SaveFailure> failures();

private:
  void run();

  const Config &config;
  const std::string dataHash;
  const KernelTexts &kernels;
  const RunTuning &tuning;
  const AdamW &optimizer;
  std::mutex mutex; ///< Guards all members below.
  std::condition_variable changed;
  std::optional<Snapshot> waiting; ///< Until it is written.
  std::vector<SaveFailure> failed;
  bool ending = false;
  std::thread thread;
};

} // namespace tessera::trainer
