// trainer/Train.cpp - the training loop; read it from top to bottom.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "trainer/Train.h"

#include "support/Error.h"
#include "support/File.h"
#include "support/Options.h"
#include "trainer/Checkpoint.h"
#include "trainer/CheckpointFolder.h"
#include "trainer/Data.h"
#include "trainer/Evaluate.h"
#include "trainer/Panel.h"
#include "trainer/RunFolder.h"
#include "trainer/Schedule.h"
#include "trainer/Signals.h"
#include "trainer/Telemetry.h"

#include <ATen/ATen.h>
#include <ATen/Context.h>
#include <ATen/Parallel.h>
#include <chrono>
#include <cmath>
#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <numbers>

namespace tessera::trainer {
namespace {

using Clock = std::chrono::steady_clock;
using nlohmann::json;

constexpr double panelSeconds = 20;

double since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

void say(const std::string &text) { writeLog(text + "\n"); }

/// Loss of one micro-batch in nats per byte; its gradient, divided by the
/// number of micro-batches in a step, is added to the parameters'.
double backward(models::Transformer &model, const Batch &batch,
                int64_t accumulate) {
  const at::Tensor logits = model.forward(batch.inputs).logits;
  const at::Tensor loss =
      at::cross_entropy_loss(logits.flatten(0, 1), batch.targets.flatten());
  (loss / double(accumulate)).backward();
  return loss.item<double>();
}

/// Seconds of one micro-batch, after a first one that compiles what is not in
/// the cache yet. Leaves the model as it was.
double timeMicroBatch(models::Transformer &model, AdamW &optimizer,
                      const Corpus &corpus, const Config &config) {
  const Batch batch = trainingBatch(corpus, config, 0);
  backward(model, batch, 1);
  const Clock::time_point start = Clock::now();
  for (int i = 0; i < 2; ++i)
    backward(model, batch, 1);
  optimizer.zeroGradients();
  return since(start) / 2;
}

/// Seconds that finalMetrics and the panel will take, when a forward pass is a
/// third of a training one.
double evaluationEstimate(const Corpus &corpus, const Config &config,
                          double microBatch) {
  const bool sparse = config.model.attention == models::AttentionKind::Nsa;
  const int64_t all = heldOutWindows(corpus, config);
  const int64_t windows =
      config.finalWindows ? std::min(all, config.finalWindows) : all;
  const double passes =
      double(windows) / double(config.batchSize) * (sparse ? 4 : 1);
  return passes * microBatch / 3 + (config.panel ? panelSeconds : 0);
}

std::string sizes(const Config &c, const models::Transformer &model) {
  std::string attention = "attention sdpa";
  if (c.model.attention == models::AttentionKind::Dense)
    attention = "attention dense";
  if (c.model.attention == models::AttentionKind::Nsa)
    attention = fmt::format("attention nsa (l={} d={} l'={} n={} w={})",
                            c.model.nsa.blockLength, c.model.nsa.stride,
                            c.model.nsa.selectionLength,
                            c.model.nsa.selectedBlocks, c.model.nsa.window);
  if (c.model.attention == models::AttentionKind::Kernel)
    attention = fmt::format("attention {} of {}", c.model.custom.forward,
                            c.model.custom.file);
  const std::string device = optionText(Option::Device);
  const std::string kernels =
      c.kernels == models::KernelSource::Torch ? "torch kernels"
      : device == "cpu"                        ? "tessera kernels"
                                               : "tessera kernels on " + device;
  return fmt::format("model: {} parameters, {} layers x {}, {}, {}",
                     model.parameterCount(), c.model.layers, c.model.dim,
                     attention, kernels);
}

/// metrics.json: what the run reached, measured on all held-out bytes or those
/// of train.final_windows.
json finalMetrics(models::Transformer &model, const Corpus &corpus,
                  const Config &config, const Progress &progress) {
  const Evaluation whole = evaluate(model, corpus, config, config.finalWindows);
  json metrics = {
      {"val_bpb", whole.bitsPerByte},
      {"bpb_by_position",
       {{"0-31", whole.early}, {"32-255", whole.middle}, {"256-", whole.late}}},
      {"selected_fraction", whole.selectedFraction},
      {"steps", progress.step},
      {"tokens", progress.windows * config.sequenceLength},
      {"parameters", model.parameterCount()},
      {"tokens_per_s", progress.trainSeconds > 0
                           ? double(progress.windows * config.sequenceLength) /
                                 progress.trainSeconds
                           : 0.0},
      {"train_seconds", progress.trainSeconds},
      {"data_sha256", corpus.hash},
      {"val_windows", whole.windows}};
  say(fmt::format("held-out: {:.4f} bits/byte ({:.3f} below position 32, "
                  "{:.3f} from 256)",
                  whole.bitsPerByte, whole.early, whole.late));
  if (config.model.attention != models::AttentionKind::Nsa)
    return metrics;
  say(fmt::format("selection keeps {:.1f}% of the keys at the last position",
                  100 * whole.selectedFraction));
  constexpr const char *names[] = {"cmp", "sel", "win"};
  for (int branch = 0; branch < 3; ++branch) {
    const Evaluation e =
        evaluate(model, corpus, config, config.finalWindows, branch);
    metrics[fmt::format("val_bpb_without_{}", names[branch])] = e.bitsPerByte;
    say(fmt::format("without the {} branch: {:.4f} bits/byte ({:+.4f})",
                    names[branch], e.bitsPerByte,
                    e.bitsPerByte - whole.bitsPerByte));
  }
  return metrics;
}

/// The checkpoint to go on from, if any. A folder whose files would have to
/// move is refused here, before anything slow.
std::optional<FoundCheckpoint> startingPoint(const Config &config,
                                             const RunFolder &folder) {
  std::optional<FoundCheckpoint> checkpoint;
  if (config.resume == "auto" && !folder.finished())
    checkpoint = findCheckpoint(config.out, say);
  if (!checkpoint)
    folder.refuseForeignFiles();
  return checkpoint;
}

/// Makes the folder that of this run. All that can refuse the run has been
/// asked before; what an earlier run left was untouched until here.
void takeFolder(const Config &config, RunFolder &folder,
                const std::optional<FoundCheckpoint> &checkpoint,
                const Progress &progress, const KernelTexts &kernels) {
  if (checkpoint) {
    for (const auto &damaged : checkpoint->damaged)
      setDamagedAside(damaged);
    say(fmt::format("going on from {} at step {} (resume=never starts over)",
                    checkpoint->folder, progress.step));
  } else if (const std::string aside = folder.putAside(); !aside.empty()) {
    say("the earlier run in this folder is now in " + aside);
  }
  writeFile(folder.file("config.json"), toJson(config).dump(1) + "\n");
  keepKernels(config.out, progress.step, kernels);
}

[[noreturn]] void notFinite(const Config &config, int64_t step, double loss,
                            double norm) {
  const auto checkpoints = listCheckpoints(config.out);
  const std::string lower =
      fmt::format("lower the learning rate: the same command with "
                  "train.lr={:g}, for example, ",
                  config.learningRate / 2);
  throw Error(
      fmt::format("the loss or its gradient is not finite at step {} (loss {}, "
                  "gradient norm {})",
                  step, loss, norm),
      checkpoints.empty()
          ? lower + "starts over (no checkpoint was saved yet; see "
                    "train.save_every)"
          : fmt::format("{}goes on from the checkpoint of step {}", lower,
                        checkpoints.rbegin()->first));
}

/// A run under way: optimizer steps with what belongs to them.
class Run {
public:
  Run(const Config &config, const Corpus &corpus, models::Transformer &model,
      AdamW &optimizer, const KernelTexts &kernels, const Progress &start)
      : config(config), corpus(corpus), model(model), optimizer(optimizer),
        kernels(kernels), telemetry(config.out + "/metrics.jsonl", start.step),
        progress(start), before(start.trainSeconds) {}

