// trainer/loop/Run.cpp - implements the step and the work between two steps.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "trainer/loop/Run.h"

#include "support/Error.h"
#include "support/StopSignals.h"
#include "trainer/checkpoint/CheckpointFolder.h"
#include "trainer/generate/Sampling.h"
#include "trainer/loop/Evaluate.h"
#include "trainer/loop/KernelCheck.h"
#include "trainer/loop/Signals.h"
#include "trainer/optim/Schedule.h"
#include "trainer/parallel/StateShards.h"
#include "trainer/settings/Phases.h"
#include "trainer/settings/Plan.h"

#include <ATen/ATen.h>
#include <ATen/record_function.h>
#include <cmath>
#include <csignal>
#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <numbers>

namespace tessera::trainer {
namespace {

/// The measurements of a step on the host: the losses of its micro-batches, the
/// norm of the gradient times the loss scale, and sums of statistics (fp64; may
/// be empty). One device-to-host copy transfers all. This is the only
/// device-to-host copy in a step, unless processes exchange data through the
/// host. `shares` are each micro-batch's targets divided by its tokens.
struct StepFigures {
  StepFigures(const std::vector<at::Tensor> &losses,
              const std::vector<double> &shares, const at::Tensor &norm,
              const models::Statistics &statistics) {
    const at::NoGradGuard noGrad;
    const int64_t count = int64_t(losses.size());
    std::vector<at::Tensor> parts = {at::stack(losses).to(at::kDouble),
                                     norm.view(1)};
    if (const at::Tensor sums = statistics.sums(); sums.defined())
      parts.push_back(sums);
    all = at::cat(parts).cpu();
    const double *data = all.const_data_ptr<double>();
    for (size_t i = 0; i < shares.size(); ++i) {
      loss += data[i] * shares[i] * (1 / double(count));
      targetShare += shares[i];
    }
    targetShare /= double(count); // 1 where every token has a target
    scaledNorm = data[count];
    statisticSums = all.slice(0, count + 1);
  }

