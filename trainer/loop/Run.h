// trainer/loop/Run.h - the training loop: optimizer steps, logs, evaluations
// and checkpoints.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "trainer/checkpoint/CheckpointWriter.h"
#include "trainer/data/Batches.h"
#include "trainer/generate/HellaSwag.h"
#include "trainer/loop/MicroStep.h"
#include "trainer/loop/RunControl.h"
#include "trainer/observe/ProcessorPeak.h"
#include "trainer/observe/Telemetry.h"
#include "trainer/observe/Trace.h"
#include "trainer/parallel/GradientExchange.h"
#include "trainer/settings/Config.h"

#include <chrono>
#include <map>

namespace tessera::trainer {

class Run {
public:
  using Clock = std::chrono::steady_clock;

  Run(const Config &config, const Corpus &corpus, models::Transformer &model,
      AdamW &optimizer, const KernelTexts &kernels, const RunTuning &tuning,
      const Progress &start, DataParallel &parallel);

  /// Makes one optimizer step, and logs the first, the last and each
  /// train.log_every-th one. Skips a bad update (trainer/optim/UpdateGuard.h)
  /// and logs its batch; the next step uses the next batch. Throws
  /// tessera::Error if train.skip_budget is exhausted.
  void step();
  /// Makes the evaluations and checkpoints that are due after a step. They do
  /// not count as training time.
  /// The first process evaluates and writes; for a checkpoint all processes
  /// send it their state. The checkpoint is written during the next steps. If
  /// that fails, a later call logs a warning.
  void between();
  /// Writes a checkpoint and waits until it is on disk. Throws tessera::Error
  /// if it cannot be written, or if the loss or the gradient of the last step
  /// was not finite, because then the weights can be damaged.
  void save();

  bool last() const { return progress.step >= config.steps; }
  /// Returns the signal that asks the run to stop, 0 if none; a file .HALT
  /// counts as SIGTERM, and SIGTERM wins if processes get different signals.
  /// All processes of a run return it after the same step.
  int stopSignal();
  const Progress &reached() const { return progress; }
  void say(const std::string &text) { telemetry.say(text); }
  /// Returns how many kernels were compiled after the first step. It should be
  /// 0, because all kernels are prepared before it.
  int64_t compiledAfterFirstStep() const;
  /// Returns the examples of train.hellaswag, in the first process.
  const ChoiceSet &choices() const { return choiceSet; }

private:
  void takeStep();
  int ownSignal();
  /// A step's mean loss per target in nats, and its targets divided by its
  /// tokens.
  struct StepLoss {
    double mean, targetShare;
  };
  StepLoss shareLoss(double weighted, double targetShare);
  void logOverflow(double factor);
  void skip(const std::string &fault, double loss, double norm);
  /// Throws tessera::Error with the text `what` and a hint.
  [[noreturn]] void stop(const std::string &what);
  void update(double rate, StageClock &clock);
  void evaluateHeldOut();
  void scoreChoiceSet();
  void sayASample();
  void compareKernels();
  void startSave();
  void sayFailures();

  const Config &config;
  const Corpus &corpus;
  models::Transformer &model;
  AdamW &optimizer;
  DataParallel &parallel;
  Telemetry telemetry;
  Trace trace;
  RunControl control;
  GradientExchange exchange;
  MicroStep microStep;
  CheckpointWriter writer;
  Progress progress;
  TokenSource source;
  const LossUnit unit;
  const ChoiceSet choiceSet;
  const double
      before; ///< Seconds of training before this process resumed the run.
  const Clock::time_point resumed = Clock::now();
  double paused = 0;
  /// Kernels compiled up to the end of the first step; -1 before that.
  int64_t compiledBefore = -1;
  /// Floating-point operations per token, by sequence length.
  const std::map<int64_t, double> tokenFlops;
  Utilization utilization; ///< Relative to one process's share of the machine.
  double recent = 0;       ///< Smoothed seconds per token, for the ETA.
  /// True if the loss or the gradient of the last step was not finite, except
  /// for an fp16 overflow that only lowers the loss scale. While true, no
  /// checkpoint is written; earlier checkpoints stay.
  bool suspect = false;
  bool saveDue = false;
  int64_t lastFinite = -1; ///< Last step whose loss and gradient were finite.
  int sharedSignal = 0;
};

} // namespace tessera::trainer
