// trainer/checkpoint/TrainedModel.cpp - finds a run's checkpoint and reads its
// weights.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "trainer/checkpoint/TrainedModel.h"

#include "support/Error.h"
#include "trainer/checkpoint/Checkpoint.h"
#include "trainer/checkpoint/TensorFile.h"
#include "trainer/loop/Determinism.h"

#include <filesystem>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace tessera::trainer {
namespace {

/// Returns the checkpoint's settings, changed by the overrides.
Config checkpointConfig(const FoundCheckpoint &checkpoint,
                        const std::string &run,
                        const std::vector<std::string> &overrides) {
  std::vector<std::string> settings;
  // Uses the kernels with which the weights were trained, because the original
  // files can have changed.
  const nlohmann::json earlier = toJson(
      withKeptKernels(earlierConfig(checkpoint), run, KeptKernels::Always));
  for (const auto &[key, value] : earlier.items())
    settings.push_back(
        key + "=" +
        (value.is_string() ? value.get<std::string>() : value.dump()));
  settings.insert(settings.end(), overrides.begin(), overrides.end());
  return parseConfig("", checkpoint.folder + "/state.json", settings);
}

} // namespace

TrainedModel readTrainedModel(const std::string &run,
                              const std::vector<std::string> &overrides) {
  std::error_code code;
  if (!std::filesystem::exists(run, code))
    throw Error("no checkpoint in " + run + ": the folder does not exist",
                "name the folder of a run with --run FOLDER; tessera train "
                "writes to the folder that its setting `out` names");
  const auto checkpoint = findCheckpoint(
      run, [](const std::string &text) { fmt::print(stderr, "{}\n", text); },
      "bring one of them back from a copy of the folder, or train the model "
      "again: tessera train with the settings of the run and resume=never");
  if (!checkpoint)
    throw Error("no checkpoint in " + run,
                "name the folder of a run with --run FOLDER; a run writes a "
                "checkpoint every train.save_every steps and at its end");
  TrainedModel trained;
  if (!checkpoint->damaged.empty())
    trained.note =
        fmt::format("NOTE: the weights are those of step {}: {} is damaged",
                    checkpoint->state.value("step", int64_t(0)),
                    checkpoint->damaged.front().string());
  trained.config = checkpointConfig(*checkpoint, run, overrides);
  useThreads(trained.config);
  trained.model = std::make_unique<models::Transformer>(
      trained.config.model, trained.config.kernels,
      uint64_t(trained.config.seed));
  readTensors(checkpoint->folder + "/model.safetensors",
              trained.model->parameters());
  return trained;
}

int64_t longestText(const Config &config) {
  const models::Rope &rope = config.model.rope;
  constexpr double most = 1 << 20; // as of train.seq_len
  if (!rope.changed())
    return config.sequenceLength;
  return std::max(
      config.sequenceLength,
      int64_t(std::min(most, double(rope.originalLength) * rope.scale)));
}

} // namespace tessera::trainer
