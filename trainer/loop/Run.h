// trainer/loop/Run.h - a run under way: optimizer steps with what belongs to
// them.
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

namespace tessera::trainer {

class Run {
public:
  using Clock = std::chrono::steady_clock;

  Run(const Config &config, const Corpus &corpus, models::Transformer &model,
      AdamW &optimizer, const KernelTexts &kernels, const Progress &start,
      DataParallel &parallel);

  /// One optimizer step, logged. A bad update (trainer/optim/UpdateGuard.h) is
  /// left out: its batch is logged and the next step goes on with the next one.
  /// Throws tessera::Error when train.skip_budget is spent.
  void step();
  /// Evaluations and checkpoints that are due after a step; not training time.
  /// The first process evaluates and writes; for a checkpoint all processes
  /// send it their state. The checkpoint is written during the next steps. If
  /// that fails, a later call logs a warning.
  void between();
  /// Saves and waits until that is on disk. Throws tessera::Error when the
  /// checkpoint cannot be written, or when the loss of the last step was not
  /// finite: the weights may be why.
  void save();

  bool last() const { return progress.step >= config.steps; }
  /// The signal that asks the run to stop, 0 if none; a file .HALT counts as
  /// SIGTERM, and SIGTERM wins if processes get different signals. All
  /// processes of a run return it after the same step.
  int stopSignal();
  const Progress &reached() const { return progress; }
  void say(const std::string &text) { telemetry.say(text); }
  /// Kernels compiled after the first step. 0 is expected, because the run
  /// prepares all kernels before it.
  int64_t compiledAfterFirstStep() const;
  /// Of train.hellaswag, in the first process.
  const ChoiceSet &choices() const { return choiceSet; }

private:
  void takeStep();
  int ownSignal();
  /// Of a step: the mean loss of its targets in nats, and its targets divided
  /// by its tokens.
  struct StepLoss {
    double mean, targetShare;
  };
  StepLoss shareLoss(double weighted, double targetShare);
  void overflow(double factor);
  void skip(const std::string &fault, double loss, double norm);
  /// Throws tessera::Error: `what`, and what helps.
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
      before; ///< Seconds of training that a resumed run has behind it.
  const Clock::time_point resumed = Clock::now();
  double paused = 0;
  /// Kernels compiled until the first step was over; -1: there was none.
  int64_t compiledBefore = -1;
  const double tokenFlops; ///< Operations for a token.
  Utilization utilization; ///< Of one process's share of the machine.
  double recent = 0;       ///< Seconds of a step, smoothed, for the ETA.
  /// The loss of the last step was not finite. No checkpoint is written until a
  /// step has a finite loss; earlier checkpoints stay.
  bool suspect = false;
  bool saveDue = false;
  int64_t lastFinite = -1; ///< Last step whose loss and gradient were finite.
  int sharedSignal = 0;
};

} // namespace tessera::trainer
