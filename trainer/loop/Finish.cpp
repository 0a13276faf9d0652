// trainer/loop/Finish.cpp - the final evaluation and metrics.json.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "trainer/loop/Finish.h"

#include "support/File.h"
#include "trainer/loop/Evaluate.h"
#include "trainer/loop/Signals.h"
#include "trainer/observe/SdpaComparison.h"
#include "trainer/observe/Telemetry.h"
#include "trainer/settings/Config.h"
#include "trainer/settings/Phases.h"

#include <cmath>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>
#include <utility>

namespace tessera::trainer {
namespace {

using nlohmann::json;

constexpr double panelSeconds = 20;

/// Returns the losses by position, without ranges that no sequence reaches.
json byPosition(const Evaluation &e) {
  json result;
  for (const auto &[name, bits] :
       {std::pair{"0-31", e.early}, std::pair{"32-255", e.middle},
        std::pair{"256-", e.late}})
    if (!std::isnan(bits))
      result[name] = bits;
  return result;
}

/// Returns the contents of metrics.json, measured on all held-out windows or on
/// train.final_windows of them.
json finalMetrics(models::Transformer &model, const Corpus &corpus,
                  const Config &config, const Progress &progress) {
  const Evaluation whole = evaluate(model, corpus, config, config.finalWindows);
  const LossUnit unit = lossUnit(corpus);
  const std::string key = unit.key;
  const int64_t tokens = tokensOfSteps(config, 1, progress.step);
  json metrics = {{"val_" + key, whole.bits},
                  {key + "_by_position", byPosition(whole)},
                  {"selected_fraction", whole.selectedFraction},
                  {"steps", progress.step},
                  {"tokens", tokens},
                  {"parameters", model.parameterCount()},
                  {"tokens_per_s", progress.trainSeconds > 0
                                       ? double(tokens) / progress.trainSeconds
                                       : 0.0},
                  {"train_seconds", progress.trainSeconds},
                  {"data_sha256", corpus.hash},
                  {"val_windows", whole.windows}};
  // A range is NaN if its positions are inside a prefix, which has no loss, or
  // if all sequences are shorter.
  std::vector<std::string> parts;
  for (const auto &[bits, where] : {std::pair{whole.early, "below position 32"},
                                    std::pair{whole.late, "from 256"}})
    if (!std::isnan(bits))
      parts.push_back(fmt::format("{:.3f} {}", bits, where));
  logLine(fmt::format(
      "held-out: {:.4f} {}{}", whole.bits, unit.name,
      parts.empty() ? "" : fmt::format(" ({})", fmt::join(parts, ", "))));
  if (!config.model.has(models::AttentionKind::Nsa))
    return metrics;
  logLine(
      fmt::format("selection keeps {:.1f}% of the keys at the last position",
                  100 * whole.selectedFraction));
  constexpr const char *names[] = {"cmp", "sel", "win"};
  for (int branch = 0; branch < 3; ++branch) {
    const Evaluation e =
        evaluate(model, corpus, config, config.finalWindows, branch);
    metrics[fmt::format("val_{}_without_{}", key, names[branch])] = e.bits;
    logLine(fmt::format("without the {} branch: {:.4f} {} ({:+.4f})",
                        names[branch], e.bits, unit.name, e.bits - whole.bits));
  }
  return metrics;
}

/// Returns ", 20 of them from the pack, which lacks 3"; empty without a pack.
std::string packText(const models::KernelCounts &counts) {
  if (!counts.packed && !counts.packMisses)
    return "";
  std::string text = fmt::format(", {} of them from the pack", counts.packed);
  if (counts.packMisses)
    text += fmt::format(", which lacks {}", counts.packMisses);
  return text;
}

} // namespace

void finish(models::Transformer &model, const Corpus &corpus,
            const Config &config, const RunFolder &folder, const Run &run) {
  const Progress &progress = run.reached();
  ReportSignals::doing("final evaluation", progress.step);
  json metrics = finalMetrics(model, corpus, config, progress);
  if (!run.choices().empty()) {
    const ChoiceResult choices = run.choices().score(model);
    metrics.update(metricsOf(choices));
    logLine(describe(choices));
  }
  if (config.panel && model.device().is_cpu())
    metrics["panel"] =
        runPanel(model.kernels(), config.threads, panelSeconds, logLine);
  const models::KernelCounts counts = model.kernels().counts();
  metrics["kernels_compiled"] = counts.compiled;
  // Compiled kernels are also loaded, so a second run reports the same number.
  metrics["kernels_loaded"] = counts.compiled + counts.loaded;
  metrics["kernels_compiled_after_step_1"] = run.compiledAfterFirstStep();
  metrics["kernels_packed"] = counts.packed;
  metrics["kernels_not_in_pack"] = counts.packMisses;
  metrics["compiler_processes"] = counts.workers;
  if (config.kernels == models::KernelSource::Tessera)
    logLine(fmt::format("kernels: {} compiled ({} after step 1), {} loaded{}",
                        counts.compiled, run.compiledAfterFirstStep(),
                        counts.loaded, packText(counts)));
  writeFile(folder.file("metrics.json"), metrics.dump(1) + "\n");
  logLine("wrote " + folder.file("metrics.json"));
}

double finishSeconds(const Corpus &corpus, const Config &config,
                     double microBatch) {
  const bool sparse = config.model.has(models::AttentionKind::Nsa);
  const int64_t all = heldOutWindows(corpus, config);
  const int64_t windows =
      config.finalWindows ? std::min(all, config.finalWindows) : all;
  const double passes =
      double(windows) / double(config.deviceBatchSize) * (sparse ? 4 : 1);
  return passes * microBatch / 3 + (config.panel ? panelSeconds : 0);
}

} // namespace tessera::trainer