  double loss = 0;        ///< Sum over the targets, divided by the tokens.
  double targetShare = 0; ///< Targets divided by tokens.
  double scaledNorm = 0;
  at::Tensor statisticSums; ///< Input of models::Statistics::values().

private:
  at::Tensor all;
};

/// Returns Run::tokenFlops.
std::map<int64_t, double> flopsByLength(const Config &config) {
  std::map<int64_t, double> all;
  for (const Phase &phase : phasesOf(config)) {
    const Plan plan = planOf(withSizes(config, phase));
    all[phase.length] = plan.weightFlops + plan.attentionFlops;
  }
  return all;
}

double secondsSince(Run::Clock::time_point start) {
  return std::chrono::duration<double>(Run::Clock::now() - start).count();
}

} // namespace

Run::Run(const Config &config, const Corpus &corpus, models::Transformer &model,
         AdamW &optimizer, const KernelTexts &kernels, const RunTuning &tuning,
         const Progress &start, DataParallel &parallel)
    : config(config), corpus(corpus), model(model), optimizer(optimizer),
      parallel(parallel),
      telemetry(parallel.first() ? config.out + "/metrics.jsonl" : "",
                start.step),
      trace(config.out + "/trace.json",
            parallel.first() ? config.traceSteps : StepRange(), model.kernels(),
            config.traceTarget, config.nvtx),
      control(config.out, parallel.rank(), config.watchdog),
      exchange(model.parameters(), optimizer, parallel,
               int64_t(config.bucketMegabytes * 1e6)),
      microStep(config, model, optimizer),
      writer(config, corpus.hash, kernels, tuning, optimizer), progress(start),
      source(corpus, config, start.windows, parallel.rank(), parallel.size(),
             start.step),
      unit(lossUnit(corpus)),
      choiceSet(parallel.first() ? choicesOf(config) : ChoiceSet()),
      before(start.trainSeconds), tokenFlops(flopsByLength(config)),
      utilization([&config, &model, &parallel] {
        return parallel.first() ? peakRate(config, model.device()) : 0.0;
      }) {}

int Run::stopSignal() {
  if (parallel.size() == 1)
    sharedSignal = ownSignal();
  return sharedSignal;
}

int Run::ownSignal() {
  const int signal = StopSignals::received();
  return signal == 0 && control.halted() ? SIGTERM : signal;
}

/// Returns the mean loss over the targets of all processes, and their targets
/// divided by their tokens. All processes call this function in the same step.
/// It also tells them whether a process was asked to stop.
Run::StepLoss Run::shareLoss(double weighted, double targetShare) {
  const int signal = parallel.size() > 1 ? ownSignal() : 0;
  const auto sums = parallel.sum(
      {weighted, targetShare, double(signal != 0), double(signal == SIGTERM)});
  if (sums[2] > 0)
    sharedSignal = sums[3] > 0 ? SIGTERM : SIGINT;
  return {sums[0] / sums[1], sums[1] / double(parallel.size())};
}

void Run::step() {
  if (const std::string line = trace.beginStep(progress.step + 1);
      !line.empty())
    telemetry.say(line);
  takeStep();
  trace.endStep();
}

void Run::takeStep() {
  StageClock clock(&trace);
  control.beat("step", progress.step + 1);
  const LossScale scale = progress.scale;
  const double share = 1 / double(config.accumulate);
  const int64_t number = progress.step + 1;
  const Phase phase = phaseAt(config, number);
  const bool logged =
      number % config.logEvery == 0 || number == 1 || number >= config.steps;
  models::Statistics statistics;
  std::vector<at::Tensor> losses;
  // The number of targets of all processes is known only after the exchange.
  // Until then, gradients are sums over targets divided by the number of
  // tokens; clip() below makes them means over targets.
  std::vector<double> targetShares;
  for (int64_t i = 0; i < config.accumulate; ++i) {
    clock.enter(Stage::Data);
    const Batch batch = toBatch(source.next(), phase.length, model.device());
    if (i + 1 == config.accumulate)
      exchange.beginLast();
    // A CUDA graph collects no statistics and starts no exchange of gradients.
    // Logged steps do not use it, nor does, in a run of several processes, the
    // last micro-batch of each step.
    const bool replays =
        !logged && (parallel.size() == 1 || i + 1 < config.accumulate);
    targetShares.push_back(double(batch.targetCount) /
                           double(batch.targets.numel()));
    losses.push_back(microStep.run(
        batch, scale.factor * share * targetShares.back(), replays, clock,
        logged && parallel.first() ? &statistics : nullptr));
  }
  clock.enter(Stage::Exchange);
  exchange.finish();
  clock.enter(Stage::Update);
  const StepFigures figures(losses, targetShares, optimizer.norm(), statistics);
  clock.enter(Stage::Exchange);
  const auto [loss, targetShare] = shareLoss(figures.loss, figures.targetShare);
  clock.enter(Stage::Update);
  const double norm =
      optimizer.clip(figures.scaledNorm, scale.factor * targetShare);
  const double rate = learningRate(config, progress.step);
  const bool tooLarge = adaptLossScale(config, progress.scale, loss, norm);
  const std::string fault = tooLarge
                                ? ""
                                : recordAndJudge(config, progress.updates,
                                                 progress.step + 1, loss, norm);
  suspect = !tooLarge && (!std::isfinite(loss) || !std::isfinite(norm));
  if (!suspect && !tooLarge)
    lastFinite = number;
  if (tooLarge)
    logOverflow(scale.factor);
  else if (fault.empty())
    update(rate, clock);
  else
    skip(fault, loss, norm);
  optimizer.zeroGradients();
  clock.enter(Stage::Other);
  if (compiledBefore < 0)
    compiledBefore = model.kernels().counts().compiled;
  progress.step += 1;
  progress.windows = source.state();
  progress.trainSeconds = before + secondsSince(resumed) - paused;
  ReportSignals::doing("training", progress.step);

  if (tooLarge || !fault.empty())
    return;
  clock.enter(Stage::Other);
  auto statisticValues = statistics.values(figures.statisticSums);
  clock.enter(Stage::Other); // also adds the time of statistics.values()
  const double seconds = clock.total();
  const double tokens = double(config.accumulate * phase.batch * phase.length);
  const double speed = tokens / seconds;
  trace.phase("log");
  recent = recent > 0 ? 0.9 * recent + 0.1 / speed : 1 / speed;
  telemetry.step(
      {progress.step, config.steps, loss / std::numbers::ln2 * unit.perToken,
       norm, rate, seconds * 1e3, speed,
       recent * double(tokensOfSteps(config, progress.step + 1, config.steps)),
       unit,
       utilization.of(speed * tokenFlops.at(phase.length) /
                      double(parallel.size())),
       clock, std::move(statisticValues), exchange.bucketsBeside(),
       exchange.bucketCount()},
      logged);
}

void Run::update(double rate, StageClock &clock) {
  optimizer.step(rate);
  clock.enter(Stage::Exchange);
  shareWeights(optimizer, parallel);
  clock.enter(Stage::Update);
}

void Run::logOverflow(double factor) {
  const LossScale &scale = progress.scale;
  telemetry.record({{"step", progress.step + 1},
                    {"overflow", scale.overflows},
                    {"loss_scale", scale.factor}});
  telemetry.say(
      fmt::format("step {}: gradients overflow at a loss scale of "
                  "{:.0f}: the update is skipped ({} overflows so far); the "
                  "loss scale is now {:.0f}",
                  progress.step + 1, factor, scale.overflows, scale.factor));
}

void Run::skip(const std::string &fault, double loss, double norm) {
  const int64_t step = progress.step + 1;
  std::vector<int64_t> starts;
  const Phase phase = phaseAt(config, step);
  const int64_t grain = grainOf(config);
  for (int64_t i = alignedGrain(progress.windows, phase, grain);
       i < source.state(); i += phase.length / grain)
    starts.push_back(source.firstToken(i));
  // JSON has null for numbers that are not finite.
  telemetry.record({{"step", step},
                    {"skipped", fault},
                    {"loss", loss},
                    {"grad_norm", norm},
                    {"first_window", progress.windows},
                    {"first_tokens", starts}});
  const auto gone = progress.updates.skipped.size();
  telemetry.say(fmt::format("WARNING: the update of step {} is skipped: {} "
                            "(loss {:g}, gradient norm {:g}); {} of at most "
                            "{} skipped updates in {} steps; metrics.jsonl has "
                            "the index of the first token of each of its "
                            "sequences",
                            step, fault, loss, norm, gone, config.skipBudget,
                            guardWindow));
  if (budgetSpent(config, progress.updates))
    stop(fmt::format("{} at step {} (loss {}, gradient norm {}); the updates "
                     "skipped in {} steps exceed train.skip_budget ({})",
                     fault, step, loss, norm, guardWindow, config.skipBudget));
}

void Run::stop(const std::string &what) {
  writer.wait(); // the newest checkpoint may be incomplete
  const auto checkpoints = listCheckpoints(config.out);
  const std::string lower =
      fmt::format("lower the learning rate: the same command with "
                  "train.lr={:g}, for example, ",
                  config.learningRate / 2);
  if (checkpoints.empty())
    throw Error(what, lower + "starts over (no checkpoint was saved yet; see "
                              "train.save_every)");
  const auto &[newest, folder] = *checkpoints.rbegin();
  if (lastFinite > newest)
    throw Error(what, fmt::format("{}resumes from the checkpoint of step {}",
                                  lower, newest));
  // If no step after the newest checkpoint was finite, the learning rate alone
  // is not the cause: the loss of the next step depends only on the saved
  // weights and the data.
  const std::string before =
      checkpoints.size() < 2
          ? ""
          : fmt::format("move its folder away to resume from step {} with a "
                        "lower train.lr, or ",
                        std::next(checkpoints.rbegin())->first);
  throw Error(
      what,
      fmt::format("no step after the checkpoint {} was finite, so a lower "
                  "train.lr alone does not help: its weights or the "
                  "data that follow it are at fault; {}start over with "
                  "resume=never and a lower train.lr",
                  folder.string(), before));
}

void Run::between() {
  const Clock::time_point pause = Clock::now();
  const auto due = [&](int64_t every) {
    return every > 0 && !last() && progress.step % every == 0;
  };
  if (parallel.first())
    control.beat("between", progress.step);
  if (parallel.first() && due(config.evaluateEvery))
    evaluateHeldOut();
  if (parallel.first() && due(config.hellaSwagEvery))
    scoreChoiceSet();
  if (parallel.first() && due(config.sampleEvery))
    sayASample();
  if (parallel.first() && due(config.compareEvery))
    compareKernels();
  saveDue = saveDue || due(config.saveEvery);
  if (saveDue && !suspect) {
    saveDue = false;
    startSave();
  }
  sayFailures();
  paused += secondsSince(pause);
}

void Run::evaluateHeldOut() {
  RECORD_USER_SCOPE("evaluation");
  ReportSignals::doing("evaluating", progress.step);
  const Evaluation e = evaluate(model, corpus, config, config.evaluateWindows);
  telemetry.record(
      {{"step", progress.step}, {std::string("val_") + unit.key, e.bits}});
  telemetry.say(fmt::format("step {}: {:.4f} held-out {} "
                            "({} windows)",
                            progress.step, e.bits, unit.name, e.windows));
}

void Run::scoreChoiceSet() {
  RECORD_USER_SCOPE("hellaswag");
  ReportSignals::doing("scoring HellaSwag", progress.step);
  const ChoiceResult result = choiceSet.score(model);
  nlohmann::json record = metricsOf(result);
  record["step"] = progress.step;
  telemetry.record(record);
  telemetry.say(fmt::format("step {}: {}", progress.step, describe(result)));
}

/// Compares kernels with plain torch on the next micro-batch.
void Run::compareKernels() {
  ReportSignals::doing("comparing kernels", progress.step);
  const Batch batch = trainingBatch(corpus, config, progress.windows,
                                    model.device(), progress.step);
  const models::KernelDifferences differences =
      model.compareKernels(batch.inputs, optionsOf(batch));
  nlohmann::json record = {{"step", progress.step}};
  for (const auto &[operation, d] : differences)
    record["kernel_differences"][operation] = d.relative;
  telemetry.record(record);
  const std::string fault = kernelFault(config, differences);
  if (fault.empty())
    return telemetry.say(
        fmt::format("step {}: kernels agree with plain torch", progress.step));
  const std::string what = fmt::format(
      "step {}: kernels differ from plain torch: {}", progress.step, fault);
  if (config.compareStops)
    throw Error(what, "train without compiled kernels (kernels=torch), or "
                      "only warn (debug.compare_stop=false)");
  telemetry.say("WARNING: " + what);
}

void Run::sayASample() {
  RECORD_USER_SCOPE("sample");
  ReportSignals::doing("drawing a sample", progress.step);
  const Sample sample = drawSample(model, corpus, config);
  telemetry.record({{"step", progress.step},
                    {"sample", sample.text},
                    {"sample_prompt", sample.prompt}});
  // JSON escapes keep arbitrary bytes on one line.
  const auto quoted = [](const std::string &text) {
    return nlohmann::json(text).dump(-1, ' ', false,
                                     nlohmann::json::error_handler_t::replace);
  };
  telemetry.say(fmt::format("step {}: sample: {} -> {}", progress.step,
                            quoted(sample.prompt), quoted(sample.text)));
}

/// Starts a checkpoint. All processes call this after the same step, because
/// each sends its shard of the state to the first.
void Run::startSave() {
  RECORD_USER_SCOPE("checkpoint: copy");
  ReportSignals::doing("copying what a checkpoint holds", progress.step);
  writer.wait();
  const OptimizerState whole = gatherState(optimizer, parallel);
  if (parallel.first())
    writer.start(progress, whole);
}

void Run::sayFailures() {
  for (const SaveFailure &failure : writer.failures())
    telemetry.say(fmt::format("WARNING: no checkpoint of step {}: {}; earlier "
                              "checkpoints are kept, training continues and "
                              "tries to save the next one when it is due",
                              failure.step, failure.error.message));
}

int64_t Run::compiledAfterFirstStep() const {
  return compiledBefore < 0
             ? 0
             : model.kernels().counts().compiled - compiledBefore;
}

void Run::save() {
  if (suspect)
    stop(fmt::format("the loss or its gradient is not finite at the last "
                     "step, {}: no checkpoint of it is saved",
                     progress.step));
  ReportSignals::doing("saving a checkpoint", progress.step);
  writer.wait();
  sayFailures();
  startSave();
  writer.wait();
  if (const std::string line = trace.finish(); !line.empty())
    telemetry.say(line);
  for (const SaveFailure &failure : writer.failures())
    throw failure.error;
}

} // namespace tessera::trainer