  /// One optimizer step, logged.
  void step() {
    const Clock::time_point start = Clock::now();
    double loss = 0;
    for (int64_t i = 0; i < config.accumulate; ++i) {
      const int64_t first = progress.windows + i * config.batchSize;
      loss += backward(model, trainingBatch(corpus, config, first),
                       config.accumulate) /
              double(config.accumulate);
    }
    const double norm = optimizer.clip();
    if (!std::isfinite(loss) || !std::isfinite(norm))
      notFinite(config, progress.step + 1, loss, norm);
    const double rate = learningRate(config, progress.step);
    optimizer.step(rate);
    optimizer.zeroGradients();
    progress.step += 1;
    progress.windows += config.batchSize * config.accumulate;
    progress.trainSeconds = before + since(resumed) - paused;
    ReportSignals::doing("training", progress.step);

    const double seconds = since(start);
    recent = recent > 0 ? 0.9 * recent + 0.1 * seconds : seconds;
    telemetry.step({progress.step, config.steps, loss / std::numbers::ln2, norm,
                    rate, seconds * 1e3, double(bytesPerStep()) / seconds,
                    recent * double(config.steps - progress.step)},
                   progress.step % config.logEvery == 0 || last() ||
                       progress.step == 1);
  }

  /// Evaluations and checkpoints that are due after a step; not training time.
  void between() {
    const Clock::time_point pause = Clock::now();
    const auto due = [&](int64_t every) {
      return every > 0 && !last() && progress.step % every == 0;
    };
    if (due(config.evaluateEvery)) {
      ReportSignals::doing("evaluating", progress.step);
      const Evaluation e =
          evaluate(model, corpus, config, config.evaluateWindows);
      telemetry.record({{"step", progress.step}, {"val_bpb", e.bitsPerByte}});
      telemetry.say(fmt::format("step {}: {:.4f} held-out bits/byte "
                                "({} windows)",
                                progress.step, e.bitsPerByte, e.windows));
    }
    if (due(config.saveEvery)) {
      try {
        save();
      } catch (const Error &e) {
        telemetry.say(fmt::format("WARNING: no checkpoint of step {}: {}; "
                                  "training goes on, the next is due in {} "
                                  "steps",
                                  progress.step, e.message, config.saveEvery));
      }
    }
    paused += since(pause);
  }

