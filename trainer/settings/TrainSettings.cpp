// trainer/settings/TrainSettings.cpp - table sections of the settings of steps,
// evaluation and checkpoints.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "trainer/settings/Entry.h"

namespace tessera::trainer {
namespace {

constexpr double many = 1e9;

const std::vector<Choice> schedules = {
    choice("cosine", LearningRateSchedule::Cosine),
    choice("linear", LearningRateSchedule::Linear),
    choice("wsd", LearningRateSchedule::WarmupStableDecay),
    choice("constant", LearningRateSchedule::Constant)};
const std::vector<Choice> optimizers = {choice("adamw", OptimizerKind::AdamW),
                                        choice("muon", OptimizerKind::Muon)};
const std::vector<Choice> orthogonalizations = {
    choice("newton_schulz", Orthogonalization::NewtonSchulz),
    choice("polar_express", Orthogonalization::PolarExpress)};

} // namespace

std::vector<Setting> trainSettings() {
  return {
      SettingEntry::of(
          "train.steps", MEMBER(steps),
          "optimizer steps; more than a finished run has made extend it")
          .range(1, many)
          .announced(),
      SettingEntry::of("train.seq_len", MEMBER(sequenceLength),
                       "tokens of a sequence")
          .twin("NSA_SEQ_LEN")
          .range(2, 1 << 20),
      SettingEntry::of("train.batch_size", MEMBER(batchSize),
                       "sequences of a micro-batch, of all processes together")
          .twin("NSA_BATCH_SIZE")
          .range(1, 1 << 16),
      SettingEntry::of(
          "train.device_batch_size", MEMBER(deviceBatchSize),
          "sequences of a micro-batch, of one process; 0: an equal part "
          "of train.batch_size")
          .range(0, 1 << 16)
          .free(),
      SettingEntry::of("train.accumulate_grad_batches", MEMBER(accumulate),
                       "micro-batches of an optimizer step")
          .also("train.accumulate")
          .twin("NSA_ACCUM")
          .range(1, 1 << 16),
      SettingEntry::of("train.batch_schedule", MEMBER(batchSchedule),
                       "[1:8, 600:4]: train.batch_size from these steps on")
          .range(1, 1 << 16),
      SettingEntry::of(
          "train.length_schedule", MEMBER(lengthSchedule),
          "[1:128, 600:512]: tokens of a training sequence from these steps "
          "on, divisors of train.seq_len, which remains that of evaluations")
          .range(2, 1 << 20),
      SettingEntry::of("train.lr", MEMBER(learningRate),
                       "learning rate after the warm-up")
          .twin("NSA_LR")
          .range(0, 100)
          .announced(),
      SettingEntry::of("train.lr_final", MEMBER(finalLearningRate),
                       "learning rate at the end")
          .range(0, 100),
      SettingEntry::oneOf("train.lr_schedule", MEMBER(schedule), schedules,
                          "how the rate falls after the warm-up"),
      SettingEntry::of("train.decay_share", MEMBER(decayShare),
                       "share of the steps in which wsd lets the rate fall")
          .range(0, 1),
      SettingEntry::of("train.warmup_steps", MEMBER(warmup),
                       "optimizer steps of linear warm-up")
          .also("train.warmup")
          .range(0, many),
      SettingEntry::oneOf(
          "train.optimizer", MEMBER(optimizer), optimizers,
          "muon: updates of the blocks' matrices are made orthogonal; "
          "all else, and with adamw all, is AdamW's"),
      SettingEntry::of(
          "train.muon_lr", MEMBER(muonRate),
          "learning rate of those matrices after the warm-up; it follows "
          "the schedule of train.lr")
          .range(0, 100)
          .announced(),
      SettingEntry::of(
          "train.muon_momentum", MEMBER(muonMomentum),
          "share of the mean gradient that stays at a step (Nesterov)")
          .range(0, 0.999999),
      SettingEntry::oneOf(
          "train.muon_iterations", MEMBER(orthogonalization),
          orthogonalizations,
          "polynomials that make those updates orthogonal: five "
          "times Newton-Schulz, or the five of Polar Express"),
      SettingEntry::of("train.muon_normalize", MEMBER(muonNormalize),
                       "NorMuon: rows of those updates are divided by the root "
                       "of the running mean of their mean square"),
      SettingEntry::of("train.muon_beta2", MEMBER(muonBeta2),
                       "share of that running mean that stays at a step")
          .range(0, 0.999999),
      SettingEntry::of(
          "train.weight_decay", MEMBER(weightDecay),
          "on matrices but those of gates and compression, not on vectors")
          .range(0, 100),
      SettingEntry::of("train.cautious_decay", MEMBER(cautiousDecay),
                       "weight decay only where it has the sign of the update"),
      SettingEntry::of("train.head_lr_factor", MEMBER(headRateFactor),
                       "learning rate of an untied head, as a multiple of "
                       "train.lr")
          .range(0, 1000),
      SettingEntry::of("train.beta1", MEMBER(beta1), "AdamW")
          .range(0, 0.999999),
      SettingEntry::of("train.beta2", MEMBER(beta2), "AdamW")
          .range(0, 0.999999),
      SettingEntry::of("train.eps", MEMBER(epsilon), "AdamW").range(1e-30, 1),
      SettingEntry::of("train.grad_clip", MEMBER(clip),
                       "largest gradient norm; 0: no clipping")
          .also("train.clip")
          .also("train.max_grad_norm")
          .range(0, many)
          .announced(),
      SettingEntry::of(
          "train.loss_scale", MEMBER(lossScale),
          "what the loss is multiplied by in fp16 at first; it halves "
          "when gradients overflow and doubles after 2000 good steps")
          .range(1, 16777216)
          .announced(),
      SettingEntry::of(
          "train.skip_z", MEMBER(skipScore),
          "an update whose loss or gradient norm is so many standard "
          "deviations above its mean is skipped; 0: only one that is not "
          "finite")
          .range(0, 1000)
          .announced(),
      SettingEntry::of("train.skip_budget", MEMBER(skipBudget),
                       "updates skipped in 128 steps before the run stops")
          .range(0, 128)
          .announced(),
  };
}

std::vector<Setting> routineSettings() {
  return {
      SettingEntry::of("train.seed", MEMBER(seed), "of weights and data order")
          .range(0, 9e15),
      SettingEntry::of("train.init_from", MEMBER(initialWeights),
                       "file of the first weights, .pt or .safetensors, as "
                       "tessera export writes them or of a Llama; empty: drawn "
                       "from train.seed"),
      SettingEntry::of("train.log_every", MEMBER(logEvery),
                       "steps between log lines")
          .range(1, many)
          .free(),
      SettingEntry::of("train.eval_every", MEMBER(evaluateEvery),
                       "steps between evaluations; 0: only at the end")
          .range(0, many)
          .free(),
      SettingEntry::of("train.eval_windows", MEMBER(evaluateWindows),
                       "held-out sequences of an evaluation on the way")
          .range(1, many)
          .free(),
      SettingEntry::of("train.final_windows", MEMBER(finalWindows),
                       "held-out sequences of that at the end; 0: all")
          .range(0, many)
          .free(),
      SettingEntry::of(
          "train.sample_every", MEMBER(sampleEvery),
          "steps between samples of text that the model draws after "
          "the first held-out tokens; 0: none")
          .range(0, many)
          .free(),
      SettingEntry::of("train.sample_tokens", MEMBER(sampleTokens),
                       "tokens of a sample; each takes a forward pass")
          .range(1, 1 << 16)
          .free(),
      SettingEntry::of(
          "train.hellaswag", MEMBER(hellaSwag),
          "file in the format of llm.c's hellaswag_val.bin whose endings "
          "the run is scored on; empty: none")
          .free(),
      SettingEntry::of("train.hellaswag_every", MEMBER(hellaSwagEvery),
                       "steps between such scores; 0: only at the end")
          .range(0, many)
          .free(),
      SettingEntry::of("train.hellaswag_limit", MEMBER(hellaSwagLimit),
                       "examples of a score, the first of the file; 0: all")
          .range(0, many)
          .free(),
      SettingEntry::of(
          "train.save_every", MEMBER(saveEvery),
          "steps between checkpoints; 0: only when stopped and at the "
          "end")
          .range(0, many)
          .free(),
      SettingEntry::of("train.keep", MEMBER(keepCheckpoints),
                       "checkpoints kept")
          .range(1, many)
          .free(),
      SettingEntry::of(
          "train.milestone_every", MEMBER(milestoneEvery),
          "checkpoints of steps that this divides are kept besides; 0: "
          "none")
          .range(0, many)
          .free(),
      SettingEntry::of(
          "train.watchdog", MEMBER(watchdog),
          "seconds that a step takes, ten median steps at least, until "
          "its stack is written; 0: never")
          .twin("NSA_WATCH_HEARTBEAT_STALL_S")
          .range(0, many)
          .free(),
      SettingEntry::of(
          "debug.compare_every", MEMBER(compareEvery),
          "steps between comparisons of compiled kernels with plain "
          "torch: loss, branches of NSA, norms, rotation; 0: none")
          .range(0, many)
          .free(),
      SettingEntry::of(
          "debug.compare_stop", MEMBER(compareStops),
          "end the run where they differ by more than rounding explains; "
          "false: a warning")
          .free(),
      SettingEntry::of(
          "train.trace_steps", MEMBER(traceSteps),
          "steps whose phases, operations and kernels are written to "
          "trace.json, for Perfetto; not given: none")
          .range(1, many)
          .free(),
  };
}

} // namespace tessera::trainer
