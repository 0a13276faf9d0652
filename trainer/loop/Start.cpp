// trainer/loop/Start.cpp - opens the folder, restores state, runs the first
// batches.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "trainer/loop/Start.h"

#include "support/Error.h"
#include "support/File.h"
#include "support/Options.h"
#include "support/ShallowJson.h"
#include "trainer/checkpoint/CheckpointFolder.h"
#include "trainer/generate/Sampling.h"
#include "trainer/loop/EnvironmentFile.h"
#include "trainer/loop/Finish.h"
#include "trainer/loop/KernelList.h"
#include "trainer/loop/Run.h"
#include "trainer/loop/RunControl.h"
#include "trainer/loop/Signals.h"
#include "trainer/observe/Telemetry.h"
#include "trainer/parallel/StateShards.h"
#include "trainer/settings/AttentionSettings.h"
#include "trainer/settings/Config.h"
#include "trainer/settings/NsaVibe.h"
#include "trainer/settings/Phases.h"
#include "trainer/settings/Setting.h"

#include <algorithm>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace tessera::trainer {
namespace {

double elapsed(Run::Clock::time_point start) {
  return std::chrono::duration<double>(Run::Clock::now() - start).count();
}

/// Returns the seconds of one micro-batch of the step after `steps` steps,
/// after a first one that allocates all memory. Does not change the model.
double timeMicroBatch(models::Transformer &model, AdamW &optimizer,
                      const Corpus &corpus, const Config &config,
                      int64_t steps) {
  const Batch batch = trainingBatch(corpus, config, 0, model.device(), steps);
  backward(model, batch, 1).item(); // item() waits for the device
  const Run::Clock::time_point start = Run::Clock::now();
  backward(model, batch, 1);
  backward(model, batch, 1).item();
  optimizer.zeroGradients();
  return elapsed(start) / 2;
}

/// True if both have the same settings, in any spelling of attention.
bool sameSettings(const Config &earlier, const Config &config) {
  nlohmann::json before = toJson(earlier), now = toJson(config);
  if (attentionDifference(earlier, config).empty())
    for (nlohmann::json *values : {&before, &now})
      for (const Setting &s : settingsTable())
        if (isAttentionSetting(s.key))
          values->erase(s.key);
  // The folder was moved, or its name has another spelling.
  for (nlohmann::json *values : {&before, &now})
    values->erase("out");
  return before == now;
}

/// Returns the start of a run whose folder has a finished run. If the two have
/// the same settings, nothing is left to train. If the user asks for more steps
/// and changes no other setting that a resumed run must keep, the run continues
/// from the last checkpoint. Else it starts from the beginning.
StartingPoint afterFinishedRun(const Config &config, const RunFolder &folder) {
  const auto stored =
      parseShallowJson(tryReadFile(folder.file("config.json")).value_or(""));
  const auto steps = stored.find("train.steps");
  const bool given = config.origins.contains("train.steps");
  if (steps == stored.end() || !steps->is_number_integer() ||
      (given && config.steps < *steps))
    return {};
  std::optional<FoundCheckpoint> checkpoint =
      findCheckpoint(config.out, logLine);
  if (!checkpoint)
    return {};
  const Config earlier = withKeptKernels(earlierConfig(*checkpoint), config.out,
                                         KeptKernels::WhereMissing);
  Config now = config;
  takeFrom(earlier, now);
  if (const std::string keep = settingsThatKeepModel(earlier, now);
      !keep.empty())
    throw Error(fmt::format("the finished run in {} has another model than "
                            "nsa-vibe's, which {} asks for: it was made with "
                            "{}",
                            config.out, config.nsaVibeFile, keep),
                fmt::format("add {} to the command line to keep its model; "
                            "resume=never starts over in this folder; "
                            "out=FOLDER uses another",
                            keep));
  if (sameSettings(earlier, now)) {
    if (!checkpoint->damaged.empty())
      logLine(fmt::format(
          "WARNING: the results are those of step {}, whose checkpoint is "
          "damaged; the newest intact one is of step {}. To make the steps "
          "between them again, move {} away and give the same command",
          steps->get<int64_t>(), checkpoint->state.value("step", int64_t(0)),
          folder.file("metrics.json")));
    if (const std::string change = patternChange(*checkpoint, earlier, now);
        !change.empty())
      logLine("WARNING: " + change +
              ". To train the file as it is now, add out=FOLDER or "
              "resume=never");
    return {std::nullopt, true};
  }
  if (!given || config.steps == *steps)
    return {};
  const std::string other = differenceFrom(earlier, now);
  if (other.empty())
    return {std::move(checkpoint)};
  logLine("the finished run in this folder had " + other +
          ": it is not extended");
  return {};
}

/// Gives all processes the progress of the first.
void shareProgress(Progress &progress, const Config &config,
                   const Corpus &corpus, DataParallel &parallel) {
  nlohmann::json told = {{"step", progress.step},
                         {"windows", progress.windows},
                         {"updates", toJson(progress.updates)},
                         {"loss_scale", toJson(progress.scale)},
                         {"data", corpus.hash}};
  told = nlohmann::json::parse(parallel.fromFirst(told.dump()));
  const bool same = told["data"] == corpus.hash;
  if (parallel.sum({same ? 0.0 : 1.0})[0] > 0)
    throw Error(same ? "another process of the run reads other data"
                     : fmt::format("process {} reads other data than process "
                                   "0: {}",
                                   parallel.rank(), corpus.name),
                "give all processes the same data.path with the same files");
  progress.step = told["step"];
  progress.windows = told["windows"];
  progress.updates = historyFromJson(told["updates"]);
  progress.scale = scaleFromJson(config, told["loss_scale"]);
}

} // namespace

