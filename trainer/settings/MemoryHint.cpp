// trainer/settings/MemoryHint.cpp - tries candidate settings until the plan
// fits in memory.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "trainer/settings/MemoryHint.h"

#include "support/Quantities.h"
#include "trainer/settings/Plan.h"
#include "trainer/settings/Setting.h"

#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>

namespace tessera::trainer {
namespace {

int64_t plannedBytes(const Config &config) {
  const Plan plan = planOf(config);
  return plan.stateBytes + plan.activationBytes;
}

/// A config and the settings that lead to it.
struct Change {
  Config config;
  std::vector<std::string> settings;
  bool resumes = true, exact = true;

  void set(const char *key, const std::string &value) {
    setValue(*findSetting(key), config, value);
    std::erase_if(settings, [&](const std::string &s) {
      return s.starts_with(std::string(key) + "=");
    });
    settings.push_back(std::string(key) + "=" + value);
  }
};

/// Returns the candidates in the order of smallerRun(). Each needs less memory
/// than the previous one, according to its plan.
std::vector<Change> changesOf(const Config &config) {
  std::vector<Change> all;
  Change now{config, {}};
  const auto add = [&](const Change &next) {
    if (plannedBytes(next.config) >= plannedBytes(now.config))
      return;
    now = next;
    all.push_back(now);
  };
  if (keepsLogits(config)) {
    Change next = now;
    next.set("runtime.loss_logits", "chunks");
    next.exact = false;
    add(next);
  }
  const Change first = now;
  using models::Recompute;
  if (config.model.recompute == Recompute::None)
    for (const char *level : {"mlp", "attention"}) {
      Change next = first;
      next.set("runtime.gradient_checkpointing", level);
      add(next);
    }
  if (config.model.recompute != Recompute::Full) {
    Change next = first;
    next.set("runtime.gradient_checkpointing", "full");
    add(next);
  }
  if (config.processes > 1 && config.zeroStage == 0 &&
      config.optimizer == OptimizerKind::AdamW) {
    Change next = now;
    next.set("runtime.zero_stage", "1");
    add(next);
  }
  while (now.config.deviceBatchSize % 2 == 0 && config.batchSchedule.empty()) {
    Change next = now;
    next.config.deviceBatchSize /= 2;
    next.set("train.batch_size", std::to_string(now.config.batchSize / 2));
    next.set("train.accumulate_grad_batches",
             std::to_string(now.config.accumulate * 2));
    next.resumes = false;
    add(next);
    if (now.config.deviceBatchSize != next.config.deviceBatchSize)
      break;
  }
  return all;
}

} // namespace

SmallerRun smallerRun(const Config &config, int64_t bytes) {
  SmallerRun run;
  for (const Change &change : changesOf(config)) {
    run = {change.settings, plannedBytes(change.config), false, change.resumes,
           change.exact};
    run.fits = run.bytes <= bytes;
    if (run.fits)
      break;
  }
  return run;
}

Error memoryError(const Config &config, const std::string &what, int64_t held) {
  const int64_t now = plannedBytes(config);
  const int64_t budget =
      int64_t(0.9 * double(held > 0 ? std::min(held, now) : now));
  const SmallerRun run = smallerRun(config, budget);
  std::string hint;
  if (run.settings.empty())
    hint = "nothing is left to recompute or to divide: lower train.seq_len, "
           "model.dim or model.n_layers";
  else
    hint = fmt::format(
        "{} takes about {} instead of {}{}; {}", fmt::join(run.settings, " "),
        bytesText(uint64_t(run.bytes)), bytesText(uint64_t(now)),
        run.fits ? ""
                 : ", which may still be too much: lower train.seq_len too",
        run.resumes
            ? run.exact ? "the same command with it continues from the newest "
                          "checkpoint, to the same bits"
                        : "the same command with it continues from the newest "
                          "checkpoint, with another rounding"
            : "a step has the same sequences then, but a run that was "
              "begun does not go on so: give it a folder of its own");
  return Error("no memory for a step: " + what, hint);
}

} // namespace tessera::trainer
