// trainer/Checkpoint.cpp - what a checkpoint holds, and whom it fits.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "trainer/Checkpoint.h"

#include "support/Error.h"
#include "support/File.h"
#include "trainer/CheckpointFolder.h"
#include "trainer/Config.h"
#include "trainer/TensorFile.h"

#include <fmt/format.h>

namespace fs = std::filesystem;

namespace tessera::trainer {
namespace {

using nlohmann::json;

constexpr const char *modelFile = "model.safetensors";
constexpr const char *optimizerFile = "optimizer.safetensors";
constexpr const char *stateFile = "state.json";
/// Of state.json. The first form named none and had no checksums.
constexpr int stateFormat = 2;
constexpr const char *startOver =
    "resume=never starts over in this folder; out=FOLDER uses another";

/// Settings that may change between the two halves of one run without changing
/// its results.
bool mayChange(const std::string &key) {
  for (const char *free :
       {"out", "resume", "allow_changed_kernels", "panel", "train.log_every",
        "train.eval_every", "train.eval_windows", "train.final_windows",
        "train.save_every", "train.keep", "data.path"})
    if (key == free)
      return true;
  return false;
}

/// A setting that changes results and may change nevertheless, with a line:
/// who lost a run to a rate that was too high goes on with a lower one.
constexpr const char *announcedKey = "train.lr";

} // namespace

void saveCheckpoint(const Config &config, const Progress &progress,
                    const std::string &dataHash, const KernelTexts &kernels,
                    const models::Transformer &model, const AdamW &optimizer) {
  CheckpointWriter writer(config.out, progress.step);
  writer.add(modelFile, encodeTensors(model.parameters()));
  writer.add(optimizerFile, encodeTensors(optimizer.state()));
  for (const auto &[name, text] : kernels)
    writer.add("kernels/" + name, text);
  const json state = {
      {"format", stateFormat},       {"step", progress.step},
      {"windows", progress.windows}, {"train_seconds", progress.trainSeconds},
      {"data_sha256", dataHash},     {"kernels", kernelSums(kernels)},
      {"config", toJson(config)}};
  writer.add(stateFile, state.dump(1) + "\n");
  writer.commit();
  pruneCheckpoints(config.out, config.keepCheckpoints);
}

std::optional<FoundCheckpoint> findCheckpoint(const std::string &run,
                                              const Say &say) {
  const auto all = listCheckpoints(run);
  FoundCheckpoint found;
  std::string faults;
  for (auto entry = all.rbegin(); entry != all.rend(); ++entry) {
    const fs::path &folder = entry->second;
    std::string fault = faultOf(folder);
    if (fault.empty()) {
      found.folder = folder.string();
      found.state = json::parse(readFile(folder / stateFile), nullptr, false);
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
    throw Error("no checkpoint can be used: " + faults, startOver);
  return std::nullopt;
}

void requireSameRun(const FoundCheckpoint &checkpoint, const Config &config,
                    const std::string &dataHash, const Say &say) {
  const json now = toJson(config);
  std::string announced;
  for (const auto &[key, value] : now.items()) {
    const json before = checkpoint.state["config"].value(key, json());
    if (mayChange(key) || before == value)
      continue;
    const std::string difference =
        fmt::format("{} was made with {}={}, this run has {}",
                    checkpoint.folder, key, before.dump(), value.dump());
    if (key != announcedKey)
      throw Error(difference, startOver);
    announced = difference;
  }
  if (checkpoint.state.value("data_sha256", "") != dataHash)
    throw Error(checkpoint.folder + " was trained on another text", startOver);
  if (!announced.empty())
    say("the learning rate changes here: " + announced);
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
    throw Error(fmt::format("the kernel files are not those {} was made with: "
                            "{}; its own are in {}/kernels",
                            checkpoint.folder, change, checkpoint.folder),
                "allow_changed_kernels=true goes on with the files as they are "
                "now; " +
                    std::string(startOver));
  say("going on with other kernel files than before: " + change);
}

Progress loadCheckpoint(const FoundCheckpoint &checkpoint,
                        models::Transformer &model, AdamW &optimizer) {
  const fs::path folder = checkpoint.folder;
  readTensors((folder / modelFile).string(), model.parameters());
  readTensors((folder / optimizerFile).string(), optimizer.state());
  const json &state = checkpoint.state;
  return {state.value("step", int64_t(0)), state.value("windows", int64_t(0)),
          state.value("train_seconds", 0.0)};
}

} // namespace tessera::trainer
