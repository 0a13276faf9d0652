// trainer/loop/Train.cpp - the sequence of steps of a training run.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "trainer/loop/Train.h"

#include "support/StopSignals.h"
#include "trainer/checkpoint/TuningChange.h"
#include "trainer/checkpoint/WeightFile.h"
#include "trainer/loop/Determinism.h"
#include "trainer/loop/Finish.h"
#include "trainer/loop/GpuFault.h"
#include "trainer/loop/Placement.h"
#include "trainer/loop/Run.h"
#include "trainer/loop/RunControl.h"
#include "trainer/loop/Signals.h"
#include "trainer/loop/Start.h"
#include "trainer/observe/SdpaComparison.h"
#include "trainer/observe/Telemetry.h"
#include "trainer/optim/Schedule.h"
#include "trainer/parallel/ExchangeProbe.h"
#include "trainer/parallel/SameStart.h"
#include "trainer/parallel/SameTable.h"
#include "trainer/parallel/StateShards.h"
#include "trainer/settings/MemoryHint.h"
#include "trainer/settings/NsaVibe.h"
#include "trainer/settings/Plan.h"

#include <c10/util/Exception.h>
#include <fmt/format.h>
#include <new>
#include <string_view>

namespace tessera::trainer {
namespace {

/// True for out-of-memory errors of torch's CPU and GPU allocators and of the
/// standard library.
bool isOutOfMemory(const std::exception &e) {
  return dynamic_cast<const std::bad_alloc *>(&e) ||
         dynamic_cast<const c10::OutOfMemoryError *>(&e) ||
         std::string_view(e.what()).find("can't allocate memory") !=
             std::string_view::npos;
}

/// The facts on a run that error messages contain.
struct Attempt {
  Config settled; ///< The settings with derived values.
  c10::Device device = c10::kCPU;
};

/// Returns the last line of a run that was stopped. The text of .HALT, if it
/// has one, replaces the advice.
std::string stoppedLine(const Config &config, int64_t step) {
  std::string next = haltText(config.out);
  if (next.empty())
    next = config.resume == "never"
               ? "the same command without resume=never continues there"
               : "the same command continues there";
  return fmt::format("stopped and saved at step {}: {}", step, next);
}

int trainAsPlanned(const Config &given, World world, Attempt &attempt) {
  world.timeout = given.networkTimeout;
  const ReportSignals reports;
  const c10::Device device = placementOf(given, world);
  attempt.device = device;
  requireGraphs(given, device);
  chooseNcclForPcie(given, device);
  requireMemory(planOf(given));
  // --- processes and run folder, before any slow work
  DataParallel parallel(world, given.wire, device, given.exchange);
  requireSameStart(given, parallel);
  const Say say = lineOf(parallel);
  Opening opening(given, parallel);
  const auto &checkpoint = opening.checkpoint;
  Config &config = opening.config;
  if (opening.complete) {
    say(fmt::format("the run in {} is finished (metrics.json has its results): "
                    "a larger train.steps continues it, resume=never trains it "
                    "again",
                    given.out));
    return 0;
  }
  requireSameTable(models::makeKernels(config.kernels)->tuningTable(device),
                   parallel);

  // --- data, model, optimizer: bitwise reproducible from the settings
  computeDeterministically(config);
  const Corpus corpus = loadCorpus(config);
  attempt.settled = config = withVocabulary(config, corpus);
  say(fmt::format("data: {}, {} {} to train on, {} held out", corpus.name,
                  corpus.training.size(), corpus.bytes() ? "bytes" : "tokens",
                  corpus.heldOut.size()));
  models::Transformer model(modelOf(config), config.kernels,
                            uint64_t(config.seed), device);
  if (!checkpoint && !config.initialWeights.empty() && parallel.first())
    importWeights(config.initialWeights, model);
  AdamW optimizer(model.parameters(), config, shardOf(config, parallel));
  say(modelLine(config, model));
  for (const std::string &warning :
       {unusedGpuLine(config, device), scheduleWarning(config),
        nsaVibeLine(config)})
    if (!warning.empty())
      say(warning);
  Progress progress =
      beginning(checkpoint, config, corpus, optimizer, parallel);

  // --- first batches, kernels and the run folder
  const StopSignals signals;
  firstBatches(model, optimizer, corpus, config, progress, say);
  sayExchangeRate(parallel, config, model.parameterCount(), device, say);
  const KernelTexts kernels = kernelTexts(model.kernels().files());
  requireSameKernelFiles(kernels, parallel);
  const RunTuning tuning = tuningOf(model.kernels(), device);
  if (const std::string line = coverageLine(tuning); !line.empty())
    say(line);
  if (checkpoint) {
    requireSameKernels(*checkpoint, config, kernels, logLine);
    sayTuningChange(*checkpoint, tuning, logLine);
  }
  if (parallel.first())
    takeFolder(config, *opening.folder, checkpoint, progress, kernels, tuning,
               world, device.str());
  parallel.wait();
  if (config.panel && parallel.first() && device.is_cpu())
    listPanel(model.kernels(), /*prepare=*/true);

  // --- the loop
  Run run(config, corpus, model, optimizer, kernels, tuning, progress,
          parallel);
  while (!run.last() && !run.stopSignal()) {
    run.step();
    run.between();
  }

  // --- stopped or finished
  run.save();
  progress = run.reached();
  if (!run.last()) {
    run.say(stoppedLine(config, progress.step));
    return 128 + run.stopSignal();
  }
  run.say(fmt::format("trained {} steps in {}", progress.step,
                      duration(progress.trainSeconds)));
  if (parallel.first())
    finish(model, corpus, config, *opening.folder, run);
  return 0;
}

} // namespace

int train(const Config &given, const World &world) {
  Attempt attempt{given};
  try {
    return trainAsPlanned(given, world, attempt);
  } catch (const std::exception &e) {
    if (const auto fault = gpuFault(attempt.device, attempt.settled))
      throw *fault;
    if (!isOutOfMemory(e))
      throw;
    const std::string text = e.what();
    throw memoryError(attempt.settled, text.substr(0, text.find('\n')),
                      attempt.device.is_cpu() ? int64_t(processMemory().most)
                                              : 0);
  }
}

} // namespace tessera::trainer
