// trainer/Run.h - a run under way: optimizer steps with what belongs to them.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "trainer/Checkpoint.h"
#include "trainer/Config.h"
#include "trainer/Data.h"
#include "trainer/Telemetry.h"

#include <chrono>

namespace tessera::trainer {

/// Loss of one micro-batch in nats per token; its gradient, divided by the
/// number of micro-batches in a step, is added to the parameters'.
double backward(models::Transformer &model, const Batch &batch,
                int64_t accumulate);

class Run {
public:
  using Clock = std::chrono::steady_clock;

  Run(const Config &config, const Corpus &corpus, models::Transformer &model,
      AdamW &optimizer, const KernelTexts &kernels, const Progress &start);

  /// One optimizer step, logged. Throws tessera::Error when the loss or its
  /// gradient is not finite; nothing has changed then.
  void step();
  /// Evaluations and checkpoints that are due after a step; not training time.
  void between();
  /// Throws tessera::Error when the checkpoint cannot be written.
  void save();

  bool last() const { return progress.step >= config.steps; }
  const Progress &reached() const { return progress; }
  void say(const std::string &text) { telemetry.say(text); }
  /// Kernels compiled after the first step: 0, all are prepared before it.
  int64_t compiledAfterFirstStep() const;

private:
  const Config &config;
  const Corpus &corpus;
  models::Transformer &model;
  AdamW &optimizer;
  const KernelTexts &kernels;
  Telemetry telemetry;
  Progress progress;
  TokenSource source;
  const LossUnit unit;
  const double
      before; ///< Seconds of training that a resumed run has behind it.
  const Clock::time_point resumed = Clock::now();
  double paused = 0;
  /// Kernels compiled until the first step was over; -1: there was none.
  int64_t compiledBefore = -1;
  double recent = 0; ///< Seconds of a step, smoothed, for the ETA.
};

} // namespace tessera::trainer