Config withVocabulary(Config config, const Corpus &corpus) {
  int64_t &vocabulary = config.model.vocabulary;
  if (!config.origins.contains("model.vocab_size"))
    vocabulary = corpus.vocabulary;
  if (vocabulary < corpus.vocabulary)
    throw Error(fmt::format("model.vocab_size is {}, but {} has {} tokens",
                            vocabulary, corpus.name, corpus.vocabulary),
                fmt::format("leave model.vocab_size away, or set it to {} or "
                            "more",
                            corpus.vocabulary));
  return config;
}

StartingPoint startingPoint(const Config &config, const RunFolder &folder) {
  StartingPoint start;
  if (config.resume == "auto" && folder.finished())
    start = afterFinishedRun(config, folder);
  else if (config.resume == "auto")
    start.checkpoint = findCheckpoint(config.out, logLine);
  if (!start.checkpoint && !start.complete)
    folder.refuseForeignFiles();
  return start;
}

Opening::Opening(const Config &given, DataParallel &parallel) : config(given) {
  nlohmann::json told;
  if (parallel.first()) {
    folder.emplace(given.out);
    StartingPoint start = startingPoint(given, *folder);
    checkpoint = std::move(start.checkpoint);
    complete = start.complete;
    if (checkpoint)
      config = resumedConfig(*checkpoint, given, logLine);
    told = {{"settings", toJson(config)},
            {"origins", config.origins},
            {"complete", complete}};
  }
  if (parallel.size() == 1)
    return;
  told = nlohmann::json::parse(parallel.fromFirst(told.dump()));
  if (parallel.first())
    return;
  config = configFromJson(told["settings"], "the settings of process 0");
  told["origins"].get_to(config.origins);
  complete = told["complete"];
  config = forProcesses(config, parallel.size());
}

Progress beginning(const std::optional<FoundCheckpoint> &checkpoint,
                   const Config &config, const Corpus &corpus, AdamW &optimizer,
                   DataParallel &parallel) {
  Progress progress;
  progress.scale = firstScale(config);
  const OptimizerState whole = gatherState(optimizer, parallel);
  if (parallel.first() && !whole.weight.defined())
    throw Error("no memory for the state of all processes, which the "
                "first one reads and hands out",
                "a run takes 12 bytes a parameter more in process 0 while it "
                "starts: lower train.device_batch_size");
  if (checkpoint) {
    requireSameRun(*checkpoint, config, corpus.hash, logLine);
    progress = loadCheckpoint(*checkpoint, config, optimizer, whole);
    optimizer.refresh();
  }
  if (parallel.size() == 1)
    return progress;
  shareProgress(progress, config, corpus, parallel);
  shareState(whole, optimizer, parallel);
  return progress;
}

Say lineOf(const DataParallel &parallel) {
  return parallel.first() ? Say(logLine) : Say([](const std::string &) {});
}

