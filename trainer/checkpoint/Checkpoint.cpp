// trainer/checkpoint/Checkpoint.cpp - writes and reads checkpoints and checks
// that a run can resume from one.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "trainer/checkpoint/Checkpoint.h"

#include "runtime/launch/PatternFile.h"
#include "support/Error.h"
#include "support/File.h"
#include "support/ShallowJson.h"
#include "trainer/checkpoint/CheckpointFolder.h"
#include "trainer/checkpoint/TensorFile.h"
#include "trainer/optim/Schedule.h"
#include "trainer/settings/AttentionSettings.h"
#include "trainer/settings/Config.h"
#include "trainer/settings/NsaVibe.h"
#include "trainer/settings/Setting.h"

#include <fmt/format.h>

namespace fs = std::filesystem;

namespace tessera::trainer {
namespace {

using nlohmann::json;

constexpr const char *modelFile = "model.safetensors";
constexpr const char *optimizerFile = "optimizer.safetensors";
constexpr const char *stateFile = "state.json";
/// Version of state.json. Version 1 has no version field and no checksums; up
/// to version 2 train.batch_size is the batch size of one process.
constexpr int stateFormat = 3;
constexpr const char *startOver =
    "resume=never starts over in this folder; out=FOLDER uses another";

/// Returns the settings of this kind that differ: "train.lr=0.1, this run has
/// 0.2".
std::vector<std::string> differences(const Config &earlier,
                                     const Config &config, AtResume kind) {
  std::vector<std::string> all;
  if (kind == AtResume::Keep)
    if (std::string layer = attentionDifference(earlier, config);
        !layer.empty())
      all.push_back(std::move(layer));
  // Patterns can be spelled in several ways.
  const bool patterns =
      !earlier.model.kinds.empty() || !config.model.kinds.empty();
  for (const Setting &s : settingsTable()) {
    if (isAttentionSetting(s.key) &&
        (patterns || s.key == "attention.constexprs"))
      continue;
    std::string before = valueText(s, earlier), now = valueText(s, config);
    if (s.key == "attention.kernel") // the file can be in another folder
      for (std::string *file : {&before, &now})
        *file = fs::path(*file).filename().string();
    if (s.atResume == kind && before != now)
      all.push_back(fmt::format("{}={}, this run has {}", s.key, before, now));
  }
  return all;
}

constexpr const char *attentionHint =
    "leave attention and attention_params away to go on with those of the "
    "checkpoint; ";

/// Returns a pattern's text without the generated kernels.
std::string_view ownText(std::string_view text) {
  text = text.substr(0, text.find("\n# The kernels of the pattern above"));
  return text.substr(0, text.find_last_not_of('\n') + 1);
}

} // namespace

Snapshot takeSnapshot(const Progress &progress, const AdamW &optimizer,
                      const OptimizerState &whole) {
  return {progress, encodeTensors(optimizer.weights(whole)),
          encodeTensors(optimizer.state(whole))};
}

void writeCheckpoint(const Config &config, const Snapshot &snapshot,
                     const std::string &dataHash, const KernelTexts &kernels,
                     const RunTuning &tuning) {
  const Progress &progress = snapshot.progress;
  UnfinishedCheckpoint writer(config.out, progress.step);
  writer.add(modelFile, snapshot.weights);
  writer.add(optimizerFile, snapshot.state);
  for (const auto &[name, text] : kernels)
    writer.add("kernels/" + name, text);
  const json state = {{"format", stateFormat},
                      {"step", progress.step},
                      {"windows", progress.windows},
                      {"train_seconds", progress.trainSeconds},
                      {"data_sha256", dataHash},
                      {"kernels", kernelSums(kernels)},
                      {"tuning", toJson(tuning)},
                      {"updates", toJson(progress.updates)},
                      {"loss_scale", toJson(progress.scale)},
                      {"config", toJson(config)}};
  writer.add(stateFile, state.dump(1) + "\n");
  writer.commit();
  pruneCheckpoints(config.out, config.keepCheckpoints, config.milestoneEvery);
}

std::optional<FoundCheckpoint> findCheckpoint(const std::string &run,
                                              const Say &say,
                                              const std::string &hint) {
  const auto all = listCheckpoints(run);
  FoundCheckpoint found;
  std::string faults;
  for (auto entry = all.rbegin(); entry != all.rend(); ++entry) {
    const fs::path &folder = entry->second;
    std::string fault = faultOf(folder);
    if (fault.empty()) {
      found.folder = folder.string();
      found.state = parseShallowJson(readFile(folder / stateFile));
      const auto step = found.state.find("step");
      if (found.state.is_object() && found.state.contains("config") &&
          step != found.state.end() && *step == entry->first)
        return found;
      fault = "state.json is not the state of this step";
    }
    found.damaged.push_back(folder);
    faults += (faults.empty() ? "" : "; ") + folder.string() + ": " + fault;
    say(fmt::format("passing over the checkpoint {}: {}", folder.string(),
                    fault));
  }
  if (!all.empty())
    throw Error("no checkpoint can be used: " + faults,
                hint.empty() ? startOver : hint);
  return std::nullopt;
}

Config earlierConfig(const FoundCheckpoint &checkpoint) {
  json values = checkpoint.state["config"];
  const auto size = values.find("train.batch_size");
  if (checkpoint.state.value("format", 1) < 3 && size != values.end()) {
    values["train.device_batch_size"] = *size;
    values.erase("train.batch_size");
  }
  return configFromJson(values, checkpoint.folder + "/" + stateFile);
}

Config withKeptKernels(Config config, const std::string &run,
                       KeptKernels which) {
  std::string &list = config.model.custom.pattern;
  for (models::LayerKind &layer : config.model.kinds) {
    std::string &pattern = layer.custom.pattern;
    if (!pattern.empty() &&
        (which == KeptKernels::Always || !runtime::isKernelFile(pattern)))
      if (const std::string kept = keptKernelFile(run, pattern); !kept.empty())
        pattern = layer.custom.file = kept;
  }
  if (!config.model.kinds.empty())
    list = attentionList(config.model.kinds);
  std::string &file = config.model.custom.file;
  if (!file.empty() &&
      (which == KeptKernels::Always || !runtime::isKernelFile(file)))
    if (const std::string kept = keptKernelFile(run, file); !kept.empty())
      file = kept;
  return config;
}

Config resumedConfig(const FoundCheckpoint &checkpoint, Config config,
                     const Say &say) {
  std::string taken;
  const Config earlier = withKeptKernels(
      earlierConfig(checkpoint),
      fs::path(checkpoint.folder).parent_path().parent_path().string(),
      KeptKernels::WhereMissing);
  for (const std::string &setting : takeFrom(earlier, config))
    taken += (taken.empty() ? "" : ", ") + setting;
  if (!taken.empty())
    say("settings that were not given, as the checkpoint has them: " + taken);
  return config;
}

std::string patternChange(const FoundCheckpoint &checkpoint,
                          const Config &earlier, const Config &config) {
  for (int64_t i = 0; i < config.model.layers; ++i) {
    const models::LayerKind layer = config.model.attentionOf(i);
    if (layer.custom.pattern.empty())
      continue;
    const std::string kept =
        keptCopy(fs::path(checkpoint.folder) / "kernels",
                 earlier.model.attentionOf(i).custom.pattern);
    const std::string now =
        runtime::readPatternFile(layer.custom.pattern)->path;
    if (!kept.empty() && ownText(readFile(kept)) != ownText(readFile(now)))
      return fmt::format("layer {}: the pattern {} is not the text that {} was "
                         "made with, {}",
                         i, layer.custom.pattern, checkpoint.folder, kept);
  }
  return "";
}

std::string differenceFrom(const Config &earlier, const Config &config) {
  const auto all = differences(earlier, config, AtResume::Keep);
  return all.empty() ? "" : all.front();
}

void requireSameRun(const FoundCheckpoint &checkpoint, const Config &config,
                    const std::string &dataHash, const Say &say) {
  const Config earlier = earlierConfig(checkpoint);
  const std::string made = checkpoint.folder + " was made with ";
  if (const std::string keep = settingsThatKeepModel(earlier, config);
      !keep.empty())
    throw Error(fmt::format("{} has another model than nsa-vibe's, which {} "
                            "asks for: it was made with {}",
                            checkpoint.folder, config.nsaVibeFile, keep),
                fmt::format("add {} to the command line to keep its model; {}",
                            keep, startOver));
  if (const std::string other = differenceFrom(earlier, config); !other.empty())
    throw Error(made + other, attentionDifference(earlier, config).empty()
                                  ? startOver
                                  : std::string(attentionHint) + startOver);
  if (!config.allowChangedKernels)
    if (const std::string change = patternChange(checkpoint, earlier, config);
        !change.empty())
      throw Error(change,
                  "restore the file from that copy, or "
                  "allow_changed_kernels=true continues with the file as "
                  "it is now; " +
                      std::string(startOver));
  if (checkpoint.state.value("data_sha256", "") != dataHash)
    throw Error(checkpoint.folder + " was trained on another text", startOver);
  const int64_t step = checkpoint.state.value("step", int64_t(0));
  if (config.steps < step)
    throw Error(fmt::format("train.steps is {}, but {} has made {}",
                            config.steps, checkpoint.folder, step),
                fmt::format("train.steps={} or more continues from there; {}",
                            step, startOver));
  std::string announced;
  for (const std::string &d : differences(earlier, config, AtResume::Announce))
    announced += (announced.empty() ? "" : "; ") + made + d;
  if (!announced.empty())
    say("from here on: " + announced);
  if (config.steps != earlier.steps && config.steps > step && step > 0)
    say(otherLengthLine(earlier, config, step));
}

void requireSameKernels(const FoundCheckpoint &checkpoint, const Config &config,
                        const KernelTexts &kernels, const Say &say) {
  const auto before = checkpoint.state.find("kernels");
  if (before == checkpoint.state.end()) {
    if (!kernels.empty())
      say(checkpoint.folder + " does not say which kernel files it was made "
                              "with: changed ones go unnoticed");
    return;
  }
  const std::string change = kernelChange(
      before->get<std::map<std::string, std::string>>(), kernelSums(kernels));
  if (change.empty())
    return;
  if (!config.allowChangedKernels)
    throw Error(
        fmt::format("the kernel files are not those {} was made with: "
                    "{}; its own are in {}/kernels",
                    checkpoint.folder, change, checkpoint.folder),
        "allow_changed_kernels=true continues with the files as they are "
        "now; " +
            std::string(startOver));
  say("going on with other kernel files than before: " + change);
}

Progress loadCheckpoint(const FoundCheckpoint &checkpoint, const Config &config,
                        const AdamW &optimizer, const OptimizerState &whole) {
  const fs::path folder = checkpoint.folder;
  readTensors((folder / modelFile).string(), optimizer.weights(whole));
  readTensors((folder / optimizerFile).string(), optimizer.state(whole));
  const json &state = checkpoint.state;
  return {state.value("step", int64_t(0)), state.value("windows", int64_t(0)),
          state.value("train_seconds", 0.0),
          historyFromJson(state.value("updates", json())),
          scaleFromJson(config, state.value("loss_scale", json()))};
}

} // namespace tessera::trainer
