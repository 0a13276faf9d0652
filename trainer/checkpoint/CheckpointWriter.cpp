// trainer/checkpoint/CheckpointWriter.cpp - the thread that writes checkpoints.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "trainer/checkpoint/CheckpointWriter.h"

#include "support/Error.h"

#include <ATen/record_function.h>
#include <csignal>
#include <new>

namespace tessera::trainer {

CheckpointWriter::CheckpointWriter(const Config &config,
                                   const std::string &dataHash,
                                   const KernelTexts &kernels,
                                   const RunTuning &tuning,
                                   const AdamW &optimizer)
    : config(config), dataHash(dataHash), kernels(kernels), tuning(tuning),
      optimizer(optimizer) {}

CheckpointWriter::~CheckpointWriter() {
  wait();
  {
    const std::lock_guard lock(mutex);
    ending = true;
  }
  changed.notify_all();
  if (thread.joinable())
    thread.join();
}

void CheckpointWriter::start(const Progress &progress,
                             const OptimizerState &whole) {
  wait();
  std::optional<Snapshot> snapshot;
  try {
    if (!whole.weight.defined())
      throw std::bad_alloc();
    snapshot = takeSnapshot(progress, optimizer, whole);
  } catch (const std::bad_alloc &) {
    const std::lock_guard lock(mutex);
    failed.push_back(
        {progress.step,
         Error("no memory for a copy of weights and moments",
               "a run takes 12 bytes a parameter more while it saves: lower "
               "train.device_batch_size")});
    return;
  }
  {
    const std::lock_guard lock(mutex);
    waiting = std::move(snapshot);
  }
  changed.notify_all();
  if (thread.joinable())
    return;
  // The writer blocks signals, so that the training thread receives them and
  // reports show its stack.
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  thread = std::thread([this] { run(); });
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

void CheckpointWriter::wait() {
  std::unique_lock lock(mutex);
  changed.wait(lock, [&] { return !waiting; });
}

std::vector<SaveFailure> CheckpointWriter::failures() {
  const std::lock_guard lock(mutex);
  return std::exchange(failed, {});
}

void CheckpointWriter::run() {
  std::unique_lock lock(mutex);
  for (;;) {
    changed.wait(lock, [&] { return waiting || ending; });
    if (!waiting)
      return;
    std::optional<SaveFailure> failure;
    lock.unlock();
    const int64_t step = waiting->progress.step;
    try {
      RECORD_USER_SCOPE("checkpoint: write");
      writeCheckpoint(config, *waiting, dataHash, kernels, tuning);
    } catch (const Error &e) {
      failure = {step, e};
    } catch (const std::exception &e) {
      failure = {
          step, Error(std::string("cannot write the checkpoint: ") + e.what())};
    }
    lock.lock();
    waiting.reset();
    if (failure)
      failed.push_back(std::move(*failure));
    changed.notify_all();
  }
}

} // namespace tessera::trainer