void firstBatches(models::Transformer &model, AdamW &optimizer,
                  const Corpus &corpus, const Config &config,
                  const Progress &progress, const Say &say) {
  requireSamples(corpus, config);
  choicesOf(config); // reads and checks the complete file
  ReportSignals::doing("first batches, kernels are compiled", progress.step);
  const Run::Clock::time_point start = Run::Clock::now();
  listKernels(corpus, config, /*prepare=*/true, model.device());
  double training = 0, perToken = 0;
  int64_t least = 0, most = 0;
  for (const Phase &phase : phasesOf(config)) {
    const int64_t begun = std::max(progress.step, phase.first - 1);
    const int64_t steps = std::max<int64_t>(0, phase.last - begun);
    if (steps == 0 && phase.last < config.steps)
      continue;
    const double microBatch =
        timeMicroBatch(model, optimizer, corpus, config, phase.first - 1);
    const int64_t tokens = phase.batch * phase.length;
    training += double(steps) * double(config.accumulate) * microBatch;
    perToken = microBatch / double(tokens);
    least = least == 0 ? tokens : std::min(least, tokens);
    most = std::max(most, tokens);
  }
  const double windows =
      double(config.batchSize) * double(config.sequenceLength);
  const std::string sizes =
      least == most ? fmt::format("{}", most * config.accumulate)
                    : fmt::format("{} to {}", least * config.accumulate,
                                  most * config.accumulate);
  say(fmt::format(
      "first batches: {:.1f} s; training {} steps of {} bytes will "
      "take about {}, {} with the evaluation after it",
      elapsed(start), config.steps - progress.step, sizes, duration(training),
      duration(training + finishSeconds(corpus, config, perToken * windows))));
}

void takeFolder(const Config &config, RunFolder &folder,
                const std::optional<FoundCheckpoint> &checkpoint,
                const Progress &progress, const KernelTexts &kernels,
                const RunTuning &tuning, const World &world,
                const std::string &device) {
  if (checkpoint) {
    for (const auto &damaged : checkpoint->damaged)
      setDamagedAside(damaged);
    if (folder.finished())
      folder.reopen(progress.step);
    logLine(
        fmt::format("going on from {} at step {} (resume=never starts over)",
                    checkpoint->folder, progress.step));
  } else if (const std::string aside = folder.putAside(); !aside.empty()) {
    logLine("the earlier run in this folder is now in " + aside);
  }
  if (clearHalt(config.out))
    logLine("removed " + config.out + "/.HALT, which stopped an earlier run");
  writeFile(folder.file("config.json"), toJson(config).dump(1) + "\n");
  writeFile(folder.file("env.json"),
            environmentOf(config, world, device, kernels, tuning).dump(1) +
                "\n");
  keepKernels(config.out, progress.step, kernels);
}

/// Returns "dense", or "window of kernels/patterns/window.py".
static std::string attentionLine(const models::ModelConfig &m, int64_t layer) {
  const models::LayerKind kind = m.attentionOf(layer);
  switch (kind.kind) {
  case models::AttentionKind::Dense:
    return "dense";
  case models::AttentionKind::Sdpa:
    return "sdpa";
  case models::AttentionKind::Nsa:
    return fmt::format("nsa (l={} d={} l'={} n={} w={})", m.nsa.blockLength,
                       m.nsa.stride, m.nsa.selectionLength,
                       m.nsa.selectedBlocks, m.nsa.window);
  case models::AttentionKind::Kernel:
    return fmt::format("{} of {}", kind.custom.forward, kind.custom.file);
  }
  return {};
}

std::string modelLine(const Config &c, const models::Transformer &model) {
  const int64_t kinds = std::max<int64_t>(1, int64_t(c.model.kinds.size()));
  std::string attention = "attention ";
  for (int64_t i = 0; i < kinds; ++i)
    attention += (i ? ", " : "") + attentionLine(c.model, i);
  const std::string device = model.device().is_cpu()
                                 ? optionText(Option::Device)
                                 : model.device().str();
  const std::string kernels =
      c.kernels == models::KernelSource::Torch ? "torch kernels"
      : device == "cpu"                        ? "tessera kernels"
                                               : "tessera kernels on " + device;
  return fmt::format("model: {} parameters, {} layers x {}, {}, {}",
                     model.parameterCount(), c.model.layers, c.model.dim,
                     attention, kernels);
}

} // namespace tessera::trainer
