// trainer/checkpoint/CheckpointWriter.h - checkpoints that a thread writes
// while the run goes on.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "support/Error.h"
#include "trainer/checkpoint/Checkpoint.h"

#include <condition_variable>
#include <mutex>
#include <thread>

namespace tessera::trainer {

/// A checkpoint that could not be written. The ones before are there.
struct SaveFailure {
  int64_t step;
  Error error;
};

/// One checkpoint is written at a time. The thread starts with the first.
class CheckpointWriter {
public:
  /// All are used until this is destroyed, which completes what is being
  /// written.
  CheckpointWriter(const Config &config, const std::string &dataHash,
                   const KernelTexts &kernels, const AdamW &optimizer);
  ~CheckpointWriter();
  CheckpointWriter(const CheckpointWriter &) = delete;
  CheckpointWriter &operator=(const CheckpointWriter &) = delete;

  /// Copies weights and moments as they are and returns; the copy is written
  /// with `progress` meanwhile. Waits for an earlier checkpoint first: memory
  /// holds one copy. Undefined tensors in `whole` are a failure: there was no
  /// memory for them.
  void start(const Progress &progress, const OptimizerState &whole);
  /// Waits until nothing is left to write.
  void wait();
  /// Those that failed since the last call, oldest first.
  std::vector<SaveFailure> failures();

private:
  void run();

  const Config &config;
  const std::string dataHash;
  const KernelTexts &kernels;
  const AdamW &optimizer;
  std::mutex mutex; ///< Of all below.
  std::condition_variable changed;
  std::optional<Snapshot> waiting; ///< Until it is written.
  std::vector<SaveFailure> failed;
  bool ending = false;
  std::thread thread;
};

} // namespace tessera::trainer