  void save() {
    ReportSignals::doing("saving a checkpoint", progress.step);
    saveCheckpoint(config, progress, corpus.hash, kernels, model, optimizer);
  }

  bool last() const { return progress.step >= config.steps; }
  const Progress &reached() const { return progress; }
  void say(const std::string &text) { telemetry.say(text); }

private:
  int64_t bytesPerStep() const {
    return config.batchSize * config.accumulate * config.sequenceLength;
  }

  const Config &config;
  const Corpus &corpus;
  models::Transformer &model;
  AdamW &optimizer;
  const KernelTexts &kernels;
  Telemetry telemetry;
  Progress progress;
  const double
      before; ///< Seconds of training that a resumed run has behind it.
  const Clock::time_point resumed = Clock::now();
  double paused = 0;
  double recent = 0; ///< Seconds of a step, smoothed, for the ETA.
};

/// Runs the first batches, which compile all kernels of a step, and says how
/// long the run will take.
void firstBatches(models::Transformer &model, AdamW &optimizer,
                  const Corpus &corpus, const Config &config,
                  const Progress &progress) {
  ReportSignals::doing("first batches, kernels are compiled", progress.step);
  const Clock::time_point start = Clock::now();
  const double microBatch = timeMicroBatch(model, optimizer, corpus, config);
  const int64_t left = config.steps - progress.step;
  const double training = double(left) * double(config.accumulate) * microBatch;
  say(fmt::format(
      "first batches: {:.1f} s; training {} steps of {} bytes will "
      "take about {}, {} with the evaluation after it",
      since(start), left,
      config.batchSize * config.accumulate * config.sequenceLength,
      duration(training),
      duration(training + evaluationEstimate(corpus, config, microBatch))));
}

/// Evaluation, panel and metrics.json of a run that has made all its steps.
void finish(models::Transformer &model, const Corpus &corpus,
            const Config &config, const RunFolder &folder,
            const Progress &progress) {
  ReportSignals::doing("final evaluation", progress.step);
  json metrics = finalMetrics(model, corpus, config, progress);
  const models::KernelCounts counts = model.kernels().counts();
  metrics["kernels_compiled"] = counts.compiled;
  // What was compiled is loaded as well, so the second run has the same number.
  metrics["kernels_loaded"] = counts.compiled + counts.loaded;
  if (config.panel)
    metrics["panel"] = runPanel(model.kernels(), panelSeconds, say);
  writeFile(folder.file("metrics.json"), metrics.dump(1) + "\n");
  say("wrote " + folder.file("metrics.json"));
}

} // namespace

int train(const Config &config) {
  const ReportSignals reports;
  // --- the run folder, before anything slow
  RunFolder folder(config.out);
  const auto checkpoint = startingPoint(config, folder);

  // --- data, model, optimizer: the same bits from the same settings
  at::set_num_threads(int(config.threads));
  at::globalContext().setDeterministicAlgorithms(true, /*warn_only=*/false);
  const Corpus corpus = loadCorpus(config);
  say(fmt::format("data: {}, {} bytes to train on, {} held out", corpus.name,
                  corpus.training.size(), corpus.heldOut.size()));
  models::Transformer model(config.model, config.kernels,
                            uint64_t(config.seed));
  AdamW optimizer(model.parameters(), config);
  say(sizes(config, model));
  Progress progress;
  if (checkpoint) {
    requireSameRun(*checkpoint, config, corpus.hash, say);
    progress = loadCheckpoint(*checkpoint, model, optimizer);
  }

  // --- how long it will take; which kernels it takes
  const StopSignals signals;
  firstBatches(model, optimizer, corpus, config, progress);
  const KernelTexts kernels = kernelTexts(model.kernels().files());
  if (checkpoint)
    requireSameKernels(*checkpoint, config, kernels, say);
  takeFolder(config, folder, checkpoint, progress, kernels);

  // --- the loop
  Run run(config, corpus, model, optimizer, kernels, progress);
  while (!run.last() && !signals.received()) {
    run.step();
    run.between();
  }

  // --- stopped, or done
  run.save();
  progress = run.reached();
  if (!run.last()) {
    run.say(fmt::format("stopped and saved at step {}; the same command goes "
                        "on from there",
                        progress.step));
    return 128 + signals.received();
  }
  run.say(fmt::format("trained {} steps in {}", progress.step,
                      duration(progress.trainSeconds)));
  finish(model, corpus, config, folder, progress);
  return 0;
}

} // namespace tessera::trainer
